import type { LocalState } from '../files/files.ts';
import type { BackupTarget } from '../target/target.ts';
import { type HeldLease, listLeases, refuseOther } from '../timeline/timeline.ts';
import { NotTheWriter } from './stream-state.ts';

/** Checks whether a target is the one to which a directory sent its backup, or to which it may send its backup now. */

interface Known {
  readonly local: LocalState | undefined;
  /** The id for a backup that begins in an empty target. */
  readonly fresh: string;
}

/**
 * A target that held the backup of this directory is not created again, because a missing directory means that its disk
 * is not mounted.
 * @returns the id of the backup that the target holds, or that begins there
 * @throws VanishedTarget, NotTheWriter
 */
export async function findOwnTarget(target: BackupTarget, known: Known): Promise<string> {
  const { local, fresh } = known;
  const used = local !== undefined && local.epoch > 0 && local.url === target.url ? local : undefined;
  if (used !== undefined && !(await target.isThere())) refuseOther(target, undefined, used.backup ?? '');
  target.adopt(local?.backup ?? fresh);
  const identity = await target.findIdentity();
  if (identity === undefined) return used === undefined ? beginAt(target, known) : findUnmarked(target, used);
  if (used?.backup !== undefined) refuseOther(target, identity, used.backup);
  target.adopt(identity);
  await target.findIdentity();
  await refuseForeignBackup(target, local, identity);
  return identity;
}

/** Handles a target without an identity: an earlier version wrote it, or this service was interrupted. */
async function findUnmarked(target: BackupTarget, local: LocalState): Promise<string> {
  const leases = await listLeases(target);
  const isOwn = leases.some(({ holder }) => holder === local.holder);
  // A directory of an earlier version does not record which backup its target holds.
  const isKnown = leases.length > 0 && (local.backup === undefined || isOwn);
  const own = target.own() ?? '';
  if (!isKnown) refuseOther(target, undefined, own);
  return own;
}

async function beginAt(target: BackupTarget, { local, fresh }: Known): Promise<string> {
  // An interrupted first start has already chosen an id.
  const id = local?.epoch === 0 ? (local.backup ?? fresh) : fresh;
  if (!(await target.isThere())) await target.make();
  target.adopt(id);
  return id;
}

/** @throws NotTheWriter if another directory writes to the target, and this one has written to another target */
async function refuseForeignBackup(
  target: BackupTarget,
  local: LocalState | undefined,
  identity: string,
): Promise<void> {
  // A directory that never had a lease is refused when it requests its first one.
  if (local === undefined || local.epoch === 0) return;
  if (local.backup === undefined || local.backup === identity) return;
  const leases = await listLeases(target);
  if (!leases.some(({ holder }) => holder === local.holder)) throw refuseOtherDirectory(target.url);
}

const refuseOtherDirectory = (url: string) =>
  new NotTheWriter(
    `${url} holds the backup of another data directory: restore it first (relata restore --from ${url} DIR), or name an empty target`,
  );

/**
 * @throws NotTheWriter unless the directory was restored or is a standby, because a former writer has its own changes
 */
export function refuseForeign(
  leases: readonly HeldLease[],
  local: LocalState | undefined,
  url: string,
): void {
  if (leases.some(({ holder }) => holder === local?.holder))
    throw new NotTheWriter(
      `This data directory was left behind: another service was promoted and has written to ${url} since. Begin again with an empty directory: relata serve --standby ${url}`,
    );
  // Epoch 0: the directory requested its first lease and did not get it.
  if (local === undefined || local.epoch === 0) throw refuseOtherDirectory(url);
}
