import { randomBytes } from 'node:crypto';
import type { Logger } from '../kernel/logger.ts';
import type { Base, Database } from '../storage/storage.ts';
import { BACK_OFF_MS, logTrouble, Poll, pause } from './poll.ts';
import { type Lane, laneKey, type Task } from './task.ts';
import * as leaseStore from './task-lease-store.ts';

const RENEW_MS = 3_000;
/** How soon a process finds what others accepted or lost, and that a run of its own is to be cancelled or taken over. */
const POLL_MS = 500;
const SLOWEST_POLL_MS = 3_000;
/** A poll reads all open tasks, 20 ms for 20,000 of them: it may keep the database busy for a twentieth of the time. */
const REST = 20;
/** Per process; further tasks wait. Most of a run is waiting for the store. */
const RUNS_AT_ONCE = 64;
/**
 * Where several processes work, each takes only so many more between two polls, so that one that runs fewer gets what
 * comes.
 */
const SHARE = 8;

/** What becomes of a task that this process holds. */
interface LeaseEvents {
  /** Another process has it by now. */
  onLost(): void;
  onCancelRequested(): void;
}

interface Lease extends LeaseEvents {
  readonly task: Task;
  /** By the clock of this process alone. */
  renewedAt: number;
}

export type TaskLeases = ReturnType<typeof createTaskLeases>;

/** The tasks that this process holds, whether it runs them or keeps them from running, and that it is still there. */
export function createTaskLeases({ database, logger }: { database: Database; logger: Logger }) {
  const owner = randomBytes(8).toString('hex');
  const leases = new Map<number, Lease>();
  const parts = { logger, subject: 'leases of tasks' };
  const polls = [new Poll({ ...parts, restMs: RENEW_MS, round: () => renew([...leases.values()]) })];
  // In an embedded store no other process uses the tasks.
  if (database.isShared) polls.push(new Poll({ ...parts, restMs: POLL_MS, round: check }));

  async function renew(held: readonly Lease[]): Promise<void> {
    if (held.length === 0) return;
    const begunAt = performance.now();
    const tasks = held.map(({ task }) => task);
    const renewed = await leaseStore.renewLeases(database, owner, tasks);
    for (const lease of held) {
      if (renewed.has(lease.task.number)) lease.renewedAt = begunAt;
      else lose(lease);
    }
  }

  async function check(): Promise<void> {
    const held = [...leases.values()];
    const tasks = held.map(({ task }) => task);
    const claims = new Map(
      (await leaseStore.findClaims(database, tasks)).map((claim) => [claim.number, claim]),
    );
    for (const lease of held) {
      const claim = claims.get(lease.task.number);
      if (claim !== undefined && claim.owner !== owner) lose(lease);
      else if (claim?.cancel === 'requested') lease.onCancelRequested();
    }
  }

  /** Unless it was given up meanwhile. */
  function lose(lease: Lease): void {
    if (leases.get(lease.task.number) === lease) lease.onLost();
  }

  return {
    owner,
    start(): void {
      for (const poll of polls) poll.start();
    },
    async close(): Promise<void> {
      await Promise.all(polls.map((poll) => poll.close()));
    },
    /** Renews a task's lease from now on. `since`: when it was leased or before. */
    add(task: Task, events: LeaseEvents, since = performance.now()): void {
      leases.set(task.number, { task, ...events, renewedAt: since });
    },
    has: ({ number }: Task) => leases.has(number),
    drop: ({ number }: Task) => void leases.delete(number),
    /**
     * Makes sure of a lease before a task takes effect: a process that stood still may have lost it and not know. One that
     * is lost is handed back.
     * @throws not_ready, storage_full
     */
    async confirm({ number }: Task): Promise<void> {
      const lease = leases.get(number);
      if (lease === undefined || !database.isShared) return;
      if (performance.now() - lease.renewedAt > leaseStore.LEASE_MS / 2) await renew([lease]);
    },
  };
}

interface ClaimParts extends Pick<Base, 'database' | 'logger'> {
  readonly owner: string;
  /** What can be run here. */
  listKinds(): readonly leaseStore.RunnableKind[];
  countRuns(): number;
  /** `since`: an instant before the claim, by the clock of this process. */
  begin(task: Task, since: number): void;
}

export type TaskClaims = ReturnType<typeof createTaskClaims>;

/**
 * Takes tasks out of the database to run them here. It is woken for a lane when a task was accepted or ended in it, in
 * this process; where other processes work too, it also polls.
 */
export function createTaskClaims({ database, logger, owner, listKinds, countRuns, begin }: ClaimParts) {
  const stopped = new AbortController();
  /** Lanes that may have a task to run, by their keys; first come, first served. */
  const waitingLanes = new Map<string, Lane>();
  // In an embedded store no other process accepts tasks or loses them.
  const restMs = database.isShared ? restAfter : Number.POSITIVE_INFINITY;
  const poll = new Poll({ logger, subject: 'tasks', restMs, round: findLanes });
  let isStarted = false;
  let mayRun = RUNS_AT_ONCE;
  let isClaiming = false;
  let claiming: Promise<void> = Promise.resolve();

  function addLane(lane: Lane): void {
    waitingLanes.set(laneKey(lane), lane);
    if (!isClaiming) claiming = claimLanes();
  }

  async function claimLanes(): Promise<void> {
    isClaiming = true;
    for (const [key, lane] of waitingLanes) {
      if (stopped.signal.aborted || !hasRoom()) break;
      waitingLanes.delete(key);
      try {
        await claim(lane);
      } catch (err) {
        // Waiting tasks are stored: without a database they wait, and a fault must not end the claiming of all others.
        logTrouble(logger, 'tasks could not be claimed, it is tried again', { err });
        await pause(BACK_OFF_MS, stopped.signal);
        waitingLanes.set(key, lane);
      }
    }
    isClaiming = false;
  }

  /** Waiting tasks are claimed when a run ends; with polling, the first process to poll claims them. */
  function hasRoom(): boolean {
    const isFree = countRuns() < mayRun;
    if (!isFree && database.isShared) waitingLanes.clear();
    return isFree;
  }

  async function claim(lane: Lane): Promise<void> {
    const since = performance.now();
    const task = await leaseStore.claimNext(database, { owner, kinds: listKinds(), lane });
    if (task !== undefined) begin(task, since);
  }

  async function findLanes(): Promise<void> {
    if (database.isShared) mayRun = Math.min(RUNS_AT_ONCE, countRuns() + SHARE);
    const limit = database.isShared ? mayRun - countRuns() : Number.MAX_SAFE_INTEGER;
    if (limit === 0) return;
    for (const lane of await leaseStore.listClaimable(database, { kinds: listKinds(), limit })) addLane(lane);
  }

  return {
    start(): void {
      isStarted = true;
      poll.start();
    },
    /** No task begins here any more once it is done. */
    async close(): Promise<void> {
      stopped.abort();
      await Promise.all([claiming, poll.close()]);
    },
    /** Claims what can run now in a lane, or, without one, in all. */
    wake(lane?: Lane): void {
      if (!isStarted || stopped.signal.aborted) return;
      if (lane !== undefined) addLane(lane);
      // Otherwise it is polled.
      else if (!database.isShared) poll.wake();
    },
    /** Resolves when the tasks being claimed have begun. */
    settle: () => claiming,
  };
}

function restAfter(tookMs: number): number {
  // Processes that were started together do not poll together.
  const jitter = 0.75 + Math.random() / 2;
  return Math.max(POLL_MS, Math.min(SLOWEST_POLL_MS, tookMs * REST)) * jitter;
}
