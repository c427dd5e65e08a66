import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { tracedApart } from '../kernel/trace.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { isDelivered, type SendDelivery } from './delivery-sender.ts';
import { findNext, saveAttempt } from './delivery-store.ts';
import {
  type Attempt,
  type Delivery,
  describeUrl,
  type Endpoint,
  GIVE_UP_MS,
  planRetry,
} from './endpoint.ts';
import { findEndpoint, noteFailing } from './endpoint-store.ts';
import { stopDeliveries, switchOff } from './endpoint-switch.ts';
import { type ClaimedLane, closeLane, type LaneState, saveLane } from './queue-store.ts';

export interface LaneParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly send: SendDelivery;
  /** Names this process as the holder of a lane. */
  readonly owner: string;
}

/** Deliveries of a lane one after another; then others get their turn. */
const AT_ONCE = 50;
/** The receiver says that it wants nothing more. Source: Standard Webhooks 1.0. */
const GONE = 410;

/** Sends the deliveries of a claimed lane in order, until one fails, none is left or the signal aborts. */
export async function sendLane(parts: LaneParts, claimed: ClaimedLane, signal: AbortSignal): Promise<void> {
  const { database, clock, owner } = parts;
  let lane = claimed;
  for (let sent = 0; sent < AT_ONCE && !signal.aborted; sent += 1) {
    if (!(await sendNext(parts, lane))) return;
    lane = { ...lane, tries: 0 };
  }
  const released = { ...lane, dueAt: clock.now(), isHeld: false, owner };
  await database.write((tx) => saveLane(database, tx, released), { of: 'rows' });
}

/** @returns whether this process goes on with the lane */
async function sendNext(parts: LaneParts, lane: ClaimedLane): Promise<boolean> {
  const { database, clock, owner } = parts;
  const delivery = await findNext(database.read, lane);
  if (delivery === undefined) return !(await closeLane(database, { ...lane, owner }));
  const endpoint = await findEndpoint(database.read, lane.endpointId);
  if (endpoint === undefined) return false;
  if (!endpoint.isEnabled && lane.lane !== 0) {
    // It was switched off since.
    await database.write((tx) => stopDeliveries(tx, endpoint.id, clock.now()), { of: 'rows' });
    return false;
  }
  const attempt = await tracedApart(undefined, describeSpan(lane, endpoint), async (note) => {
    const sent = await parts.send(endpoint, delivery.message, clock.now());
    note({ 'http.response.status_code': sent.status, 'relata.webhook.delivered': isDelivered(sent) });
    return sent;
  });
  return saveOutcome(parts, { lane, delivery, endpoint, attempt });
}

const describeSpan = ({ tries }: ClaimedLane, { id }: Endpoint) => ({
  name: 'deliver webhook',
  attributes: { 'relata.webhook.endpoint': id, 'relata.webhook.tries': tries },
});

interface Outcome {
  readonly lane: ClaimedLane;
  readonly delivery: Delivery;
  readonly endpoint: Endpoint;
  readonly attempt: Attempt;
}

/** @returns whether this process goes on with the lane */
async function saveOutcome(parts: LaneParts, outcome: Outcome): Promise<boolean> {
  const { database, clock, owner, logger } = parts;
  const { lane, delivery, endpoint, attempt } = outcome;
  const now = clock.now();
  const next = planNext(outcome, now);
  const off = lane.lane === 0 ? undefined : whyOff(outcome, now);
  const isSaved = await database.write(
    async (tx) => {
      // Another process may have it by now, and has sent the delivery too.
      if (!(await saveLane(database, tx, { ...lane, ...next, owner }))) return false;
      await saveAttempt(tx, delivery, { attempt, status: next.status });
      if (lane.lane !== 0) await noteHealth(tx, outcome);
      if (off !== undefined) await switchOff(tx, endpoint.id, { at: now, reason: off });
      return true;
    },
    { of: 'rows' },
  );
  if (off !== undefined)
    logger.warn(
      { endpoint: endpoint.id, url: describeUrl(endpoint.url) },
      `a webhook endpoint is switched off: ${off}`,
    );
  return isSaved && next.isHeld && off === undefined;
}

/** What becomes of the delivery and its lane. */
function planNext({ lane, delivery, attempt }: Outcome, now: number): LaneState & Pick<Delivery, 'status'> {
  const goesOn = { tries: 0, dueAt: now, isHeld: true };
  if (isDelivered(attempt)) return { ...goesOn, status: 'delivered' };
  // Whoever asked for a replay or a test sees what came of it.
  if (lane.lane === 0) return { ...goesOn, status: 'failed' };
  const dueAt = planRetry(now, lane.tries + 1, delivery.firstAttemptAt ?? attempt.at);
  if (dueAt === undefined) return { ...goesOn, status: 'failed' };
  return { tries: lane.tries + 1, dueAt, isHeld: false, status: 'pending' };
}

const noteHealth = (tx: ControlTransaction, { endpoint, attempt }: Outcome) =>
  noteFailing(tx, endpoint.id, isDelivered(attempt) ? null : attempt.at);

/** @returns why an endpoint is to be switched off; undefined: it is not */
function whyOff({ endpoint, attempt }: Outcome, now: number): string | undefined {
  if (attempt.status === GONE) return 'it answered 410 Gone';
  if (isDelivered(attempt) || endpoint.failingSince === null) return undefined;
  return now - endpoint.failingSince >= GIVE_UP_MS ? 'every attempt failed for 3 days' : undefined;
}
