import { type EventDraft, recordEvents } from '../events/events.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import { readPayload, type Task, type TaskDefinition, toWireTask } from './task.ts';
import type { TaskKinds } from './task-kinds.ts';
import { addLogLine, endClaimed } from './task-lease-store.ts';
import type { EndedRun, TaskParts } from './task-runner.ts';
import { saveReport } from './task-store.ts';
import type { TaskWatch } from './task-watch.ts';

interface EndParts extends Pick<TaskParts, 'clock' | 'database' | 'logger' | 'onEnded' | 'shown'> {
  readonly owner: string;
  readonly kinds: TaskKinds;
  readonly watch: TaskWatch;
}

/**
 * Ends tasks. Each end is stored with its events in one transaction, and afterwards the task's payload and other
 * remains are removed.
 */
export class TaskEnds {
  private readonly parts: EndParts;

  constructor(parts: EndParts) {
    this.parts = parts;
  }

  /**
   * Stores how a run of this process ended.
   * @returns undefined when another process has taken the task over
   */
  async storeRun(task: Task, end: EndedRun): Promise<Task | undefined> {
    const { clock, database, owner, shown } = this.parts;
    const { status, failure, result } = end;
    if (status === 'FINISHED') await shown?.();
    return database.write('rows', async (tx) => {
      if (failure) {
        const line = [`failed: ${failure.message}`, ...failure.details].join('; ');
        await addLogLine(tx, task, { owner, at: clock.now(), line });
      }
      const stored = { owner, status, failure, result, finishedAt: clock.now() };
      const ended = await endClaimed(tx, task, stored);
      if (ended === undefined) return undefined;
      await saveReport(tx, task, end);
      await this.recordEvents(tx, [ended]);
      return ended;
    });
  }

  /**
   * Ends tasks of one project that other tasks carry or that no process runs, in one transaction.
   * @returns the ended tasks
   */
  async end(work: (tx: ControlTransaction) => Promise<Task[]>): Promise<readonly Task[]> {
    const ended = await this.parts.database.write('rows', async (tx) => {
      const ended = await work(tx);
      await this.recordEvents(tx, ended);
      return ended;
    });
    for (const task of ended) await this.follow(task);
    return ended;
  }

  /** Reports a stored end, and removes what the task leaves behind. */
  async follow(task: Task): Promise<void> {
    const { kinds, logger, onEnded, watch } = this.parts;
    watch.changed(task.id);
    onEnded?.(task);
    try {
      await kinds.find(task)?.ended?.(readPayload(task), task);
    } catch (error) {
      // The end of the task is already stored. A later start removes what remains.
      logger.error(
        { err: error, task: task.id },
        'cleaning up after a task failed; a later start removes what remains',
      );
    }
  }

  private async recordEvents(tx: ControlTransaction, ended: readonly Task[]): Promise<void> {
    const [first] = ended;
    if (first === undefined) return;
    const drafts = ended.flatMap((task) => describeEnd(task, this.parts.kinds.find(task)));
    await recordEvents(tx, first.projectId, drafts);
  }
}

/** Events show only whole tasks and not their parts, like task lists. */
function describeEnd(task: Task, definition: TaskDefinition<object> | undefined): EventDraft[] {
  const { status, number: taskNumber } = task;
  if (status !== 'FINISHED' && status !== 'FAILED') return [];
  const at = task.finishedAt ?? task.requestedAt;
  const own = definition?.eventOfEnd?.(readPayload(task), task);
  const drafts: EventDraft[] = own === undefined ? [] : [{ ...own, at, taskNumber }];
  const type = status === 'FINISHED' ? 'task.finished' : 'task.failed';
  if (task.parent === undefined) drafts.push({ type, at, taskNumber, data: { task: toWireTask(task) } });
  return drafts;
}
