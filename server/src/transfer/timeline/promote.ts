import { readLocalState } from './backup-stream.ts';
import { listLeases, takeLease } from './leases.ts';
import { openTarget, type TargetSettings } from './target.ts';

/**
 * Takes the lease for a directory that was restored.
 * @throws Error when the directory has no backup, or somebody else took the lease at the same time
 */
export async function promote(
  root: string,
  { url, s3 }: { url: string | undefined; s3: TargetSettings['s3'] },
): Promise<{ at: number }> {
  const local = readLocalState(root);
  if (local === undefined) throw new Error(`${root} was not restored from a backup, and follows none`);
  const target = openTarget({ url: url ?? local.url, s3 });
  const last = (await listLeases(target)).at(-1);
  if (last?.holder === local.holder) return { at: local.at };
  const now = Date.now();
  const lease = {
    holder: local.holder,
    epoch: (last?.epoch ?? 0) + 1,
    from: local.seq,
    at: now,
    renewedAt: now,
  };
  if (!(await takeLease(target, lease))) throw new Error('Another one was promoted at the same time');
  return { at: local.at };
}
