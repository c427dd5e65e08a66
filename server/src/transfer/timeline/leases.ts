import type { Lease } from './spans.ts';
import { type BackupTarget, readSmall, writeSmall } from './target.ts';

/** Who writes to a target. A lease is an object per epoch, created only once; the one with the highest epoch counts. */

/** A lease that was not renewed for this long belongs to a service that is gone. */
export const LEASE_MS = 6_000;
export const RENEW_MS = 2_000;

export interface HeldLease extends Lease {
  /** When its holder last renewed it; a service without changes writes nothing else. */
  readonly renewedAt: number;
  /** The number of its last segment: it takes no changes until the next epoch begins, or `HANDOVER_MS` have passed. */
  readonly handedOver?: number;
}

/** The holder hands over on request, and accepts changes again when the lease was not taken for this long. */
export const HANDOVER_MS = 12_000;
/** How long a standby waits for a holder that is alive to send what it has. */
export const PATIENCE_MS = 8_000;

/** The object that asks the holder of an epoch to hand over. */
export const handoverOf = (epoch: number) => `handovers/${String(epoch).padStart(6, '0')}`;

const nameOf = (epoch: number) => `leases/${String(epoch).padStart(6, '0')}`;

export async function readLease(target: BackupTarget, epoch: number): Promise<HeldLease | undefined> {
  const bytes = await readSmall(target, nameOf(epoch));
  if (bytes === undefined || bytes.length === 0) return undefined;
  return { ...(JSON.parse(bytes.toString()) as Omit<HeldLease, 'epoch'>), epoch };
}

export async function listLeases(target: BackupTarget): Promise<HeldLease[]> {
  const epochs = (await target.list('leases')).map((name) => Number(name.split('/')[1]));
  const leases = await Array.fromAsync(epochs, (epoch) => readLease(target, epoch));
  return leases.filter((lease) => lease !== undefined);
}

/**
 * @param from the number of the segment that the new holder continues from
 * @returns the lease of the epoch after the last one; undefined if another service took it
 */
export async function takeLease(
  target: BackupTarget,
  last: HeldLease | undefined,
  { holder, from }: Pick<Lease, 'holder' | 'from'>,
): Promise<HeldLease | undefined> {
  const now = Date.now();
  const lease = { holder, from, at: now, renewedAt: now };
  const epoch = (last?.epoch ?? 0) + 1;
  const written = await writeSmall(target, nameOf(epoch), { text: JSON.stringify(lease), isNew: true });
  if (written !== undefined) return { ...lease, epoch };
  // An earlier attempt whose answer was lost may have arrived since the leases were listed. One from before further segments
  // were applied is not continued: those would be missing in a restore.
  const present = await readLease(target, epoch);
  return present?.holder === holder && present.from === from ? present : undefined;
}

export const renewLease = (target: BackupTarget, { epoch, ...lease }: HeldLease) =>
  writeSmall(target, nameOf(epoch), { text: JSON.stringify(lease) });
