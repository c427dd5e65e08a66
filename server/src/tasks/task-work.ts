import { type EventDraft, recordEvents } from '../events/events.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import { BACK_OFF_MS, isTransient, logTrouble, Poll, pause } from './poll.ts';
import { type Lane, laneKey, type Task, type TaskDefinition, toWireTask } from './task.ts';
import {
  addLogLine,
  claimNext,
  endClaimed,
  listClaimable,
  type RunnableKind,
  releaseLease,
  releaseLeases,
  saveCancelState,
} from './task-lease-store.ts';
import { createTaskLeases, POLL_MS } from './task-leases.ts';
import { type ActiveRun, type EndedRun, PAUSE_MS, startRun, type TaskParts } from './task-runner.ts';
import { findTask, removeHeld, saveReport } from './task-store.ts';
import type { TaskWatch } from './task-watch.ts';

const SLOWEST_POLL_MS = 3_000;
/** A poll reads all open tasks, 20 ms for 20,000 of them; it may use a twentieth of the database's time. */
const REST = 20;
/** The limit for a process; further tasks wait. Most of a run is waiting for the store. */
const RUNS_AT_ONCE = 64;
/** Of several processes, each takes at most this many more between two polls, so that those that run fewer get new tasks. */
const SHARE = 8;

export type TaskWork = ReturnType<typeof createTaskWork>;

/**
 * Claims tasks from the database and runs them, one of a lane at a time, until each has ended or another process has it. It
 * is woken for a lane when a task was accepted or ended there by this process; where other processes work too, it also polls.
 */
export function createTaskWork(parts: TaskParts, watch: TaskWatch) {
  const { database, logger, clock } = parts;
  const leases = createTaskLeases({ database, logger });
  const { owner } = leases;
  const definitions = new Map<string, TaskDefinition<never>>();
  const runs = new Map<number, ActiveRun>();
  const concluding = new Set<Promise<void>>();
  const stopped = new AbortController();
  /** Lanes that may have a task to run, by their keys, in the order in which they were added. */
  const waitingLanes = new Map<string, Lane>();
  // In an embedded store no other process accepts or loses tasks.
  const restMs = database.isShared ? restAfter : Number.POSITIVE_INFINITY;
  const poll = new Poll({ logger, subject: 'tasks', restMs, round: findLanes });
  let isClaimingStarted = false;
  let mayRun = RUNS_AT_ONCE;
  let isListing = false;
  let isClaiming = false;
  let claiming: Promise<void> = Promise.resolve();

  /** Kinds that run by themselves, not with the task that carries them. */
  const listKinds = (): readonly string[] =>
    [...definitions.values()].filter(({ run }) => run !== undefined).map(({ kind }) => kind);

  /** The kinds of which this process may run one more task. */
  const listFreeKinds = (): readonly RunnableKind[] =>
    listKinds().flatMap((kind) => {
      const atOnce = definitions.get(kind)?.atOnce;
      if (atOnce === undefined) return { kind };
      const running = [...runs.values()].filter(({ task }) => task.kind === kind);
      const { inProcess, ...limits } = atOnce;
      const busyProjects = running.map(({ task }) => task.projectId);
      return running.length >= inProcess ? [] : { kind, limits: { ...limits, busyProjects } };
    });

  /** Claims what can run now in a lane, or, without one, in all lanes. */
  function wake(lane?: Lane): void {
    if (!isClaimingStarted || stopped.signal.aborted) return;
    if (lane !== undefined) addLane(lane);
    // Otherwise polling finds them.
    else if (!database.isShared) poll.wake();
  }

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
        // Waiting tasks are stored and can wait for the database; a fault must not stop the claiming of all others.
        logTrouble(logger, 'tasks could not be claimed, it is tried again', { err });
        await pause(BACK_OFF_MS, stopped.signal);
        waitingLanes.set(key, lane);
      }
    }
    isClaiming = false;
  }

  async function claim(lane: Lane): Promise<void> {
    const since = performance.now();
    const task = await claimNext(database, { owner, kinds: listFreeKinds(), lane });
    if (task !== undefined) begin(task, since);
  }

  /** Waiting tasks are claimed when a run ends; with polling, by the first process that polls. */
  function hasRoom(): boolean {
    const isFree = runs.size < mayRun;
    // Lanes added during a listing wait behind the listed ones.
    if (!isFree && database.isShared && !isListing) waitingLanes.clear();
    return isFree;
  }

  async function findLanes(): Promise<void> {
    const most = database.isShared ? Math.min(RUNS_AT_ONCE, runs.size + SHARE) : RUNS_AT_ONCE;
    const limit = database.isShared ? most - runs.size : Number.MAX_SAFE_INTEGER;
    if (limit === 0) return;
    isListing = true;
    const found = await listClaimable(database, { kinds: listFreeKinds(), limit }).finally(() => {
      isListing = false;
    });
    const later = [...waitingLanes.values()];
    waitingLanes.clear();
    // Only now, as tasks accepted during the listing would take the room from those that wait for it.
    mayRun = most;
    for (const lane of [...found, ...later]) addLane(lane);
  }

  /** @param since an instant before the claim, by the clock of this process */
  function begin(task: Task, since: number): void {
    // Claimed anew by this process, which was suspended: it already holds the task, and its run continues.
    if (leases.has(task) || stopped.signal.aborted) return;
    const definition = definitions.get(task.kind);
    if (definition?.run === undefined) return;
    const run = startRun(task, definition, { parts, watch, leases });
    runs.set(task.number, run);
    leases.add(task, { onLost: () => run.handBack(), onCancelRequested: () => cancelRun(run) }, since);
    const concluded = conclude(run).finally(() => concluding.delete(concluded));
    concluding.add(concluded);
  }

  async function conclude({ task, outcome }: ActiveRun): Promise<void> {
    const end = await outcome;
    const ended =
      end.status === 'handed-back'
        ? await giveBack(task)
        : await persist(
            () => storeEnd(task, end),
            // The task's effect is done, so its end is stored as soon as possible, however often that fails.
            (err) => logTrouble(logger, 'the end of a task could not be stored', { err, task: task.id }),
          );
    leases.drop(task);
    if (ended !== undefined) await afterEnd(ended);
    runs.delete(task.number);
    wake(task);
    // A task of another lane may have waited for this one.
    if (definitions.get(task.kind)?.atOnce !== undefined) wake();
  }

  /** Usually another process has the task; otherwise any may claim it at once. */
  async function giveBack(task: Task): Promise<undefined> {
    try {
      await releaseLease(database, owner, task);
    } catch (error) {
      // Others take the task over when the lease expires.
      logger.warn({ err: error, task: task.id }, 'a lease could not be given up, it runs out');
    }
  }

  /** Retries until it succeeds. @returns undefined when this process stops first */
  async function persist<Result>(work: () => Promise<Result>, note: (error: unknown) => void) {
    do {
      try {
        return await work();
      } catch (error) {
        note(error);
      }
      await pause(PAUSE_MS, stopped.signal);
    } while (!stopped.signal.aborted);
    return undefined;
  }

  /** @returns undefined when another process has the task by now */
  async function storeEnd(task: Task, end: EndedRun): Promise<Task | undefined> {
    const { status, failure, result } = end;
    if (status === 'FINISHED') await parts.shown?.();
    return database.write('rows', async (tx) => {
      if (failure) {
        const line = [`failed: ${failure.message}`, ...failure.details].join('; ');
        await addLogLine(tx, task, { owner, at: clock.now(), line });
      }
      const stored = { owner, status, failure, result, finishedAt: clock.now() };
      const ended = await endClaimed(tx, task, stored);
      if (ended === undefined) return undefined;
      await saveReport(tx, task, end);
      await recordEnds(tx, [ended]);
      return ended;
    });
  }

  function cancelRun(run: ActiveRun): void {
    if (run.cancel()) return;
    // The caller who cancels waits for a limited time, and is then told that the task continues.
    saveCancelState(database, run.task, { cancel: 'refused', owner }).catch((error: unknown) =>
      logger.warn({ err: error, task: run.task.id }, 'a cancel could not be answered'),
    );
  }

  /** Records the end events of a project's tasks, in the transaction that ends them. */
  async function recordEnds(tx: ControlTransaction, ended: readonly Task[]): Promise<void> {
    const [first] = ended;
    if (first === undefined) return;
    const drafts = ended.flatMap((task) => describeEnd(task, definitions.get(task.kind)));
    await recordEvents(tx, first.projectId, drafts);
  }

  /** Removes what a task leaves behind. */
  async function afterEnd(task: Task): Promise<void> {
    watch.changed(task.id);
    parts.onEnded?.(task);
    try {
      // Parsed as in a run: the kind knows its payload.
      await definitions.get(task.kind)?.ended?.(JSON.parse(task.payload) as never, task);
    } catch (error) {
      // The end of the task is stored; what should have been removed is removed at a later start.
      logger.error({ err: error, task: task.id }, 'cleaning up after a task failed');
    }
  }

  /** Releases or removes a held task, with retries: a lease would expire, but an embedded store does not check leases. */
  async function letGo(task: Task, work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error)) throw error;
      // The caller is told that the task continues; it is repeated until the store accepts it.
      void persist(work, (err) =>
        logger.warn({ err, task: task.id }, 'a held task could not be let go, it is tried again'),
      );
      return true;
    }
  }

  return {
    parts,
    watch,
    owner,
    wake,
    listKinds,
    /** Resolves when the tasks being claimed have begun. */
    settle: () => claiming,
    define(added: readonly TaskDefinition<never>[]): void {
      for (const definition of added) definitions.set(definition.kind, definition);
      wake();
    },
    listDefined: (): readonly string[] => [...definitions.keys()],
    isCarried({ kind }: Task): boolean {
      const definition = definitions.get(kind);
      return definition !== undefined && definition.run === undefined;
    },
    findRun: ({ number }: Task) => runs.get(number),

    async start(): Promise<void> {
      // The lock of the data folder shows that the process that held these is gone.
      if (!database.isShared) await releaseLeases(database, 'task');
      leases.start();
      if (parts.runs === false) return;
      isClaimingStarted = true;
      poll.start();
    },
    /** Hands running tasks back and waits until none is taking effect any more. */
    async close(): Promise<void> {
      stopped.abort();
      await Promise.all([claiming, poll.close()]);
      const active = [...runs.values()];
      for (const run of active) run.handBack();
      await Promise.all(active.map((run) => run.outcome));
      await Promise.all([...concluding]);
      await leases.close();
      // The process must be able to end while the database is unreachable.
      await releaseLeases(database, 'task', owner).catch((error: unknown) =>
        logger.warn({ err: error }, 'leases could not be given up, they run out'),
      );
    },

    /** Tasks behind one that runs here are claimed when it has ended. */
    accepted(task: Task): void {
      const key = laneKey(task);
      if (![...runs.values()].some((run) => laneKey(run.task) === key)) wake(task);
    },
    /** Keeps an accepted task from running until it is released or this process is gone. */
    hold(task: Task): void {
      leases.add(task, { onLost: () => leases.drop(task), onCancelRequested: () => {} });
    },
    /** Lets a held task run. @returns false when another process began it, because this one seemed to be gone */
    async release(task: Task): Promise<boolean> {
      leases.drop(task);
      const isReleased = await letGo(task, async () => {
        const isFree = await releaseLease(database, owner, task);
        wake(task);
        return isFree;
      });
      if (isReleased) return true;
      const present = await findTask(database, task.id);
      return present === undefined || present.status === 'CANCELLED';
    },
    /** Deletes a held task because the change that it belongs to was refused. */
    async withdraw(task: Task): Promise<void> {
      await letGo(task, async () => {
        await database.write('rows', (tx) => removeHeld(tx, owner, task));
        leases.drop(task);
        return true;
      });
    },

    /** Ends tasks of one project that others carry or no process runs, in one transaction. @returns the tasks it ended */
    async end(work: (tx: ControlTransaction) => Promise<Task[]>): Promise<readonly Task[]> {
      const ended = await database.write('rows', async (tx) => {
        const done = await work(tx);
        await recordEnds(tx, done);
        return done;
      });
      for (const task of ended) await afterEnd(task);
      return ended;
    },
    /** @returns the task once it has ended, or as it is when the signal aborts */
    async waitUntilEnded(task: Task, signal: AbortSignal): Promise<Task> {
      let latest = task;
      for await (const present of watch.follow(() => findTask(database, task.id), signal)) latest = present;
      return latest;
    },
  };
}

function restAfter(tookMs: number): number {
  // Jitter keeps processes that started together from polling together.
  const jitter = 0.75 + Math.random() / 2;
  return Math.max(POLL_MS, Math.min(SLOWEST_POLL_MS, tookMs * REST)) * jitter;
}

/** Events, like task lists, show the whole task and not its parts. */
function describeEnd(task: Task, definition: TaskDefinition<never> | undefined): EventDraft[] {
  const { status, number: taskNumber } = task;
  if (status !== 'FINISHED' && status !== 'FAILED') return [];
  const at = task.finishedAt ?? task.requestedAt;
  const own = definition?.eventOfEnd?.(JSON.parse(task.payload) as never, task);
  const drafts: EventDraft[] = own === undefined ? [] : [{ ...own, at, taskNumber }];
  const type = status === 'FINISHED' ? 'task.finished' : 'task.failed';
  if (task.parent === undefined) drafts.push({ type, at, taskNumber, data: { task: toWireTask(task) } });
  return drafts;
}
