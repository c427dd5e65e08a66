import { type EventDraft, recordEvents } from '../events/events.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import { isTransient, logTrouble, pause } from './poll.ts';
import { laneKey, type Task, type TaskDefinition, toWireTask } from './task.ts';
import * as leaseStore from './task-lease-store.ts';
import { createTaskClaims, createTaskLeases, type TaskClaims, type TaskLeases } from './task-leases.ts';
import { type ActiveRun, type EndedRun, PAUSE_MS, startRun, type TaskParts } from './task-runner.ts';
import { findTask, removeHeld, saveReport } from './task-store.ts';
import type { TaskWatch } from './task-watch.ts';

/** Runs claimed tasks, one of a lane at a time, until each ended or another process has it. */
export class TaskWork {
  readonly leases: TaskLeases;
  readonly claims: TaskClaims;
  private readonly definitions = new Map<string, TaskDefinition<never>>();
  private readonly runs = new Map<number, ActiveRun>();
  private readonly concluding = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  readonly parts: TaskParts;
  readonly watch: TaskWatch;

  constructor(parts: TaskParts, watch: TaskWatch) {
    const { database, logger } = parts;
    this.parts = parts;
    this.watch = watch;
    this.leases = createTaskLeases({ database, logger });
    this.claims = createTaskClaims({
      database,
      logger,
      owner: this.leases.owner,
      listKinds: () => this.listFreeKinds(),
      countRuns: () => this.runs.size,
      begin: (task, since) => this.begin(task, since),
    });
  }

  define(added: readonly TaskDefinition<never>[]): void {
    for (const definition of added) this.definitions.set(definition.kind, definition);
    this.claims.wake();
  }

  listDefined(): readonly string[] {
    return [...this.definitions.keys()];
  }

  /** Kinds that run by themselves, not with the task that carries them. */
  listKinds(): readonly string[] {
    return [...this.definitions.values()].filter(({ run }) => run !== undefined).map(({ kind }) => kind);
  }

  /** The kinds of which this process may run another task. */
  private listFreeKinds(): readonly leaseStore.RunnableKind[] {
    return this.listKinds().flatMap((kind) => {
      const atOnce = this.definitions.get(kind)?.atOnce;
      if (atOnce === undefined) return { kind };
      const running = [...this.runs.values()].filter(({ task }) => task.kind === kind);
      const { inProcess, ...limits } = atOnce;
      const busyProjects = running.map(({ task }) => task.projectId);
      return running.length >= inProcess ? [] : { kind, limits: { ...limits, busyProjects } };
    });
  }

  isCarried({ kind }: Task): boolean {
    const definition = this.definitions.get(kind);
    return definition !== undefined && definition.run === undefined;
  }

  findRun({ number }: Task): ActiveRun | undefined {
    return this.runs.get(number);
  }

  async start(): Promise<void> {
    const { database, runs = true } = this.parts;
    // The lock of the data folder shows that the process that held these is dead.
    if (!database.isShared) await leaseStore.releaseLeases(database);
    this.leases.start();
    if (runs) this.claims.start();
  }

  /** Hands running tasks back and waits until none takes effect any more. */
  async close(): Promise<void> {
    this.stopped.abort();
    await this.claims.close();
    const active = [...this.runs.values()];
    for (const run of active) run.handBack();
    await Promise.all(active.map((run) => run.outcome));
    await Promise.all([...this.concluding]);
    await this.leases.close();
    const { database, logger } = this.parts;
    // The process must end while the database is away, too.
    await leaseStore
      .releaseLeases(database, this.leases.owner)
      .catch((error: unknown) => logger.warn({ err: error }, 'leases could not be given up, they run out'));
  }

  /** What comes behind a task that runs here is claimed when that has ended. */
  accepted(task: Task): void {
    const key = laneKey(task);
    if (![...this.runs.values()].some((run) => laneKey(run.task) === key)) this.claims.wake(task);
  }

  /** Keeps an accepted task from running until it is released or this process dies. */
  hold(task: Task): void {
    this.leases.add(task, { onLost: () => this.leases.drop(task), onCancelRequested: () => {} });
  }

  /**
   * Lets a held task run.
   * @returns false when it began before, because this process seemed to be gone
   */
  async release(task: Task): Promise<boolean> {
    this.leases.drop(task);
    try {
      if (await this.giveUp(task)) return true;
    } catch (error) {
      if (!isTransient(error)) throw error;
      void this.tryLater(task, () => this.giveUp(task));
      return true;
    }
    const present = await findTask(this.parts.database, task.id);
    return present === undefined || present.status === 'CANCELLED';
  }

  /** Forgets a held task, because the change that it is about was refused. */
  async withdraw(task: Task): Promise<void> {
    const remove = async () => {
      await this.parts.database.write('rows', (tx) => removeHeld(tx, this.leases.owner, task));
      this.leases.drop(task);
    };
    try {
      await remove();
    } catch (error) {
      if (!isTransient(error)) throw error;
      void this.tryLater(task, remove);
    }
  }

  /** Ends tasks of one project that others carry or that no process runs, in one transaction. @returns those it ended */
  async end(work: (tx: ControlTransaction) => Promise<Task[]>): Promise<readonly Task[]> {
    const ended = await this.parts.database.write('rows', async (tx) => {
      const done = await work(tx);
      await this.recordEnds(tx, done);
      return done;
    });
    for (const task of ended) await this.afterEnd(task);
    return ended;
  }

  /** @returns the task once it ended, or as it is after the time */
  waitUntilEnded(task: Task, waitMs: number): Promise<Task> {
    return this.watch.waitUntilEnded(() => findTask(this.parts.database, task.id), task, waitMs);
  }

  /** Records the events of the ends of tasks of one project, in the transaction that ends them. */
  private async recordEnds(tx: ControlTransaction, ended: readonly Task[]): Promise<void> {
    const [first] = ended;
    if (first === undefined) return;
    const drafts = ended.flatMap((task) => describeEnd(task, this.definitions.get(task.kind)));
    await recordEvents(tx, first.projectId, drafts);
  }

  /** What a task leaves behind goes with it. */
  private async afterEnd(task: Task): Promise<void> {
    this.watch.changed(task.id);
    this.parts.onEnded?.(task);
    try {
      // As where it runs: the kind knows its payload.
      await this.definitions.get(task.kind)?.ended?.(JSON.parse(task.payload) as never, task);
    } catch (error) {
      // The end of the task is stored; what was to be removed goes at a later start.
      this.parts.logger.error({ err: error, task: task.id }, 'cleaning up after a task failed');
    }
  }

  /** A lease would expire, but an embedded store does not check leases. */
  private async tryLater(task: Task, work: () => Promise<unknown>): Promise<void> {
    const { logger } = this.parts;
    while (!this.stopped.signal.aborted) {
      await pause(PAUSE_MS, this.stopped.signal);
      try {
        await work();
        return;
      } catch (error) {
        // The answer was that it goes on: it is repeated until the store takes it.
        logger.warn({ err: error, task: task.id }, 'a held task could not be let go, it is tried again');
      }
    }
  }

  private async giveUp(task: Task): Promise<boolean> {
    const isReleased = await leaseStore.releaseLease(this.parts.database, this.leases.owner, task);
    this.claims.wake(task);
    return isReleased;
  }

  private begin(task: Task, since: number): void {
    // This process was suspended and already holds the task; its run continues.
    if (this.leases.has(task) || this.stopped.signal.aborted) return;
    const definition = this.definitions.get(task.kind);
    if (definition?.run === undefined) return;
    const run = startRun(task, definition, this);
    this.runs.set(task.number, run);
    const onCancelRequested = () => this.cancelRun(run);
    this.leases.add(task, { onLost: () => run.handBack(), onCancelRequested }, since);
    const concluded = this.conclude(run).finally(() => this.concluding.delete(concluded));
    this.concluding.add(concluded);
  }

  private async conclude(run: ActiveRun): Promise<void> {
    const { task, outcome } = run;
    const end = await outcome;
    const ended = end.status === 'handed-back' ? await this.giveBack(task) : await this.storeEnd(task, end);
    this.leases.drop(task);
    if (ended !== undefined) await this.afterEnd(ended);
    this.runs.delete(task.number);
    this.claims.wake(task);
    // One of another lane may have waited for this one.
    if (this.definitions.get(task.kind)?.atOnce !== undefined) this.claims.wake();
  }

  /** Mostly another process has it; otherwise the next may take it at once. */
  private async giveBack(task: Task): Promise<undefined> {
    const { database, logger } = this.parts;
    try {
      await leaseStore.releaseLease(database, this.leases.owner, task);
    } catch (error) {
      // Others take the task over when the lease runs out.
      logger.warn({ err: error, task: task.id }, 'a lease could not be given up, it runs out');
    }
  }

  /** Tries until it is stored. @returns undefined when the task is another process's by now, or this one stops */
  private async storeEnd(task: Task, end: EndedRun): Promise<Task | undefined> {
    const { logger } = this.parts;
    for (;;) {
      try {
        return await this.storeEndOnce(task, end);
      } catch (error) {
        // What the task did is done: its end is stored as soon as it can be, however often that fails.
        logTrouble(logger, 'the end of a task could not be stored', { err: error, task: task.id });
      }
      await pause(PAUSE_MS, this.stopped.signal);
      if (this.stopped.signal.aborted) return undefined;
    }
  }

  private async storeEndOnce(task: Task, end: EndedRun): Promise<Task | undefined> {
    const { database, clock, shown } = this.parts;
    const { owner } = this.leases;
    const { status, failure, result } = end;
    if (status === 'FINISHED') await shown?.();
    return database.write('rows', async (tx) => {
      if (failure) {
        const line = [`failed: ${failure.message}`, ...failure.details].join('; ');
        await leaseStore.addLogLine(tx, task, { owner, at: clock.now(), line });
      }
      const ended = await leaseStore.endClaimed(tx, task, {
        owner,
        status,
        failure,
        result,
        finishedAt: clock.now(),
      });
      if (ended === undefined) return undefined;
      await saveReport(tx, task, end);
      await this.recordEnds(tx, [ended]);
      return ended;
    });
  }

  private cancelRun(run: ActiveRun): void {
    if (run.cancel()) return;
    const { database, logger } = this.parts;
    const { owner } = this.leases;
    // The caller who cancels waits for a limited time, and is answered then that the task goes on.
    leaseStore
      .saveCancelState(database, run.task, { cancel: 'refused', owner })
      .catch((error: unknown) =>
        logger.warn({ err: error, task: run.task.id }, 'a cancel could not be answered'),
      );
  }
}

/** Task lists show the whole and not its parts, and so do events. */
function describeEnd(task: Task, definition: TaskDefinition<never> | undefined): EventDraft[] {
  const { status, number: taskNumber } = task;
  if (status !== 'FINISHED' && status !== 'FAILED') return [];
  const at = task.finishedAt ?? task.requestedAt;
  const own = definition?.eventOfEnd?.(JSON.parse(task.payload) as never, task);
  const type = status === 'FINISHED' ? 'task.finished' : 'task.failed';
  return [
    ...(own === undefined ? [] : [{ ...own, at, taskNumber }]),
    ...(task.parent === undefined
      ? [{ type, at, taskNumber, data: { task: toWireTask(task) } } as const]
      : []),
  ];
}
