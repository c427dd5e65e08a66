/** Copies the published files of a build to a destination. Runs in the build's thread. Source: docs/interface §16.8. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  allowAddresses,
  createTimeouts,
  type Outbound,
  OutboundProblem,
  type WaitLimits,
} from '../../outbound/outbound.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { Snapshot } from '../channel-definitions/channel-definitions.ts';
import { type Destination, openDestination } from '../destinations/destinations.ts';
import { listServedFiles } from './served-files.ts';

export interface DeliveryOrder {
  readonly snapshot: Snapshot;
  /** Names of files that only a larger earlier build had. */
  readonly stale: readonly string[];
  /** The destination with its secrets. */
  readonly destination: Destination;
}

export interface Delivery {
  readonly files: number;
  readonly bytes: number;
  /** In words, why the destination does not have all files. */
  readonly problem?: string;
}

export interface DeliveryParts {
  readonly payloads: PayloadFiles;
  /** `RELATA_FETCH_ALLOW`. */
  readonly allow: readonly string[];
}

const LIMITS: WaitLimits = { connectMs: 15_000, idleMs: 120_000, wholeMs: 3_600_000 };
/** Delays before the second and the third attempt. */
const RETRY_MS: readonly number[] = [5_000, 30_000];
/** Problems that may be transient. A wrong password is not one, because repeating it would lock accounts. */
const PASSING: ReadonlySet<string> = new Set(['connection', 'timeout', 'broken_off']);

/** Retries transient problems, within the time for all attempts. */
export async function deliver(
  { payloads, allow }: DeliveryParts,
  order: DeliveryOrder,
  { retryMs = RETRY_MS, limits = LIMITS }: { retryMs?: readonly number[]; limits?: WaitLimits } = {},
): Promise<Delivery> {
  const timeouts = createTimeouts(limits, 'The destination');
  const via = { allows: allowAddresses(allow), resolve: undefined, timeouts, signal: undefined };
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await deliverOnce(payloads, order, via).catch(toProblem);
    if (!(outcome instanceof OutboundProblem)) return outcome;
    const mayPass = PASSING.has(outcome.reason) && !timeouts.areUsedUp();
    const wait = mayPass ? retryMs[attempt] : undefined;
    const attempts = attempt === 0 ? '' : ` (${attempt + 1} attempts)`;
    if (wait === undefined) return { files: 0, bytes: 0, problem: `${outcome.message}${attempts}` };
    await delay(wait);
  }
}

function toProblem(error: unknown): OutboundProblem {
  if (error instanceof OutboundProblem) return error;
  throw error;
}

async function deliverOnce(
  payloads: PayloadFiles,
  { snapshot, stale, destination }: DeliveryOrder,
  via: Outbound,
): Promise<Delivery> {
  const files = listServedFiles(payloads, snapshot);
  using opened = await openDestination(destination, via);
  let bytes = 0;
  for (const { name, mediaType, sizeBytes, read } of files)
    bytes += await opened.write(name, read(0, sizeBytes), mediaType);
  for (const name of stale) await opened.remove(name);
  return { files: files.length, bytes };
}
