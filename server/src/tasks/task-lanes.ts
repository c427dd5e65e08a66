import { randomBytes } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Database } from '../storage/storage.ts';
import { hasEnded, type Task } from './task.ts';
import type { RunnableTask, TaskDefinition } from './task-definition.ts';
import {
  type ActiveRun,
  PAUSE_MS,
  pause,
  type RunnerHooks,
  type RunOutcome,
  startRun,
} from './task-runner.ts';
import {
  addLogLine,
  endTask,
  findTask,
  leaseTask,
  releaseLeases,
  renewLeases,
  saveProgress,
  saveReport,
} from './task-store.ts';
import type { TaskWatch } from './task-watch.ts';

const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
/** A cancelled run stops at its next step. */
const CANCEL_MS = 10_000;
/** Parts of a report, read one at a time. */
const REPORT_PART_LINES = 2_000;

/** Tasks that run one after another. */
interface Lane {
  readonly waiting: Task[];
  active: ActiveRun | undefined;
}

export interface TaskParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The text of a refusal, as the wire would show it. */
  readonly describeRefusal: (error: ServiceError) => { message: string };
  /** Told of every task that ended, for the metrics. */
  readonly onEnded?: (task: Task) => void;
}

/** Runs tasks: one after another within a lane, lanes beside each other. */
export class TaskLanes {
  private readonly owner = randomBytes(8).toString('hex');
  private readonly definitions = new Map<string, TaskDefinition<never>>();
  private readonly lanes = new Map<string, Lane>();
  private readonly parts: TaskParts;
  private readonly watch: TaskWatch;
  private readonly hooks: RunnerHooks;
  private closing = false;
  private readonly stopped = new AbortController();
  private heartbeat: NodeJS.Timeout | undefined;

  constructor(parts: TaskParts, watch: TaskWatch) {
    this.parts = parts;
    this.watch = watch;
    this.hooks = createHooks(parts, watch);
  }

  define(added: readonly TaskDefinition<never>[]): void {
    for (const definition of added) this.definitions.set(definition.kind, definition);
  }

  schedule(task: Task): void {
    if (this.definitions.get(task.kind)?.run === undefined) return;
    const lane = this.laneOf(task);
    lane.waiting.push(task);
    lane.waiting.sort((a, b) => a.number - b.number);
    void this.advance(lane);
  }

  /** Renews the leases of what runs; a lease that ran out says that its process is gone. */
  start(): void {
    this.heartbeat = setInterval(() => {
      const numbers = this.listActive().map(({ task }) => task.number);
      if (numbers.length === 0) return;
      const { database, clock, logger } = this.parts;
      renewLeases(database, numbers, clock.now() + LEASE_MS).catch((error: unknown) =>
        logger.warn({ err: error }, 'leases could not be renewed'),
      );
    }, RENEW_MS);
    this.heartbeat.unref();
  }

  /** Hands running tasks back and waits until none takes effect any more. */
  async close(): Promise<void> {
    this.closing = true;
    this.stopped.abort();
    clearInterval(this.heartbeat);
    const active = this.listActive();
    for (const run of active) run.handBack();
    await Promise.all(active.map((run) => run.outcome));
    await Promise.all([...this.concluding]);
    await releaseLeases(this.parts.database, this.owner);
  }

  /** @throws task_uploading, task_ended, task_taking_effect */
  async cancel(task: Task): Promise<Task> {
    if (hasEnded(task)) throw new ServiceError('task_ended');
    if (this.definitions.get(task.kind)?.run === undefined) throw new ServiceError('task_uploading');
    const lane = this.laneOf(task);
    if (lane.active?.task.id === task.id) return this.cancelActive(lane.active);
    const at = lane.waiting.findIndex((waiting) => waiting.id === task.id);
    if (at >= 0) lane.waiting.splice(at, 1);
    const [ended] = await this.end([task], 'CANCELLED');
    if (ended === undefined) throw new ServiceError('task_ended');
    return ended;
  }

  /** Ends tasks that are not running here. @returns those that had not ended before */
  async end(
    tasks: readonly Pick<Task, 'number'>[],
    status: 'FINISHED' | 'CANCELLED' | 'FAILED',
  ): Promise<readonly Task[]> {
    const { database, clock } = this.parts;
    const ended = await database.write(async (tx) => {
      const done: Task[] = [];
      for (const { number } of tasks) {
        const task = await endTask(tx, { number, status, finishedAt: clock.now() });
        if (task !== undefined) done.push(task);
      }
      return done;
    });
    for (const task of ended) await this.afterEnd(task);
    return ended;
  }

  countWaiting(): number {
    return [...this.lanes.values()].reduce((sum, lane) => sum + lane.waiting.length, 0);
  }

  private readonly concluding = new Set<Promise<void>>();

  private listActive(): ActiveRun[] {
    return [...this.lanes.values()].flatMap(({ active }) => (active ? [active] : []));
  }

  /** Ordered tasks share their project's lane; others have one per kind, so that a kind never runs beside itself. */
  private laneOf(task: Task): Lane {
    const key = `${task.projectId} ${task.isOrdered ? '' : task.kind}`;
    const lane = this.lanes.get(key) ?? { waiting: [], active: undefined };
    this.lanes.set(key, lane);
    return lane;
  }

  private async advance(lane: Lane): Promise<void> {
    const task = lane.active === undefined && !this.closing ? lane.waiting.shift() : undefined;
    const definition = task && this.definitions.get(task.kind);
    if (task === undefined || definition?.run === undefined) return;
    const run = startRun(task, this.leased(task, definition as RunnableTask), this.hooks);
    lane.active = run;
    const concluded = this.conclude(lane, run);
    this.concluding.add(concluded);
    await concluded;
    this.concluding.delete(concluded);
    lane.active = undefined;
    void this.advance(lane);
  }

  /** The claim is part of the run, so that a full disk makes it wait like the rest. */
  private leased(task: Task, definition: RunnableTask): RunnableTask {
    const { database, clock } = this.parts;
    return {
      run: async (payload, run) => {
        const lease = { number: task.number, owner: this.owner, until: clock.now() + LEASE_MS };
        if (await leaseTask(database, lease)) await definition.run(payload, run);
      },
    };
  }

  private async conclude(lane: Lane, run: ActiveRun): Promise<void> {
    const { task } = run;
    const outcome = await run.outcome;
    try {
      if (outcome.status !== 'handed-back') await this.storeEnd(task, outcome);
    } catch (error) {
      this.parts.logger.error(
        { err: error, task: task.id },
        'the end of a task could not be stored, it runs again',
      );
      lane.waiting.unshift(task);
      await pause(PAUSE_MS, this.stopped.signal);
    }
  }

  private async storeEnd(task: Task, outcome: Exclude<RunOutcome, { status: 'handed-back' }>): Promise<void> {
    const { database, clock } = this.parts;
    const failure = outcome.status === 'FAILED' ? outcome.failure : undefined;
    const ended = await database.write(async (tx) => {
      await saveReport(tx, task.number, reportParts(outcome));
      if (failure) await addLogLine(tx, task.number, { at: clock.now(), line: describeInLog(failure) });
      return endTask(tx, { number: task.number, status: outcome.status, finishedAt: clock.now(), failure });
    });
    if (ended !== undefined) await this.afterEnd(ended);
  }

  private async afterEnd(task: Task): Promise<void> {
    this.watch.changed(task.id);
    this.parts.onEnded?.(task);
    try {
      await this.definitions.get(task.kind)?.ended?.(JSON.parse(task.payload) as never, task);
    } catch (error) {
      this.parts.logger.error({ err: error, task: task.id }, 'cleaning up after a task failed');
    }
  }

  private async cancelActive(run: ActiveRun): Promise<Task> {
    if (!run.cancel()) throw new ServiceError('task_taking_effect');
    const { task } = run;
    const ended = await this.watch.waitUntilEnded(
      () => findTask(this.parts.database, task.id),
      task,
      CANCEL_MS,
    );
    // It took effect between the question and the answer.
    if (ended.status !== 'CANCELLED') throw new ServiceError('task_taking_effect');
    return ended;
  }
}

function createHooks({ database, clock, logger, describeRefusal }: TaskParts, watch: TaskWatch): RunnerHooks {
  return {
    clock,
    logger,
    async saveProgress(task, progress) {
      await saveProgress(database, task.number, progress);
      watch.changed(task.id);
    },
    async saveLog(task, line) {
      await database.write((tx) => addLogLine(tx, task.number, { at: clock.now(), line }));
      watch.changed(task.id);
    },
    describeFailure: (error) => ({
      code: error.code,
      message: describeRefusal(error).message,
      details: [...(error.facts.details ?? [])],
    }),
  };
}

function describeInLog({ message, details }: { message: string; details: readonly string[] }): string {
  return [`failed: ${message}`, ...details].join('; ');
}

function reportParts({ report, unreported }: Extract<RunOutcome, { report: unknown }>) {
  const parts: { lines: string; lineCount: number }[] = [];
  for (let start = 0; start < report.length; start += REPORT_PART_LINES) {
    const lines = report.slice(start, start + REPORT_PART_LINES);
    parts.push({ lines: `${lines.join('\n')}\n`, lineCount: lines.length });
  }
  if (unreported > 0) parts.push({ lines: `${JSON.stringify({ more: unreported })}\n`, lineCount: 1 });
  return parts;
}
