import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolderAt, lockDataFolder, refuseFilled, syncFolder } from '../../storage/storage.ts';
import { makeHolder, writeLocalState } from './backup-stream.ts';
import { FollowedFiles, listSent } from './followed-files.ts';
import { listLeases } from './leases.ts';
import { DamagedObject, type Entry } from './objects.ts';
import { listSpans, readObject } from './retention.ts';
import { listPoints, planRestore, type Span } from './spans.ts';
import { type BackupTarget, readSmall } from './target.ts';

/** @throws Error that says from when on something can be restored */
async function findPlan(target: BackupTarget, at: number | undefined) {
  const spans = await listSpans(target);
  const leases = await listLeases(target);
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
  readonly key: Uint8Array | undefined;
  readonly at?: number | undefined;
  /** The URL of the target, for the writer that continues with it. */
  readonly url: string;
}

/**
 * The same, for a caller that holds the lock of the directory.
 * @returns `lostAt`: the last of the later instants that the target names but that a missing object makes unreachable
 */
export async function fillFolder(target: BackupTarget, root: string, { key, url, ...until }: RestoreOptions) {
  const { spans, epoch, to: seq, at, lostAt } = await findPlan(target, until.at);
  const { catalogs, payloads } = dataFolderAt(root);
  const files = new FollowedFiles(root);
  try {
    for (const span of spans) for await (const entry of readSpanObject(target, span, key)) files.apply(entry);
    const count = files.publish();
    for (const path of [catalogs, payloads, root]) await syncFolder(path);
    writeLocalState(root, { holder: makeHolder(), epoch, seq, at, files: listSent(root), url });
    return { at, files: count, lostAt };
  } finally {
    files.close();
  }
}

/** A base holds the name of its copy. */
export async function* readSpanObject(
  target: BackupTarget,
  { kind, name }: Span,
  key: Uint8Array | undefined,
): AsyncGenerator<Entry> {
  const copy = kind === 'bases' ? (await readSmall(target, name))?.toString() : name;
  if (copy === undefined || !/^[\w/-]{1,200}$/.test(copy)) throw new DamagedObject(`${name} is damaged`);
  for await (const entry of readObject(target, copy, key)) {
    if (!FILES.test(entry.head.file)) throw new Error(`${entry.head.file} is no file of a data directory`);
    yield entry;
  }
}

/** Files of the directory that a span may name; no other path is accepted. */
const FILES = /^(?:control\.db|catalogs\/\d+\.db|payloads\/[\w.-]+|secret-keys)$/;

export type BackupListing = Awaited<ReturnType<typeof listBackups>>;
export type CheckedTimeline = Awaited<ReturnType<typeof verifyTimeline>>;

/** @returns `ranges` of close instants: any time within one can be restored, to the instant before it */
export async function listBackups(target: BackupTarget) {
  const spans = await listSpans(target);
  const leases = await listLeases(target);
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
export async function verifyTimeline(target: BackupTarget, key: Uint8Array | undefined) {
  const spans = await listSpans(target);
  const problems: string[] = [];
  let bytes = 0;
  const count = async (span: Span) => {
    for await (const entry of readSpanObject(target, span, key)) bytes += entry.bytes.length;
  };
  for (const span of spans) await count(span).catch((error: Error) => problems.push(error.message));
  const plan = planRestore(spans, await listLeases(target));
  if (plan === undefined) problems.push('there is no base copy that is whole');
  else if (plan.lostAt !== undefined)
    problems.push(
      `objects are missing between ${new Date(plan.at).toISOString()} and ${new Date(plan.lostAt).toISOString()}`,
    );
  return { objects: spans.length, bytes, problems };
}
