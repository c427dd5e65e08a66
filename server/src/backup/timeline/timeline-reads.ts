import { type BackupTarget, DamagedObject, type Entry } from '../target/target.ts';
import { leaseNameOf, listLeases } from './leases.ts';
import { KINDS, readSpan, type Span } from './spans.ts';

/** Reads the parts of a timeline from a target. */

export async function listSpans(target: BackupTarget, folders: readonly string[] = KINDS): Promise<Span[]> {
  const names = await Array.fromAsync(folders, (folder) => target.list(folder));
  return names.flat().flatMap((name) => readSpan(name) ?? []);
}

/** @throws DamagedObject if a lease that a span names is missing, or if a lease is not authenticated */
export async function readLine(target: BackupTarget) {
  // A service that takes over between the two calls has written its lease first.
  const spans = await listSpans(target);
  const leases = await listLeases(target);
  const epoch = Math.max(0, ...spans.map((span) => span.epoch));
  if (epoch > leases.length) throw new DamagedObject(`${leaseNameOf(epoch)} is missing`);
  return { spans, leases };
}

/** A base contains the name of its copy. @throws DamagedObject if the base is missing or names no copy */
export async function readCopyName(target: BackupTarget, name: string): Promise<string> {
  const copy = await target.readText(name);
  if (copy === undefined) throw new DamagedObject(`${name} is missing`);
  if (!/^copies\/[\w-]{1,100}$/.test(copy)) throw new DamagedObject(`${name} is damaged: it names no copy`);
  return copy;
}

/** Yields the entries of a span. For a base, these are the entries of its copy. @throws DamagedObject */
export async function* readSpanObject(target: BackupTarget, { kind, name }: Span): AsyncGenerator<Entry> {
  const copy = kind === 'bases' ? await readCopyName(target, name) : name;
  for await (const entry of target.readEntries(copy)) {
    if (!FILES.test(entry.head.file))
      throw new DamagedObject(
        `${copy} is damaged: it names ${JSON.stringify(entry.head.file).slice(0, 100)}`,
      );
    yield entry;
  }
}

/** The files of the directory that a span may name. No other path is accepted. */
const FILES = /^(?:control\.db|catalogs\/[1-9]\d{0,15}\.db|payloads\/\w[\w.-]{0,200}|secret-keys)$/;
