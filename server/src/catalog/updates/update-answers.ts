import { type Static, Type } from 'typebox';
import type { Sent } from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import { type Task, toWireTask, WireTaskSchema } from '../../tasks/tasks.ts';
import type { CheckResult } from '../ingest/ingest.ts';

/** The texts of success. Source: docs/interface §7.4. */
export const SUCCESS_TEXTS = {
  initiate: 'You can now send batches of the full update',
  upload: 'Upload initiated',
  start: 'Batch update started',
  update: 'Your update will now be started',
  delete: 'Delete will now be started',
  restore: 'Restore will now be started',
} as const;

export const successWord = Type.Literal('success');

export const TaskStarted = Type.Object({ message: Type.String(), status: successWord, task: WireTaskSchema });
export type TaskAccepted = Sent<Static<typeof TaskStarted>>;

export const answerToTask = (message: string, task: Task): TaskAccepted => ({
  message,
  status: 'success',
  task: toWireTask(task),
});

export const UpdateAnswer = Type.Object({
  ...TaskStarted.properties,
  nrOfSent: Type.Integer(),
  nrOfParsed: Type.Integer(),
  nr_of_products: optional.integer('the items of the form that Shopware 5 sends'),
  validation: optional.list(
    Type.Object({
      product: Type.Union([
        Type.Object({ identifier: Type.Union([Type.String(), Type.Null()]), index: Type.Integer() }),
        Type.Null(),
      ]),
      schemaErrors: Type.Array(Type.String()),
      errors: Type.Array(Type.String()),
    }),
    'with onInvalid=skip: the products that were skipped',
  ),
});
export type ProductsAccepted = Sent<Static<typeof UpdateAnswer>>;

export function answerToUpdate(
  message: string,
  task: Task,
  { sent, parsed, validation, legacyItems }: CheckResult & { readonly legacyItems?: number | undefined },
): ProductsAccepted {
  return {
    ...answerToTask(message, task),
    nrOfSent: sent,
    nrOfParsed: parsed,
    ...(legacyItems !== undefined && { nr_of_products: legacyItems }),
    ...(validation.length > 0 && { validation }),
  };
}

/** Source: docs/interface §4.4 rule 2. */
export const InitiateAnswer = Type.Object({
  message: Type.String(),
  status: successWord,
  fullUpdateId: Type.Integer(),
});
export type InitiateAnswered = Sent<Static<typeof InitiateAnswer>>;

/** Source: docs/interface §4.4, answer of start. */
export const StartAnswer = Type.Object({ status: successWord, data: TaskStarted });
export type StartAnswered = Sent<Static<typeof StartAnswer>>;
