import type { LocalState } from '../files/files.ts';
import type { BackupTarget } from '../target/target.ts';
import { type HeldLease, listLeases, refuseOther } from '../timeline/timeline.ts';
import { NotTheWriter } from './stream-state.ts';

/** Whether a target is the one that a directory sent its backup to, or may send it to now. */

interface Known {
  readonly local: LocalState | undefined;
  /** The id of a backup that begins at a new place. */
  readonly fresh: string;
}

/**
 * A target that held the backup of this directory is not made anew: the disk of a vanished directory is not mounted.
 * @returns the id of the backup that the target holds, or that begins there
 * @throws VanishedTarget, NotTheWriter
 */
export async function findOwnTarget(target: BackupTarget, known: Known): Promise<string> {
  const { local, fresh } = known;
  const used = local !== undefined && local.epoch > 0 && local.url === target.url ? local : undefined;
  if (used !== undefined && !(await target.isThere())) refuseOther(target, undefined, used.backup ?? '');
  target.adopt(local?.backup ?? fresh);
  const found = await target.findIdentity();
  if (found === undefined) return used === undefined ? beginAt(target, known) : findUnmarked(target, used);
  if (used?.backup !== undefined) refuseOther(target, found, used.backup);
  target.adopt(found);
  await target.findIdentity();
  await refuseForeignBackup(target, local, found);
  return found;
}

/** The target does not say which backup it holds: an earlier version wrote it, or this service was interrupted. */
async function findUnmarked(target: BackupTarget, local: LocalState): Promise<string> {
  const leases = await listLeases(target);
  const isOwn = leases.some(({ holder }) => holder === local.holder);
  // A directory of an earlier version does not know which backup its target holds.
  const isKnown = leases.length > 0 && (local.backup === undefined || isOwn);
  const own = target.own() ?? '';
  if (!isKnown) refuseOther(target, undefined, own);
  return own;
}

async function beginAt(target: BackupTarget, { local, fresh }: Known): Promise<string> {
  // An interrupted first start has chosen an id before.
  const id = local?.epoch === 0 ? (local.backup ?? fresh) : fresh;
  if (!(await target.isThere())) await target.make();
  target.adopt(id);
  return id;
}

/** @throws NotTheWriter when another directory writes to the target, and this one has written to another place */
async function refuseForeignBackup(
  target: BackupTarget,
  local: LocalState | undefined,
  found: string,
): Promise<void> {
  // Without a lease of its own it is refused when it asks for the first one.
  if (local === undefined || local.epoch === 0) return;
  if (local.backup === undefined || local.backup === found) return;
  const leases = await listLeases(target);
  if (!leases.some(({ holder }) => holder === local.holder)) throw refuseOtherDirectory(target.url);
}

const refuseOtherDirectory = (url: string) =>
  new NotTheWriter(
    `${url} holds the backup of another data directory: restore it first (relata restore --from ${url} DIR), or name an empty place`,
  );

/** @throws NotTheWriter unless the directory was restored or is a standby: a former writer has changes of its own */
export function refuseForeign(
  leases: readonly HeldLease[],
  local: LocalState | undefined,
  url: string,
): void {
  if (leases.some(({ holder }) => holder === local?.holder))
    throw new NotTheWriter(
      `This data directory was left behind: another service was promoted and has written to ${url} since. Begin anew with an empty directory: relata serve --standby ${url}`,
    );
  // Epoch 0: it asked for its first lease and did not get it.
  if (local === undefined || local.epoch === 0) throw refuseOtherDirectory(url);
}
