import { randomBytes } from 'node:crypto';
import { tracedApart } from '../kernel/trace.ts';
import type { Base } from '../storage/storage.ts';
import { logTrouble, releaseLeases } from '../tasks/tasks.ts';
import { isDelivered, type SendDelivery } from './delivery-sender.ts';
import { type Attempt, describeUrl, type Endpoint, GIVE_UP_MS, planRetry } from './webhook-endpoint.ts';
import {
  type ClaimedLane,
  claimLane,
  closeLane,
  type Delivery,
  findEndpoint,
  findNextDelivery,
  type Lane,
  type LaneState,
  listDueLanes,
  noteFailing,
  saveAttempt,
  saveLane,
  stopDeliveries,
  switchOff,
} from './webhook-store.ts';

/** The number of lanes that a process sends at a time. The limit of an endpoint leaves room for other endpoints. */
const LANES = 32;
const LANES_OF_ENDPOINT = 4;
/** How many deliveries of a lane are sent before the process continues with other lanes. */
const AT_ONCE = 50;
/** The status with which a receiver unsubscribes. Source: Standard Webhooks 1.0. */
const GONE = 410;

type Outcome = Readonly<{
  lane: ClaimedLane;
  delivery: Delivery;
  endpoint: Endpoint;
  attempt: Attempt;
}>;

interface LaneParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  readonly send: SendDelivery;
  /** Is called after a lane was sent, because others may now be due. */
  readonly onSent: () => void;
}

/** Sends the deliveries of a claimed lane one after another with one write each, and several lanes at a time. */
export class LaneSender {
  private readonly parts: LaneParts;
  private readonly owner = randomBytes(8).toString('hex');
  private readonly running = new Map<
    string,
    { readonly endpointId: number; readonly ended: Promise<void> }
  >();

  constructor(parts: LaneParts) {
    this.parts = parts;
  }

  /** Claims due lanes up to the limits of this process, and begins to send them. */
  async claimDue(signal: AbortSignal): Promise<void> {
    const { clock, database } = this.parts;
    if (this.running.size >= LANES) return;
    const now = clock.now();
    // Reads before it writes, because usually no lane is due and a write would wait for the disk.
    for (const lane of await listDueLanes(database, { now, perEndpoint: LANES_OF_ENDPOINT })) {
      if (signal.aborted || !this.hasRoom(lane)) continue;
      this.begin(await claimLane(database, lane, { owner: this.owner, now }), signal);
    }
  }

  /** Waits for attempts in progress. If their outcome cannot be stored, another process repeats them. */
  async close(): Promise<void> {
    const { database, logger } = this.parts;
    await Promise.all([...this.running.values()].map(({ ended }) => ended));
    // The process must be able to end while the database is unreachable.
    await releaseLeases(database, 'webhook_queue', this.owner).catch((error: unknown) =>
      logger.warn({ err: error }, 'releasing the leases of webhook lanes failed; they expire by themselves'),
    );
  }

  private hasRoom({ endpointId }: Lane): boolean {
    const ofEndpoint = [...this.running.values()].filter((lane) => lane.endpointId === endpointId);
    return this.running.size < LANES && ofEndpoint.length < LANES_OF_ENDPOINT;
  }

  private begin(lane: ClaimedLane | undefined, signal: AbortSignal): void {
    // Another process claimed it first.
    if (lane === undefined) return;
    const key = `${lane.endpointId} ${lane.lane}`;
    // This process still sends the lane: it was suspended until the lease expired.
    if (this.running.has(key)) return;
    const ended = this.sendLane(lane, signal)
      // An error of one lane must not end the loop. Its deliveries are stored with their next attempt.
      .catch((err: unknown) =>
        logTrouble(this.parts.logger, 'sending a lane of webhooks failed; it is retried', {
          err,
          endpoint: lane.endpointId,
        }),
      )
      .finally(() => {
        this.running.delete(key);
        this.parts.onSent();
      });
    this.running.set(key, { endpointId: lane.endpointId, ended });
  }

  /** Sends the deliveries of a claimed lane in order, until one fails, none is left or the signal aborts. */
  private async sendLane(claimed: ClaimedLane, signal: AbortSignal): Promise<void> {
    const { clock, database } = this.parts;
    let lane = claimed;
    for (let count = 0; count < AT_ONCE && !signal.aborted; count += 1) {
      if (!(await this.sendNext(lane))) return;
      lane = { ...lane, tries: 0 };
    }
    const released = { ...lane, dueAt: clock.now(), isHeld: false, owner: this.owner };
    await database.write('rows', (tx) => saveLane(database, tx, released));
  }

  /** @returns whether this process continues with the lane */
  private async sendNext(lane: ClaimedLane): Promise<boolean> {
    const { clock, database, send } = this.parts;
    const delivery = await findNextDelivery(database.read, lane);
    if (delivery === undefined) return !(await closeLane(database, { ...lane, owner: this.owner }));
    const endpoint = await findEndpoint(database.read, lane.endpointId);
    if (endpoint === undefined) return false;
    if (!endpoint.isEnabled && lane.lane !== 0) {
      // The endpoint was switched off in the meantime.
      await database.write('rows', (tx) => stopDeliveries(tx, endpoint.id, clock.now()));
      return false;
    }
    const attributes = { 'relata.webhook.endpoint': endpoint.id, 'relata.webhook.tries': lane.tries };
    const attempt = await tracedApart(undefined, { name: 'deliver webhook', attributes }, async (note) => {
      const sentAttempt = await send(endpoint, delivery.message, clock.now());
      note({
        'http.response.status_code': sentAttempt.status,
        'relata.webhook.delivered': isDelivered(sentAttempt),
      });
      return sentAttempt;
    });
    return this.saveOutcome({ lane, delivery, endpoint, attempt });
  }

  /** @returns whether this process continues with the lane */
  private async saveOutcome(outcome: Outcome): Promise<boolean> {
    const { clock, database, logger } = this.parts;
    const { lane, delivery, endpoint, attempt } = outcome;
    const now = clock.now();
    const next = planNext(outcome, now);
    const off = whyOff(outcome, now);
    const failingSince = isDelivered(attempt) ? null : attempt.at;
    const isSaved = await database.write('rows', async (tx) => {
      // If another process has claimed the lane, it sends the delivery again and stores its own outcome.
      if (!(await saveLane(database, tx, { ...lane, ...next, owner: this.owner }))) return false;
      await saveAttempt(tx, delivery, { attempt, status: next.status });
      if (lane.lane !== 0) await noteFailing(tx, endpoint.id, failingSince);
      if (off !== undefined) await switchOff(tx, endpoint.id, { at: now, reason: off });
      return true;
    });
    if (off !== undefined) {
      const facts = { endpoint: endpoint.id, url: describeUrl(endpoint.url), reason: off };
      logger.warn(
        facts,
        'a webhook endpoint was switched off; it receives events again when it is switched on',
      );
    }
    return isSaved && next.isHeld && off === undefined;
  }
}

function planNext({ lane, delivery, attempt }: Outcome, now: number): LaneState & Pick<Delivery, 'status'> {
  const goesOn = { tries: 0, dueAt: now, isHeld: true };
  if (isDelivered(attempt)) return { ...goesOn, status: 'delivered' };
  // A replay or test is not retried, because the caller that requested it sees the outcome.
  if (lane.lane === 0) return { ...goesOn, status: 'failed' };
  const dueAt = planRetry(now, lane.tries + 1, delivery.firstAttemptAt ?? attempt.at);
  if (dueAt === undefined) return { ...goesOn, status: 'failed' };
  return { tries: lane.tries + 1, dueAt, isHeld: false, status: 'pending' };
}

/** @returns the reason to switch an endpoint off; undefined if it stays on */
function whyOff({ lane, endpoint, attempt }: Outcome, now: number): string | undefined {
  if (lane.lane === 0) return undefined;
  if (attempt.status === GONE) return 'it answered 410 Gone';
  if (isDelivered(attempt) || endpoint.failingSince === null) return undefined;
  return now - endpoint.failingSince >= GIVE_UP_MS ? 'every attempt failed for 3 days' : undefined;
}
