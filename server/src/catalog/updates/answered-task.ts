import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { NewTaskRequest, Task, TaskDefinition } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';

/**
 * Stores the answer of a write in the transaction that stores its task, so that a repeated request gets the same
 * answer.
 */
export interface Recording<Answer> {
  readonly record: RecordAnswer<Answer>;
}

interface AnsweredRequest<Payload extends object, Answer>
  extends Pick<NewTaskRequest<Payload>, 'project' | 'payload'>,
    Recording<Answer> {
  /** @returns the answer to the request */
  readonly describe: (task: Task) => Answer;
}

/** Stores a task and its answer in one transaction. @returns the answer */
export const acceptAnswered = <Payload extends object, Answer>(
  { tasks }: Pick<CatalogParts, 'tasks'>,
  definition: TaskDefinition<Payload>,
  { record, describe, ...request }: AnsweredRequest<Payload, Answer>,
): Promise<Answer> =>
  tasks.acceptWith(definition, request, async (tx, task) => {
    const answer = describe(task);
    await record(tx, answer);
    return answer;
  });
