import type { Clock } from '../kernel/clock.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { describeTask, type NewTaskRequest } from './new-task.ts';
import { hasEnded, type Task } from './task.ts';
import type { TaskDefinition, TaskRun } from './task-definition.ts';
import { findReportPart } from './task-report-store.ts';
import { PartCancelled, PartFailed } from './task-runner.ts';
import { findTask, insertTask, listLogLines, listParts } from './task-store.ts';
import type { TaskWatch } from './task-watch.ts';
import type { TaskWork } from './task-work.ts';

export interface TaskPartsNeeds {
  readonly database: Database;
  readonly clock: Clock;
  readonly watch: TaskWatch;
  readonly work: TaskWork;
}

/** A write to be accepted as a part of a task. */
export interface PartRequest {
  readonly definition: TaskDefinition<never>;
  readonly payload: object;
  readonly alongside?: NewTaskRequest<object>['alongside'];
}

/** Between two checks of a part; changes in this process are reported at once. */
const LOOK_MS = 60_000;

/**
 * The writes of a task that prepares for long and takes its place among the ordered tasks of its project only when it
 * begins to write: they are tasks of their own, accepted all at once, that are not listed.
 */
export function createTaskParts({ database, clock, watch, work }: TaskPartsNeeds) {
  return {
    /** @returns parts accepted before, also by a process that has died since */
    list: (task: Task): Promise<Task[]> => listParts(database.read, task),

    /**
     * Accepts all or none, once for a task; `note` is written in the same transaction.
     * @returns them, or those that were accepted before
     */
    async accept(
      task: Task,
      requests: readonly PartRequest[],
      note: (tx: ControlTransaction) => Promise<void>,
    ): Promise<readonly Task[]> {
      const project = { id: task.projectId, name: task.projectName };
      const parts = await database.write(
        async (tx) => {
          const known = await listParts(tx, task);
          if (known.length > 0) return known;
          const accepted: Task[] = [];
          for (const { definition, payload, alongside } of requests) {
            const request = { project, payload, origin: task.origin, parent: task };
            const part = await insertTask(tx, describeTask(definition, request, clock.now()));
            await alongside?.(tx, part);
            accepted.push(part);
          }
          await note(tx);
          return accepted;
        },
        { of: task.projectId },
      );
      for (const part of parts) work.accepted(part);
      return parts;
    },

    /**
     * Waits until all have ended.
     * @returns them as they ended @throws PartFailed, PartCancelled; AbortError when the run is to stop
     */
    async waitFor(run: TaskRun, parts: readonly Task[]): Promise<Task[]> {
      const ended: Task[] = [];
      for (const part of parts) {
        const done = await waitUntilEnded(part, run.signal);
        if (done.status === 'CANCELLED') throw new PartCancelled();
        if (done.failure !== undefined) throw new PartFailed(done.failure);
        ended.push(done);
        await run.progress(60 + (40 * ended.length) / parts.length);
      }
      return ended;
    },

    /** Passes on what a part logged and reported. */
    async tell(run: TaskRun, part: Task, passOn: (lines: string) => Promise<void>): Promise<void> {
      for (const { line } of await listLogLines(database, part)) await run.log(line);
      for (let at = 0; ; at += 1) {
        const lines = await findReportPart(database, part, at);
        if (lines === undefined) return;
        await passOn(lines);
      }
    },
  };

  async function waitUntilEnded(part: Task, signal: AbortSignal): Promise<Task> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    // It takes part in a race that may be over when the signal aborts.
    aborted.catch(() => {});
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        // A process that stops hands the run back soon; asking on and on until then would keep it from that.
        if (watch.isClosed()) return await aborted;
        const wait = watch.waitUntilEnded(() => findTask(database, part.id), part, LOOK_MS);
        const latest = await Promise.race([wait, aborted]);
        if (hasEnded(latest)) return latest;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
