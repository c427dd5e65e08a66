import type { ControlTransaction } from '../storage/storage.ts';
import { pause } from './poll.ts';
import {
  describeTask,
  hasEnded,
  type NewTaskRequest,
  type Task,
  type TaskDefinition,
  type TaskRun,
} from './task.ts';
import { readReport } from './task-report.ts';
import { PartCancelled, PartFailed } from './task-runner.ts';
import { insertTask, listLogLines, listParts } from './task-store.ts';
import type { TaskWork } from './task-work.ts';

export interface PartRequest {
  readonly definition: TaskDefinition<object>;
  readonly payload: object;
  readonly alongside?: NewTaskRequest<object>['alongside'];
}

/** The pause between two checks of a part. Changes by this process are noticed immediately. */
const PART_CHECK_MS = 60_000;

/**
 * Parts of tasks that take long to prepare, such as the run of a pipeline. Such a task takes its place among the
 * ordered tasks of its project only when it begins to write. Its writes are separate tasks, which are accepted together
 * and not listed.
 */
export function createPartTasks(work: TaskWork) {
  const { database, clock } = work.parts;
  return {
    /** @returns the parts that were accepted before, even by a process that has died since */
    list: (task: Task): Promise<Task[]> => listParts(database.read, task),

    /**
     * Accepts all parts or none, once per task. `note` writes in the same transaction.
     * @returns the parts, or those that were accepted before
     */
    async accept(
      task: Task,
      requests: readonly PartRequest[],
      note: (tx: ControlTransaction) => Promise<void>,
    ): Promise<readonly Task[]> {
      const project = { id: task.projectId, name: task.projectName };
      const parts = await database.write(task.projectId, async (tx) => {
        const earlier = await listParts(tx, task);
        if (earlier.length > 0) return earlier;
        const accepted = await Array.fromAsync(requests, async ({ definition, payload, alongside }) => {
          const request = { project, payload, origin: task.origin, parent: task };
          const part = await insertTask(tx, describeTask(definition, request, clock.now()));
          await alongside?.(tx, part);
          return part;
        });
        await note(tx);
        return accepted;
      });
      for (const part of parts) work.accepted(part);
      return parts;
    },

    /** @returns the ended parts @throws PartFailed, PartCancelled; AbortError when the run must stop */
    waitFor: (run: TaskRun, parts: readonly Task[]): Promise<Task[]> =>
      Array.fromAsync(parts, async (part, index) => {
        const ended = await waitForPart(work, part, run.signal);
        if (ended.status === 'CANCELLED') throw new PartCancelled();
        if (ended.failure !== undefined) throw new PartFailed(ended.failure);
        await run.progress(60 + (40 * (index + 1)) / parts.length);
        return ended;
      }),

    /** Passes on the log and the report of a part. */
    async tell(run: TaskRun, part: Task, passOn: (lines: string) => Promise<void>): Promise<void> {
      for (const { line } of await listLogLines(database, part)) await run.log(line);
      for await (const lines of readReport(database, part)) await passOn(lines);
    },
  };
}

async function waitForPart(work: TaskWork, part: Task, signal: AbortSignal): Promise<Task> {
  for (;;) {
    signal.throwIfAborted();
    // The process is stopping and hands the run back soon. Without the pause, a busy loop would prevent that.
    if (work.watch.isClosed()) await pause(PART_CHECK_MS, signal);
    else {
      const timeUp = AbortSignal.timeout(PART_CHECK_MS);
      const latest = await work.waitUntilEnded(part, AbortSignal.any([signal, timeUp]));
      if (hasEnded(latest)) return latest;
    }
  }
}
