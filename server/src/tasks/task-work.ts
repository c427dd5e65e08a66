import { HeldTasks } from './held-tasks.ts';
import { logTrouble, persist } from './poll.ts';
import { type Lane, laneKey, type Task } from './task.ts';
import { TaskClaims } from './task-claims.ts';
import { TaskEnds } from './task-ends.ts';
import { TaskKinds } from './task-kinds.ts';
import { releaseLease, releaseLeases, saveCancelState } from './task-lease-store.ts';
import { TaskLeases } from './task-leases.ts';
import { ActiveRun, type TaskParts } from './task-runner.ts';
import { findTask } from './task-store.ts';
import type { TaskWatch } from './task-watch.ts';

/** Runs the tasks that this process has claimed, until each has ended or another process has taken it over. */
export class TaskWork {
  readonly parts: TaskParts;
  readonly watch: TaskWatch;
  readonly kinds = new TaskKinds();
  readonly held: HeldTasks;
  readonly ends: TaskEnds;
  private readonly leases: TaskLeases;
  private readonly claims: TaskClaims;
  private readonly runs = new Map<number, ActiveRun>();
  private readonly concluding = new Set<Promise<void>>();
  private readonly stopped = new AbortController();

  constructor(parts: TaskParts, watch: TaskWatch) {
    const { database, logger } = parts;
    this.parts = parts;
    this.watch = watch;
    this.leases = new TaskLeases({ database, logger });
    const { owner } = this.leases;
    const stopped = this.stopped.signal;
    this.ends = new TaskEnds({ ...parts, owner, kinds: this.kinds, watch });
    this.held = new HeldTasks({
      database,
      logger,
      leases: this.leases,
      stopped,
      wake: (lane) => this.wake(lane),
    });
    this.claims = new TaskClaims({
      database,
      logger,
      owner,
      stopped,
      countRuns: () => this.runs.size,
      listFreeKinds: () => this.kinds.listFree([...this.runs.values()].map(({ task }) => task)),
      begin: (task, since) => this.begin(task, since),
    });
  }

  get owner(): string {
    return this.leases.owner;
  }

  async start(): Promise<void> {
    const { database, runs } = this.parts;
    // This process holds the lock of the data folder, so the process that held these leases is gone.
    if (!database.isShared) await releaseLeases(database, 'task');
    this.leases.start();
    if (runs !== false) this.claims.start();
  }

  /** Hands running tasks back, and waits until no task is taking effect. */
  async close(): Promise<void> {
    const { database, logger } = this.parts;
    this.stopped.abort();
    await this.claims.close();
    const active = [...this.runs.values()];
    for (const run of active) run.handBack();
    await Promise.all(active.map((run) => run.outcome));
    await Promise.all([...this.concluding]);
    await this.leases.close();
    // The process must be able to end while the database is unreachable.
    await releaseLeases(database, 'task', this.owner).catch((error: unknown) =>
      logger.warn({ err: error }, 'releasing the leases of tasks failed; they expire by themselves'),
    );
  }

  /** Claims the tasks that can run now, in the given lane or in all lanes. */
  wake(lane?: Lane): void {
    this.claims.wake(lane);
  }

  /** Resolves when the runs of all tasks that are being claimed have begun. */
  settle(): Promise<void> {
    return this.claims.settle();
  }

  /** If a task of the same lane runs here, the accepted task is claimed after it has ended. */
  accepted(task: Task): void {
    const key = laneKey(task);
    if (![...this.runs.values()].some((run) => laneKey(run.task) === key)) this.wake(task);
  }

  findRun({ number }: Task): ActiveRun | undefined {
    return this.runs.get(number);
  }

  /** @returns the task once it has ended, or its present state when the signal aborts */
  async waitUntilEnded(task: Task, signal: AbortSignal): Promise<Task> {
    let latest = task;
    const find = () => findTask(this.parts.database, task.id);
    for await (const present of this.watch.follow(find, signal)) latest = present;
    return latest;
  }

  /** @param since an instant before the claim, by the clock of this process */
  private begin(task: Task, since: number): void {
    // This process was suspended and claimed a task that it already holds. The run of the task continues.
    if (this.leases.has(task) || this.stopped.signal.aborted) return;
    const definition = this.kinds.find(task);
    if (definition?.run === undefined) return;
    const { parts, watch, leases } = this;
    const run = new ActiveRun(task, definition, { parts, watch, leases });
    this.runs.set(task.number, run);
    leases.add(task, { onLost: () => run.handBack(), onCancelRequested: () => this.cancelRun(run) }, since);
    const concluded = this.conclude(run).finally(() => this.concluding.delete(concluded));
    this.concluding.add(concluded);
  }

  private async conclude({ task, outcome }: ActiveRun): Promise<void> {
    const end = await outcome;
    const ended =
      end.status === 'handed-back'
        ? await this.giveBack(task)
        : await persist(() => this.ends.storeRun(task, end), {
            stopped: this.stopped.signal,
            // The task has taken effect, so storing its end is retried until it succeeds.
            note: (err) =>
              logTrouble(this.parts.logger, 'storing the end of a task failed; retrying in 5 s', {
                err,
                task: task.id,
              }),
          });
    this.leases.drop(task);
    if (ended !== undefined) await this.ends.follow(ended);
    this.runs.delete(task.number);
    this.wake(task);
    // A task of another lane may have waited for this one because of a limit of its kind.
    if (this.kinds.find(task)?.atOnce !== undefined) this.wake();
  }

  /**
   * Releases the lease. Usually another process has the task already; otherwise any process may claim it immediately.
   */
  private async giveBack(task: Task): Promise<undefined> {
    const { database, logger } = this.parts;
    try {
      await releaseLease(database, this.owner, task);
    } catch (error) {
      // Another process takes the task over when the lease expires.
      logger.warn(
        { err: error, task: task.id },
        'releasing the lease of a task failed; it expires by itself',
      );
    }
  }

  private cancelRun(run: ActiveRun): void {
    if (run.cancel()) return;
    const { database, logger } = this.parts;
    // The caller waits for a limited time, and then gets the answer that the task continues.
    saveCancelState(database, run.task, { cancel: 'refused', owner: this.owner }).catch((error: unknown) =>
      logger.warn(
        { err: error, task: run.task.id },
        'refusing the cancel of a task failed; the caller gets an answer after a timeout',
      ),
    );
  }
}
