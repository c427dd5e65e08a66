import { existsSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { lockDataFolder, writeOwnFile } from '../../storage/storage.ts';
import { type LocalState, readLocalState } from './backup-stream.ts';
import { listLeases, takeLease } from './leases.ts';
import { promoteRequestAt } from './standby.ts';
import { openTarget, type TargetSettings } from './target.ts';

/** A standby takes what is left to it, and then the lease. */
const STANDBY_MS = 60_000;

/**
 * Makes a directory that was restored, or the standby that follows in it, the one that writes.
 * @throws Error when the directory has no backup, or somebody else took the lease at the same time
 */
export async function promote(
  root: string,
  { url, s3 }: { url: string | undefined; s3: TargetSettings['s3'] },
): Promise<{ at: number }> {
  const local = readLocalState(root);
  if (local === undefined) throw new Error(`${root} was not restored from a backup, and follows none`);
  let lock: ReturnType<typeof lockDataFolder>;
  try {
    lock = lockDataFolder(root);
  } catch {
    return promoteStandby(root);
  }
  try {
    return await takeOver(local, openTarget({ url: url ?? local.url, s3 }));
  } finally {
    lock.close();
  }
}

async function takeOver(local: LocalState, target: ReturnType<typeof openTarget>): Promise<{ at: number }> {
  const last = (await listLeases(target)).at(-1);
  if (last?.holder === local.holder) return { at: local.at };
  const now = Date.now();
  const epoch = (last?.epoch ?? 0) + 1;
  const lease = { holder: local.holder, epoch, from: local.seq, at: now, renewedAt: now };
  if (!(await takeLease(target, lease))) throw new Error('Another one was promoted at the same time');
  return { at: local.at };
}

/** The process that serves the directory does it. */
async function promoteStandby(root: string): Promise<{ at: number }> {
  const request = promoteRequestAt(root);
  writeOwnFile(request, '', 'w');
  for (const until = performance.now() + STANDBY_MS; existsSync(request); await delay(50))
    if (performance.now() > until) {
      rmSync(request, { force: true });
      throw new Error(`The service on ${root} is no standby, or does not reach its target: see its log`);
    }
  return { at: readLocalState(root)?.at ?? 0 };
}
