import { type BackupTarget, DamagedObject } from '../target/target.ts';
import type { Lease } from './spans.ts';

/**
 * Leases state which service writes to a target. A lease is an object per epoch, created only once, and the lease with
 * the highest epoch applies.
 */

/** A lease that was not renewed for this long belongs to a service that no longer runs. */
export const LEASE_MS = 6_000;
export const RENEW_MS = 2_000;

export interface HeldLease extends Lease {
  /** When its holder last renewed it. A service without changes writes nothing else. */
  readonly renewedAt: number;
  /**
   * The number of its last segment. The holder accepts no changes until the next epoch begins, or until `HANDOVER_MS`
   * have passed.
   */
  readonly handedOver?: number | undefined;
}

/** The holder hands over on request. It accepts changes again if no service has taken the lease for this long. */
export const HANDOVER_MS = 12_000;
/** How long a standby waits until a running holder has sent its remaining changes. */
export const PATIENCE_MS = 8_000;
/** A request that names an older renewal of the lease is a copy of a former request. */
const REQUEST_MS = 60_000;

/** The object that requests a handover from the holder of an epoch. */
export const handoverOf = (epoch: number) => `handovers/${String(epoch).padStart(6, '0')}`;

/** @param holder the service that requests to take over */
export const askForHandover = (
  target: BackupTarget,
  { epoch, renewedAt }: Pick<HeldLease, 'epoch' | 'renewedAt'>,
  holder: string,
): Promise<boolean> => target.writeText(handoverOf(epoch), JSON.stringify({ holder, renewedAt }));

/**
 * @param isSealed whether a request is accepted only if it names a renewal of the last minute, which this service made
 * @returns the request to hand over; undefined: there is none, or it is a copy of an old one
 */
export async function readHandover(
  target: BackupTarget,
  epoch: number,
  isSealed: boolean,
): Promise<string | undefined> {
  const text = await target.readText(handoverOf(epoch));
  if (text === undefined || !isSealed) return text;
  const { renewedAt } = parseObject(handoverOf(epoch), text);
  return Number(renewedAt) >= Date.now() - REQUEST_MS ? text : undefined;
}

export const leaseNameOf = (epoch: number) => `leases/${String(epoch).padStart(6, '0')}`;

export async function readLease(target: BackupTarget, epoch: number): Promise<HeldLease | undefined> {
  const text = await target.readText(leaseNameOf(epoch));
  if (text === undefined) return undefined;
  const lease = parseObject(leaseNameOf(epoch), text) as Omit<HeldLease, 'epoch'>;
  const numbers = [lease.from, lease.at, lease.renewedAt];
  if (typeof lease.holder !== 'string' || !numbers.every(Number.isFinite))
    throw new DamagedObject(`${leaseNameOf(epoch)} is damaged: it is not a lease`);
  return { ...lease, epoch };
}

function parseObject(name: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new DamagedObject(`${name} is damaged: it is not a JSON object`);
}

/** @throws DamagedObject if a lease is missing or not authenticated */
export async function listLeases(target: BackupTarget): Promise<HeldLease[]> {
  const names = (await target.list('leases')).filter((name) => /^leases\/\d{6,}$/.test(name));
  const epochs = names.map((name) => Number(name.split('/')[1])).sort((a, b) => a - b);
  const leasesRead = await Array.fromAsync(epochs, (epoch) => readLease(target, epoch));
  const leases = leasesRead.filter((lease) => lease !== undefined);
  for (const [index, { epoch }] of leases.entries())
    if (epoch !== index + 1) throw new DamagedObject(`${leaseNameOf(index + 1)} is missing`);
  return leases;
}

/**
 * @param from the number of the segment from which the new holder continues
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
  const isWritten = await target.writeText(leaseNameOf(epoch), JSON.stringify(lease), true);
  if (isWritten) return { ...lease, epoch };
  // An earlier attempt whose answer was lost may have arrived since the leases were listed. If further segments were
  // applied after that attempt, its lease is not continued, because these segments would be missing in a restore.
  const present = await readLease(target, epoch);
  return present?.holder === holder && present.from === from ? present : undefined;
}

export const renewLease = (target: BackupTarget, { epoch, ...lease }: HeldLease): Promise<boolean> =>
  target.writeText(leaseNameOf(epoch), JSON.stringify(lease));
