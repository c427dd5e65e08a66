import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lockDataFolder, writeOwnFile } from '../../storage/folder/folder.ts';
import { readLocalState } from '../files/files.ts';
import { openTarget, type TargetSettings } from '../target/target.ts';
import { listLeases, refuseOther, takeLease } from '../timeline/timeline.ts';

/** The file with which `relata promote` sends its request to the running standby. */
export const promoteRequestAt = (dataDir: string) => join(dataDir, 'backup-state.json.promote');

/** The time for a standby to fetch the remaining segments and then to take the lease. */
const STANDBY_MS = 60_000;

/**
 * Makes a restored directory, or the standby that runs in it, the writer.
 * @throws Error if the directory has no backup, or if another service took the lease at the same time
 */
export async function promote(
  root: string,
  { url, ...settings }: { url: string | undefined } & Omit<TargetSettings, 'url'>,
): Promise<{ at: number }> {
  const local = readLocalState(root);
  if (local === undefined) throw new Error(`${root} was not restored from a backup, and does not follow one`);
  let lock: ReturnType<typeof lockDataFolder>;
  try {
    lock = lockDataFolder(root);
  } catch {
    return promoteStandby(root);
  }
  using _lock = lock;
  const target = openTarget({ url: url ?? local.url, ...settings });
  const identity = (await target.isThere()) ? await target.findIdentity() : undefined;
  if (local.backup !== undefined) refuseOther(target, identity, local.backup);
  const last = (await listLeases(target)).at(-1);
  const own = { holder: local.holder, from: local.seq };
  if (last?.holder !== local.holder && (await takeLease(target, last, own)) === undefined)
    throw new Error('Another service was promoted at the same time');
  return { at: local.at };
}

/** The process that serves the directory does the work. */
async function promoteStandby(root: string): Promise<{ at: number }> {
  const request = promoteRequestAt(root);
  writeOwnFile(request, '', 'w');
  for (const until = performance.now() + STANDBY_MS; existsSync(request); await delay(50))
    if (performance.now() > until) {
      rmSync(request, { force: true });
      throw new Error(
        `The service on ${root} is not a standby, or it does not reach its target; see its log`,
      );
    }
  return { at: readLocalState(root)?.at ?? 0 };
}
