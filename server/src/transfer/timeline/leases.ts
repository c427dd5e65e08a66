import type { Lease } from './spans.ts';
import { type BackupTarget, readSmall, writeSmall } from './target.ts';

/** Who writes to a target. A lease is an object of its epoch, which exists once: the one with the highest epoch counts. */

/** One that was not renewed for so long is of a service that is gone. */
export const LEASE_MS = 6_000;
export const RENEW_MS = 2_000;

export interface HeldLease extends Lease {
  /** When its holder last said that it is there: a service without changes writes nothing else. */
  readonly renewedAt: number;
}

const nameOf = (epoch: number) => `leases/${String(epoch).padStart(6, '0')}`;

/** @returns undefined when there is none */
export async function readLease(target: BackupTarget, epoch: number): Promise<HeldLease | undefined> {
  const bytes = await readSmall(target, nameOf(epoch));
  if (bytes === undefined || bytes.length === 0) return undefined;
  return { ...(JSON.parse(bytes.toString()) as Omit<HeldLease, 'epoch'>), epoch };
}

export async function listLeases(target: BackupTarget): Promise<HeldLease[]> {
  const leases: HeldLease[] = [];
  for (const name of await target.list('leases')) {
    const lease = await readLease(target, Number(name.split('/')[1]));
    if (lease !== undefined) leases.push(lease);
  }
  return leases;
}

/** @returns whether nobody else took this epoch */
export async function takeLease(target: BackupTarget, { epoch, ...lease }: HeldLease): Promise<boolean> {
  return (
    (await writeSmall(target, nameOf(epoch), { text: JSON.stringify(lease), isNew: true })) !== undefined
  );
}

export const renewLease = (target: BackupTarget, { epoch, ...lease }: HeldLease) =>
  writeSmall(target, nameOf(epoch), { text: JSON.stringify(lease) });
