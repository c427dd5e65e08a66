import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolderAt, lockDataFolder, refuseFilled, syncFolder } from '../../storage/folder/folder.ts';
import { FollowedFiles, listSent, makeHolder, writeLocalState } from '../files/files.ts';
import { type BackupTarget, DamagedObject, type Entry } from '../target/target.ts';
import {
  KINDS,
  leaseNameOf,
  listLeases,
  listPoints,
  listSpans,
  planRestore,
  readCopyName,
  type Span,
} from '../timeline/timeline.ts';

/** @throws DamagedObject when a lease is missing that a span names, or one is not authenticated */
async function readLine(target: BackupTarget) {
  // A service that takes over between the two calls has written its lease first.
  const spans = await listSpans(target);
  const leases = await listLeases(target);
  const epoch = Math.max(0, ...spans.map((span) => span.epoch));
  if (epoch > leases.length) throw new DamagedObject(`${leaseNameOf(epoch)} is missing`);
  return { spans, leases };
}

/** @throws Error that says from when on something can be restored */
async function findPlan(target: BackupTarget, at: number | undefined) {
  const { spans, leases } = await readLine(target);
  const plan = planRestore(spans, leases, at);
  if (plan !== undefined) return plan;
  const first = listPoints(spans, leases)[0];
  throw new Error(
    first === undefined
      ? 'Nothing can be restored: there is no base copy that is whole'
      : `Nothing of that instant or before is there: the first one is ${new Date(first.at).toISOString()}`,
  );
}

/**
 * Restores a data directory from a target.
 * @throws Error when the directory is not empty or an object is damaged; then only its lock file is left
 */
export async function restoreTimeline(target: BackupTarget, root: string, options: RestoreOptions) {
  refuseFilled(root, LOCK_FILE);
  using _lock = lockDataFolder(root);
  try {
    return await fillFolder(target, root, options);
  } catch (error) {
    const made = (await readdir(root)).filter((name) => name !== LOCK_FILE);
    for (const name of made) await rm(join(root, name), { recursive: true });
    throw error;
  }
}

/** A held lock file cannot be removed on every system. */
const LOCK_FILE = 'server.lock';

interface RestoreOptions {
  readonly at?: number | undefined;
}

/**
 * The same, for a caller that holds the lock of the directory.
 * @returns `lostAt`: the last of the later instants that the target names but that a missing object makes unreachable
 */
export async function fillFolder(target: BackupTarget, root: string, until: RestoreOptions = {}) {
  const { spans, epoch, to: seq, at, lostAt } = await findPlan(target, until.at);
  const { catalogs, payloads } = dataFolderAt(root);
  const files = new FollowedFiles(root);
  try {
    for (const span of spans) for await (const entry of readSpanObject(target, span)) files.apply(entry);
    const count = files.publish();
    for (const path of [catalogs, payloads, root]) await syncFolder(path);
    const backup = await target.findIdentity();
    const { url } = target;
    writeLocalState(root, { holder: makeHolder(), epoch, seq, at, files: listSent(root), url, backup });
    return { at, files: count, lostAt };
  } finally {
    files.close();
  }
}

/** Of a base the entries of its copy. @throws DamagedObject */
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

/** Files of the directory that a span may name; no other path is accepted. */
const FILES = /^(?:control\.db|catalogs\/[1-9]\d{0,15}\.db|payloads\/\w[\w.-]{0,200}|secret-keys)$/;

export type BackupListing = Awaited<ReturnType<typeof listBackups>>;
export type CheckedTimeline = Awaited<ReturnType<typeof verifyTimeline>>;

/** @returns `ranges` of close instants: any time within one can be restored, to the instant before it */
export async function listBackups(target: BackupTarget) {
  const { spans, leases } = await readLine(target);
  const ranges: { from: string; to: string; points: number; kind: 'seconds' | 'hours' }[] = [];
  for (const { at, kind } of listPoints(spans, leases)) {
    const instant = new Date(at).toISOString();
    const grain = kind === 'hours' ? 'hours' : 'seconds';
    const last = ranges.at(-1);
    if (last?.kind === grain) {
      last.to = instant;
      last.points += 1;
    } else ranges.push({ from: instant, to: instant, points: 1, kind: grain });
  }
  return { ranges, leases, objects: spans.length };
}

/** Reads everything. @returns the problems, by object; empty if all of it is as it was written */
export async function verifyTimeline(target: BackupTarget) {
  const problems: string[] = [];
  const note = (error: Error) => void problems.push(error.message);
  let bytes = 0;
  const count = async (span: Span) => {
    for await (const entry of readSpanObject(target, span)) bytes += entry.bytes.length;
  };
  const spans: Span[] = [];
  for (const kind of KINDS) await listSpans(target, [kind]).then((found) => spans.push(...found), note);
  for (const span of spans) await count(span).catch(note);
  await checkPlan(target).then((found) => problems.push(...found), note);
  return { objects: spans.length, bytes, problems: [...new Set(problems)] };
}

async function checkPlan(target: BackupTarget): Promise<string[]> {
  const { spans, leases } = await readLine(target);
  const plan = planRestore(spans, leases);
  if (plan === undefined) return ['there is no base copy that is whole'];
  if (plan.lostAt === undefined) return [];
  const [from, to] = [plan.at, plan.lostAt].map((at) => new Date(at).toISOString());
  return [`objects are missing between ${from} and ${to}`];
}
