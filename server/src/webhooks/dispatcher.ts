import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { listProjectsWithEvents } from '../events/events.ts';
import { tracedApart } from '../kernel/trace.ts';
import type { Base } from '../storage/storage.ts';
import { logTrouble, Poll } from '../tasks/tasks.ts';
import { isDelivered, type SendDelivery } from './delivery-sender.ts';
import * as deliveryStore from './delivery-store.ts';
import {
  type Attempt,
  type Delivery,
  describeUrl,
  type Endpoint,
  GIVE_UP_MS,
  planRetry,
} from './endpoint.ts';
import { findEndpoint, hasEndpoints, listListenedProjects, noteFailing } from './endpoint-store.ts';
import { type CatalogEvents, fanOut } from './fan-out.ts';

export interface DispatcherParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  readonly catalogs: CatalogEvents;
  readonly send: SendDelivery;
}

/** How soon a retry that is due goes out, and an event that another process recorded. */
const POLL_MS = 500;
/** What happens within it is one round. */
const GATHER_MS = 20;
/** Of a process; one endpoint that is slow leaves room for others. */
const LANES = 32;
const LANES_OF_ENDPOINT = 4;
const PROJECTS = 100;
/** Deliveries of a lane one after another; then others get their turn. */
const AT_ONCE = 50;
/** The receiver requests nothing more. Source: Standard Webhooks 1.0. */
const GONE = 410;

interface Outcome {
  readonly lane: deliveryStore.ClaimedLane;
  readonly delivery: Delivery;
  readonly endpoint: Endpoint;
  readonly attempt: Attempt;
}

/**
 * Sends what was recorded, until it is closed; every process that runs tasks has one. Deliveries use what tasks use to
 * poll and to lease, but a lease is of a lane: its deliveries go out one after another for one write each.
 */
export function createDispatcher({ catalogs, clock, database, logger, send }: DispatcherParts) {
  const owner = randomBytes(8).toString('hex');
  /** Projects whose catalogs were written; on a shared database their events are found by a query. */
  const woken = new Set<number>();
  /** Projects whose failure is logged. */
  const failing = new Set<number>();
  const running = new Map<string, { readonly endpointId: number; readonly ended: Promise<void> }>();
  const poll = new Poll({ logger, subject: 'webhooks', restMs: POLL_MS, round });

  function wake(projectId?: number): void {
    if (projectId !== undefined && !database.isShared) woken.add(projectId);
    poll.wake();
  }

  async function round(signal: AbortSignal): Promise<void> {
    await delay(GATHER_MS, undefined, { ref: false });
    if (!(await hasEndpoints(database.read))) return woken.clear();
    const projects = new Set([...woken, ...(await listProjectsWithEvents(database, PROJECTS))]);
    const failures = new Map<number, unknown>();
    for (const id of projects) {
      if (signal.aborted) return;
      // One that cannot be read must not delay the others.
      await passOn(id, signal).catch((error: unknown) => void failures.set(id, error));
    }
    // Throws while the database is away, which is the failure to log then, and not that of each project.
    await claim(signal);
    for (const id of projects) noteProject(id, failures);
  }

  function noteProject(projectId: number, failures: ReadonlyMap<number, unknown>): void {
    if (!failures.has(projectId)) return void failing.delete(projectId);
    if (failing.has(projectId)) return;
    failing.add(projectId);
    const facts = { projectId, err: failures.get(projectId) };
    logTrouble(logger, 'events of a project cannot be passed on, it is tried again', facts);
  }

  async function passOn(projectId: number, signal: AbortSignal): Promise<void> {
    // Before it is read: what comes meanwhile wakes again.
    woken.delete(projectId);
    try {
      if (await fanOut({ database, catalogs }, projectId, clock.now())) wake(projectId);
    } catch (error) {
      woken.add(projectId);
      throw error;
    }
    await claim(signal);
  }

  async function claim(signal: AbortSignal): Promise<void> {
    if (running.size >= LANES) return;
    const now = clock.now();
    // Mostly there is nothing, and a write would wait for the disk.
    for (const lane of await deliveryStore.listDueLanes(database, { now, perEndpoint: LANES_OF_ENDPOINT })) {
      if (signal.aborted || !hasRoom(lane)) continue;
      begin(await deliveryStore.claimLane(database, lane, { owner, now }), signal);
    }
  }

  function hasRoom({ endpointId }: deliveryStore.Lane): boolean {
    const ofEndpoint = [...running.values()].filter((lane) => lane.endpointId === endpointId);
    return running.size < LANES && ofEndpoint.length < LANES_OF_ENDPOINT;
  }

  function begin(lane: deliveryStore.ClaimedLane | undefined, signal: AbortSignal): void {
    // Another process claimed it first.
    if (lane === undefined) return;
    const key = `${lane.endpointId} ${lane.lane}`;
    // This process was suspended, and sends it still.
    if (running.has(key)) return;
    const ended = sendLane(lane, signal)
      // The deliveries of a lane are stored with their next attempt; one lane must not end the loop for all.
      .catch((err: unknown) =>
        logTrouble(logger, 'a webhook could not be delivered, it is tried again', { err }),
      )
      .finally(() => {
        running.delete(key);
        wake();
      });
    running.set(key, { endpointId: lane.endpointId, ended });
  }

  /** Sends the deliveries of a claimed lane in order, until one fails, none is left or the signal aborts. */
  async function sendLane(claimed: deliveryStore.ClaimedLane, signal: AbortSignal): Promise<void> {
    let lane = claimed;
    for (let sent = 0; sent < AT_ONCE && !signal.aborted; sent += 1) {
      if (!(await sendNext(lane))) return;
      lane = { ...lane, tries: 0 };
    }
    const released = { ...lane, dueAt: clock.now(), isHeld: false, owner };
    await database.write('rows', (tx) => deliveryStore.saveLane(database, tx, released));
  }

  /** @returns whether this process goes on with the lane */
  async function sendNext(lane: deliveryStore.ClaimedLane): Promise<boolean> {
    const delivery = await deliveryStore.findNext(database.read, lane);
    if (delivery === undefined) return !(await deliveryStore.closeLane(database, { ...lane, owner }));
    const endpoint = await findEndpoint(database.read, lane.endpointId);
    if (endpoint === undefined) return false;
    if (!endpoint.isEnabled && lane.lane !== 0) {
      // It was switched off since.
      await database.write('rows', (tx) => deliveryStore.stopDeliveries(tx, endpoint.id, clock.now()));
      return false;
    }
    const attributes = { 'relata.webhook.endpoint': endpoint.id, 'relata.webhook.tries': lane.tries };
    const attempt = await tracedApart(undefined, { name: 'deliver webhook', attributes }, async (note) => {
      const sent = await send(endpoint, delivery.message, clock.now());
      note({ 'http.response.status_code': sent.status, 'relata.webhook.delivered': isDelivered(sent) });
      return sent;
    });
    return saveOutcome({ lane, delivery, endpoint, attempt });
  }

  /** @returns whether this process goes on with the lane */
  async function saveOutcome(outcome: Outcome): Promise<boolean> {
    const { lane, delivery, endpoint, attempt } = outcome;
    const now = clock.now();
    const next = planNext(outcome, now);
    const off = whyOff(outcome, now);
    const failingSince = isDelivered(attempt) ? null : attempt.at;
    const isSaved = await database.write('rows', async (tx) => {
      // Another process may have it by now, and has sent the delivery too.
      if (!(await deliveryStore.saveLane(database, tx, { ...lane, ...next, owner }))) return false;
      await deliveryStore.saveAttempt(tx, delivery, { attempt, status: next.status });
      if (lane.lane !== 0) await noteFailing(tx, endpoint.id, failingSince);
      if (off !== undefined) await deliveryStore.switchOff(tx, endpoint.id, { at: now, reason: off });
      return true;
    });
    if (off !== undefined)
      logger.warn(
        { endpoint: endpoint.id, url: describeUrl(endpoint.url) },
        `a webhook endpoint is switched off: ${off}`,
      );
    return isSaved && next.isHeld && off === undefined;
  }

  return {
    /** Takes over what a former process left, and begins to send. */
    async start(): Promise<void> {
      if (!database.isShared) {
        // The lock of the data folder shows that the process that held these is dead.
        await deliveryStore.releaseLanes(database);
        for (const id of await listListenedProjects(database.read)) woken.add(id);
      }
      poll.start();
    },
    /** There may be something to send; with a project, also in its catalog. */
    wake,
    /** Waits for attempts under way: their outcome is stored, or another process repeats them. */
    async close(): Promise<void> {
      await poll.close();
      await Promise.all([...running.values()].map(({ ended }) => ended));
      // The process must end while the database is away, too.
      await deliveryStore
        .releaseLanes(database, owner)
        .catch((error: unknown) =>
          logger.warn({ err: error }, 'lanes of webhooks could not be given up, their leases run out'),
        );
    },
  };
}

/** What becomes of the delivery and its lane. */
function planNext(
  { lane, delivery, attempt }: Outcome,
  now: number,
): deliveryStore.LaneState & Pick<Delivery, 'status'> {
  const goesOn = { tries: 0, dueAt: now, isHeld: true };
  if (isDelivered(attempt)) return { ...goesOn, status: 'delivered' };
  // The caller who requested a replay or a test sees what came of it.
  if (lane.lane === 0) return { ...goesOn, status: 'failed' };
  const dueAt = planRetry(now, lane.tries + 1, delivery.firstAttemptAt ?? attempt.at);
  if (dueAt === undefined) return { ...goesOn, status: 'failed' };
  return { tries: lane.tries + 1, dueAt, isHeld: false, status: 'pending' };
}

/** @returns why an endpoint is to be switched off; undefined: it is not */
function whyOff({ lane, endpoint, attempt }: Outcome, now: number): string | undefined {
  if (lane.lane === 0) return undefined;
  if (attempt.status === GONE) return 'it answered 410 Gone';
  if (isDelivered(attempt) || endpoint.failingSince === null) return undefined;
  return now - endpoint.failingSince >= GIVE_UP_MS ? 'every attempt failed for 3 days' : undefined;
}
