import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolderAt, lockDataFolder, refuseFilled, syncFolder } from '../../storage/folder/folder.ts';
import { FollowedFiles, listSent, makeHolder, writeLocalState } from '../files/files.ts';
import type { BackupTarget } from '../target/target.ts';
import { listPoints, planRestore, readLine, readSpanObject } from '../timeline/timeline.ts';

/** @throws Error that names the first instant that can be restored */
async function findPlan(target: BackupTarget, until: number | undefined) {
  const { spans, leases } = await readLine(target);
  const plan = planRestore(spans, leases, until);
  if (plan !== undefined) return plan;
  const first = listPoints(spans, leases)[0];
  throw new Error(
    first === undefined
      ? 'Nothing can be restored, because the target has no complete base copy'
      : `The target has no state of that instant or before it; the first instant is ${new Date(first.at).toISOString()}`,
  );
}

/**
 * Restores a data directory from a target.
 * @throws Error if the directory is not empty or an object is damaged; then only its lock file is left
 */
export async function restoreTimeline(target: BackupTarget, root: string, options: RestoreOptions) {
  refuseFilled(root, LOCK_FILE);
  using _lock = lockDataFolder(root);
  try {
    return await fillFolder(target, root, options);
  } catch (error) {
    const leftovers = (await readdir(root)).filter((name) => name !== LOCK_FILE);
    for (const name of leftovers) await rm(join(root, name), { recursive: true });
    throw error;
  }
}

/** A held lock file cannot be removed on every system. */
const LOCK_FILE = 'server.lock';

interface RestoreOptions {
  readonly at?: number | undefined;
}

/**
 * Restores a data directory for a caller that holds the lock of the directory.
 * @returns `lostAt`: the last later instant that the target names but that cannot be restored because an object is
 * missing
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
