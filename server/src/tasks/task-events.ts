import { type EventDraft, recordEvents } from '../events/events.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import { type Task, toWireTask } from './task.ts';
import type { TaskDefinition } from './task-definition.ts';

/** Records what the ends of tasks of one project tell, in the transaction that ends them. */
export async function recordEnds(
  tx: ControlTransaction,
  ended: readonly Task[],
  findDefinition: (kind: string) => TaskDefinition<never> | undefined,
): Promise<void> {
  const [first] = ended;
  if (first === undefined) return;
  const drafts = ended.flatMap((task) => describeEnd(task, findDefinition(task.kind)));
  await recordEvents(tx, first.projectId, drafts);
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
