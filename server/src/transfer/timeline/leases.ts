import type { Lease } from './spans.ts';
import { type BackupTarget, readSmall, writeSmall } from './target.ts';

/** Who writes to a target. A lease is an object of its epoch, which exists once: the one with the highest epoch counts. */

/** One that was not renewed for so long is of a service that is gone. */
export const LEASE_MS = 6_000;
export const RENEW_MS = 2_000;

export interface HeldLease extends Lease {
  /** When its holder last said that it is there: a service without changes writes nothing else. */
  readonly renewedAt: number;
  /** Of its last segment: it takes no changes until the next epoch begins, or `HANDOVER_MS` have passed. */
  readonly handedOver?: number;
}

/** The holder hands over on request, and takes changes again when the lease was not taken for so long. */
export const HANDOVER_MS = 12_000;
/** A standby that asks a holder which is there waits so long for it to send what it has. */
export const PATIENCE_MS = 8_000;

/** Where the holder of an epoch is asked to hand over. */
export const handoverOf = (epoch: number) => `handovers/${String(epoch).padStart(6, '0')}`;

const nameOf = (epoch: number) => `leases/${String(epoch).padStart(6, '0')}`;

/** @returns undefined when there is none */
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
 * @param from  the number of the segment that the new holder begins behind
 * @returns the lease of the epoch after the last one; undefined: another service took it
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
  return written === undefined ? undefined : { ...lease, epoch };
}

export const renewLease = (target: BackupTarget, { epoch, ...lease }: HeldLease) =>
  writeSmall(target, nameOf(epoch), { text: JSON.stringify(lease) });
