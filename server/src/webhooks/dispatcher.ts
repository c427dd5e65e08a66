import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedEvent } from '../events/events.ts';
import {
  dropServiceEvents,
  listListening,
  listProjectsWithEvents,
  listServiceEvents,
} from '../events/events.ts';
import { tracedApart } from '../kernel/trace.ts';
import type { Base, ControlTransaction } from '../storage/storage.ts';
import { logTrouble, Poll, releaseLeases } from '../tasks/tasks.ts';
import { isDelivered, type SendDelivery } from './delivery-sender.ts';
import { type Attempt, describeUrl, type Endpoint, GIVE_UP_MS, planRetry, writeBody } from './endpoint.ts';
import {
  type ClaimedLane,
  claimLane,
  closeLane,
  countPending,
  type Delivery,
  findEndpoint,
  findNextDelivery,
  findTaskIds,
  hasEndpoints,
  insertDeliveries,
  insertMessages,
  type Lane,
  type LaneState,
  listDueLanes,
  listListenedProjects,
  type NewDelivery,
  noteFailing,
  saveAttempt,
  saveLane,
  stopDeliveries,
  switchOff,
} from './webhook-store.ts';

export interface DispatcherParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  readonly catalogs: CatalogEvents;
  readonly send: SendDelivery;
}

/** How soon a due retry is sent, and an event that another process recorded. */
const POLL_MS = 500;
/** Events within this time are handled in one round. */
const GATHER_MS = 20;
/** Limits of a process; a slow endpoint leaves room for others. */
const LANES = 32;
const LANES_OF_ENDPOINT = 4;
const PROJECTS = 100;
/** Deliveries of a lane in a row; then other lanes get their turn. */
const AT_ONCE = 50;
/** The receiver wants no more requests. Source: Standard Webhooks 1.0. */
const GONE = 410;

type Outcome = Readonly<{
  lane: ClaimedLane;
  delivery: Delivery;
  endpoint: Endpoint;
  attempt: Attempt;
}>;

/**
 * Sends recorded events until it is closed; every process that runs tasks has one. Deliveries are polled and
 * leased like tasks, but a lease is for a lane, whose deliveries are sent one after another with one write each.
 */
export function createDispatcher({ catalogs, clock, database, logger, send }: DispatcherParts) {
  const owner = randomBytes(8).toString('hex');
  /** Projects whose catalogs were written; on a shared database, a query finds their events. */
  const woken = new Set<number>();
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
      // A catalog that cannot be read must not delay the others.
      await passOn(id, signal).catch((error: unknown) => void failures.set(id, error));
    }
    // Throws while the database is unreachable, which is then logged instead of a failure for each project.
    await claim(signal);
    for (const id of projects) noteProject(id, failures);
  }

  function noteProject(projectId: number, failures: ReadonlyMap<number, unknown>): void {
    if (!failures.has(projectId)) return void failing.delete(projectId);
    if (failing.has(projectId)) return;
    failing.add(projectId);
    logTrouble(logger, 'events of a project cannot be passed on, it is tried again', {
      projectId,
      err: failures.get(projectId),
    });
  }

  async function passOn(projectId: number, signal: AbortSignal): Promise<void> {
    // Before reading, so that events recorded meanwhile wake it again.
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
    // Usually there is nothing due, and a write would wait for the disk.
    for (const lane of await listDueLanes(database, { now, perEndpoint: LANES_OF_ENDPOINT })) {
      if (signal.aborted || !hasRoom(lane)) continue;
      begin(await claimLane(database, lane, { owner, now }), signal);
    }
  }

  function hasRoom({ endpointId }: Lane): boolean {
    const ofEndpoint = [...running.values()].filter((lane) => lane.endpointId === endpointId);
    return running.size < LANES && ofEndpoint.length < LANES_OF_ENDPOINT;
  }

  function begin(lane: ClaimedLane | undefined, signal: AbortSignal): void {
    // Another process claimed it first.
    if (lane === undefined) return;
    const key = `${lane.endpointId} ${lane.lane}`;
    // This process was suspended and is still sending it.
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
  async function sendLane(claimed: ClaimedLane, signal: AbortSignal): Promise<void> {
    let lane = claimed;
    for (let sent = 0; sent < AT_ONCE && !signal.aborted; sent += 1) {
      if (!(await sendNext(lane))) return;
      lane = { ...lane, tries: 0 };
    }
    const released = { ...lane, dueAt: clock.now(), isHeld: false, owner };
    await database.write('rows', (tx) => saveLane(database, tx, released));
  }

  /** @returns whether this process continues with the lane */
  async function sendNext(lane: ClaimedLane): Promise<boolean> {
    const delivery = await findNextDelivery(database.read, lane);
    if (delivery === undefined) return !(await closeLane(database, { ...lane, owner }));
    const endpoint = await findEndpoint(database.read, lane.endpointId);
    if (endpoint === undefined) return false;
    if (!endpoint.isEnabled && lane.lane !== 0) {
      // It was switched off in the meantime.
      await database.write('rows', (tx) => stopDeliveries(tx, endpoint.id, clock.now()));
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

  /** @returns whether this process continues with the lane */
  async function saveOutcome(outcome: Outcome): Promise<boolean> {
    const { lane, delivery, endpoint, attempt } = outcome;
    const now = clock.now();
    const next = planNext(outcome, now);
    const off = whyOff(outcome, now);
    const failingSince = isDelivered(attempt) ? null : attempt.at;
    const isSaved = await database.write('rows', async (tx) => {
      // Another process may have the lane by now, and has sent the delivery too.
      if (!(await saveLane(database, tx, { ...lane, ...next, owner }))) return false;
      await saveAttempt(tx, delivery, { attempt, status: next.status });
      if (lane.lane !== 0) await noteFailing(tx, endpoint.id, failingSince);
      if (off !== undefined) await switchOff(tx, endpoint.id, { at: now, reason: off });
      return true;
    });
    if (off !== undefined) {
      const facts = { endpoint: endpoint.id, url: describeUrl(endpoint.url) };
      logger.warn(facts, `a webhook endpoint is switched off: ${off}`);
    }
    return isSaved && next.isHeld && off === undefined;
  }

  return {
    /** Resumes what a former process left, and starts sending. */
    async start(): Promise<void> {
      if (!database.isShared) {
        // The lock of the data folder shows that the process that held these is gone.
        await releaseLeases(database, 'webhook_queue');
        for (const id of await listListenedProjects(database.read)) woken.add(id);
      }
      poll.start();
    },
    /** There may be something to send; with a project, also in its catalog. */
    wake,
    /** Waits for attempts in progress: their outcome is stored, or another process repeats them. */
    async close(): Promise<void> {
      await poll.close();
      await Promise.all([...running.values()].map(({ ended }) => ended));
      // The process must be able to end while the database is unreachable.
      await releaseLeases(database, 'webhook_queue', owner).catch((error: unknown) =>
        logger.warn({ err: error }, 'lanes of webhooks could not be given up, their leases run out'),
      );
    },
  };
}

function planNext({ lane, delivery, attempt }: Outcome, now: number): LaneState & Pick<Delivery, 'status'> {
  const goesOn = { tries: 0, dueAt: now, isHeld: true };
  if (isDelivered(attempt)) return { ...goesOn, status: 'delivered' };
  // The caller who requested the replay or test sees the outcome.
  if (lane.lane === 0) return { ...goesOn, status: 'failed' };
  const dueAt = planRetry(now, lane.tries + 1, delivery.firstAttemptAt ?? attempt.at);
  if (dueAt === undefined) return { ...goesOn, status: 'failed' };
  return { tries: lane.tries + 1, dueAt, isHeld: false, status: 'pending' };
}

/** @returns the reason to switch an endpoint off, if there is one */
function whyOff({ lane, endpoint, attempt }: Outcome, now: number): string | undefined {
  if (lane.lane === 0) return undefined;
  if (attempt.status === GONE) return 'it answered 410 Gone';
  if (isDelivered(attempt) || endpoint.failingSince === null) return undefined;
  return now - endpoint.failingSince >= GIVE_UP_MS ? 'every attempt failed for 3 days' : undefined;
}

export interface CatalogEvents {
  listEvents(projectId: number, limit: number): Promise<readonly RecordedEvent[]>;
  dropEvents(projectId: number, ids: readonly string[]): Promise<void>;
}

/** Events per step; each may have 64 KiB. */
const STEP = 100;
/** The limit of an endpoint that cannot keep up, which is then switched off. Source: docs/interface §6.3. */
const PENDING_DELIVERIES = 20_000;

/**
 * Creates the deliveries of a project's oldest events. Those of the catalog are removed only after that:
 * should the process die in between, they are read again and recognised by their ids.
 * @returns whether there may be more
 */
async function fanOut(
  { database, catalogs }: Pick<DispatcherParts, 'database' | 'catalogs'>,
  projectId: number,
  now: number,
): Promise<boolean> {
  const isEmpty =
    (await listServiceEvents(database.read, projectId, 1)).length === 0 &&
    (await catalogs.listEvents(projectId, 1)).length === 0;
  if (isEmpty) return false;
  const { ofCatalog, isMore } = await database.write(projectId, async (tx) => {
    // These first: earlier events of the catalog are stored by now, and are sent before them.
    const ofService = await listServiceEvents(tx, projectId, STEP);
    const ofCatalog = await catalogs.listEvents(projectId, STEP);
    const events = merge(ofCatalog, ofService);
    await addDeliveries(tx, { projectId, events, now });
    const done = new Set(events);
    const service = ofService.filter((event) => done.has(event)).map(({ number }) => number);
    await dropServiceEvents(tx, projectId, service);
    const isMore = ofService.length === STEP || ofCatalog.length === STEP;
    return { ofCatalog: ofCatalog.filter((event) => done.has(event)).map(({ id }) => id), isMore };
  });
  if (ofCatalog.length > 0) await catalogs.dropEvents(projectId, ofCatalog);
  return isMore;
}

/** @returns events in the order in which they happened; if a list is cut, only those before its end */
function merge(ofCatalog: readonly RecordedEvent[], ofService: readonly RecordedEvent[]): RecordedEvent[] {
  const reached = [ofCatalog, ofService].map((list) =>
    list.length < STEP ? Number.POSITIVE_INFINITY : (list.at(-1)?.at ?? 0),
  );
  const until = Math.min(...reached);
  // The sort is stable, so a change comes before the end of its task.
  return [...ofCatalog, ...ofService].filter(({ at }) => at <= until).sort((one, other) => one.at - other.at);
}

async function addDeliveries(
  tx: ControlTransaction,
  { projectId, events, now }: { projectId: number; events: readonly RecordedEvent[]; now: number },
): Promise<void> {
  const endpoints = await listListening(tx, projectId);
  const heard = events.filter(({ type }) => endpoints.some(({ types }) => types.has(type)));
  if (heard.length === 0) return;
  const added = await insertMessages(tx, await describeMessages(tx, projectId, heard));
  const numbers = new Map(added.map(({ id, number }) => [id, number]));
  const deliveries = heard.flatMap(({ id, type }): NewDelivery[] => {
    const message = numbers.get(id);
    if (message === undefined) return [];
    const listening = endpoints.filter(({ types }) => types.has(type));
    return listening.map(({ id: endpointId }) => ({ endpointId, lane: projectId, message, kind: 'event' }));
  });
  if (deliveries.length === 0) return;
  await insertDeliveries(tx, deliveries, now);
  const reason = `more than ${PENDING_DELIVERIES} deliveries were waiting`;
  for (const id of new Set(deliveries.map(({ endpointId }) => endpointId)))
    if ((await countPending(tx, id, PENDING_DELIVERIES + 1)) > PENDING_DELIVERIES)
      await switchOff(tx, id, { at: now, reason });
}

async function describeMessages(tx: ControlTransaction, projectId: number, events: readonly RecordedEvent[]) {
  const read = events.map(({ id, type, at, data }) => {
    const { taskNumber, ...rest } = JSON.parse(data) as { taskNumber?: number };
    return { id, type, at, taskNumber, rest };
  });
  const numbers = new Set(read.flatMap(({ taskNumber }) => taskNumber ?? []));
  const taskIds = await findTaskIds(tx, projectId, [...numbers]);
  return read.map(({ id, type, at, taskNumber, rest }) => {
    const taskId = taskNumber === undefined ? undefined : taskIds.get(taskNumber);
    const data = { projectId, ...(taskId !== undefined && { taskId }), ...rest };
    return { id, projectId, type, at, body: writeBody(type, at, data) };
  });
}
