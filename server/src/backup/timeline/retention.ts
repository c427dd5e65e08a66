import { type BackupTarget, DamagedObject, type Entry, type EntryHead } from '../target/target.ts';
import { listLeases } from './leases.ts';
import {
  HOUR_MS,
  hourOf,
  KINDS,
  type Lease,
  nameOf,
  planRestore,
  readSpan,
  type Span,
  spansOf,
} from './spans.ts';

/** What is merged and removed in a target as it becomes older. */

export interface Retention {
  readonly keepSecondsHours: number;
  readonly keepHoursDays: number;
}

const DAY_MS = 24 * HOUR_MS;
/** An hour is merged once no more segments of it can arrive. */
const SETTLED_MS = 60_000;

export async function listSpans(target: BackupTarget, folders: readonly string[] = KINDS): Promise<Span[]> {
  const names = await Array.fromAsync(folders, (folder) => target.list(folder));
  return names.flat().flatMap((name) => readSpan(name) ?? []);
}

/** @returns whether it is time for a new base copy */
export async function keepHouse(
  target: BackupTarget,
  epoch: number,
  { now = Date.now(), ...retention }: Retention & { readonly now?: number },
): Promise<{ wantsBase: boolean }> {
  const leases: Lease[] = await listLeases(target);
  const line = spansOf(await listSpans(target), leases, epoch);
  for (const run of listUnmerged(line, now - SETTLED_MS)) line.push(await mergeRun(target, run));
  const { old, wantsBase } = sortOut(line, leases, { ...retention, now });
  for (const span of old) {
    const copy = span.kind === 'bases' ? await readCopyName(target, span.name) : undefined;
    await target.remove(span.name);
    if (copy !== undefined) await target.remove(copy);
  }
  return { wantsBase };
}

/** @returns the segments of each hour that has ended, up to the first gap */
function listUnmerged(line: readonly Span[], until: number): Span[][] {
  const merged = new Set(line.filter(({ kind }) => kind === 'hours').map(({ at }) => hourOf(at)));
  const runs: Span[][] = [];
  const segments = line.filter(({ kind, at }) => kind === 'segments' && !merged.has(hourOf(at)));
  for (const segment of segments.sort((a, b) => a.to - b.to || a.at - b.at)) {
    if (hourOf(segment.at) >= hourOf(until)) continue;
    const before = runs.at(-1)?.at(-1);
    const follows =
      before !== undefined && segment.from <= before.to && hourOf(before.at) === hourOf(segment.at);
    if (follows) runs.at(-1)?.push(segment);
    else runs.push([segment]);
  }
  return runs.filter((run) => run.length > 1);
}

async function mergeRun(target: BackupTarget, run: readonly Span[]) {
  const [first, last] = [run[0] as Span, run.at(-1) as Span];
  const merged = { kind: 'hours' as const, from: first.from, to: last.to, epoch: last.epoch, at: last.at };
  const name = nameOf(merged);
  const read = (at: number) => target.readEntries((run[at] as Span).name);
  await target.writeEntries(name, mergeObjects(read, run.length));
  return { ...merged, name };
}

/** A base is the name of its copy. @throws DamagedObject when it is missing or names none */
export async function readCopyName(target: BackupTarget, name: string): Promise<string> {
  const copy = await target.readText(name);
  if (copy === undefined) throw new DamagedObject(`${name} is missing`);
  if (!/^copies\/[\w-]{1,100}$/.test(copy)) throw new DamagedObject(`${name} is damaged: it names no copy`);
  return copy;
}

/** Removes bases whose copy is gone, because a restore of their instants would fail. */
export async function removeBroken(target: BackupTarget): Promise<void> {
  const bases = await target.list('bases');
  const copies = new Set(await target.list('copies'));
  for (const name of bases) {
    const copy = await readCopyName(target, name).catch(() => undefined);
    // What is damaged or forged stays, and is named by a check of all objects.
    if (copy !== undefined && !copies.has(copy)) await target.remove(name);
  }
}

interface MergedFile {
  /** By page, the last object that has it. */
  last: Uint32Array;
  /** The last objects that give its size, that begin it and that end it. */
  end: number;
  begin: number;
  gone: number;
}

/** @returns the combined effect of all objects: the last state of each page. Memory: 4 bytes for each page of the changed files */
export async function* mergeObjects(read: (at: number) => AsyncIterable<Entry>, count: number) {
  const files = new Map<string, MergedFile>();
  for (let at = 0; at < count; at += 1) for await (const { head } of read(at)) noteHead(files, head, at);
  for (let at = 0; at < count; at += 1)
    for await (const entry of read(at)) {
      const file = files.get(entry.head.file);
      const left = file && leaveLast(entry, file, at);
      if (left !== undefined) yield left;
    }
}

function noteHead(files: Map<string, MergedFile>, head: EntryHead, at: number): void {
  const unseen = () => ({ last: new Uint32Array(64), end: -1, begin: -1, gone: -1 });
  const file = files.getOrInsertComputed(head.file, unseen);
  if (head.kind === 'pages') notePages(file, head.pages, at);
  else if (head.kind === 'end' || head.kind === 'gone') file[head.kind] = at;
  else if (head.kind === 'begin' || head.at === 0) file.begin = at;
}

function notePages(file: MergedFile, pages: readonly number[], at: number): void {
  const most = Math.max(...pages);
  if (most >= file.last.length) {
    const grown = new Uint32Array(Math.max(most + 1, 2 * file.last.length));
    grown.set(file.last);
    file.last = grown;
  }
  for (const page of pages) file.last[page] = at;
}

function leaveLast(entry: Entry, file: MergedFile, at: number): Entry | undefined {
  const { head, bytes } = entry;
  if (head.kind === 'gone') return entry;
  if (at < file.begin || at < file.gone) return undefined;
  if (head.kind === 'end') return at === file.end ? entry : undefined;
  if (head.kind !== 'pages') return entry;
  const { pageSize } = head;
  const left = head.pages.flatMap((page, index) => (file.last[page] === at ? [{ page, index }] : []));
  if (left.length === head.pages.length) return entry;
  if (left.length === 0) return undefined;
  const parts = left.map(({ index }) => bytes.subarray(index * pageSize, (index + 1) * pageSize));
  return { head: { ...head, pages: left.map(({ page }) => page) }, bytes: Buffer.concat(parts) };
}

/** @returns what none of the retained instants needs */
export function sortOut(
  line: readonly Span[],
  leases: readonly Lease[],
  { keepSecondsHours, keepHoursDays, now }: Retention & { readonly now: number },
): { old: Span[]; wantsBase: boolean } {
  const of = (kind: Span['kind']) => line.filter((span) => span.kind === kind);
  const bases = of('bases').sort((a, b) => a.at - b.at);
  const last = bases.at(-1);
  const first = bases.findLast(({ at }) => at <= now - keepHoursDays * DAY_MS);
  const isBefore = ({ to }: Span) => first !== undefined && to <= first.from;
  const isMerged = ({ from, to }: Span) => of('hours').some((hour) => hour.from <= from && to <= hour.to);
  const secondsUntil = now - keepSecondsHours * HOUR_MS;
  const old = line.filter(
    (span) => isBefore(span) || (span.kind === 'segments' && span.at < secondsUntil && isMerged(span)),
  );
  // A base between two others is needed only if nothing leads to it from the one before.
  const rest = new Set(line.filter((span) => !old.includes(span)));
  for (const base of bases.filter((one) => one !== first && one !== last && rest.has(one))) {
    rest.delete(base);
    const without = planRestore([...rest], leases, base.at);
    if (without !== undefined && without.to >= base.to) old.push(base);
    else rest.add(base);
  }
  const isNews = of('segments').some(({ at }) => last !== undefined && at > last.at);
  return { old, wantsBase: last !== undefined && isNews && last.at < now - DAY_MS };
}
