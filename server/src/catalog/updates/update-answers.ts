import type { ProductViolation } from '../../kernel/errors.ts';
import { type Task, toWireTask, type WireTask } from '../../tasks/tasks.ts';

/** The texts of success. Source: docs/interface.md §7.4. */
export const SUCCESS_TEXTS = {
  initiate: 'You can now send batches of the full update',
  upload: 'Upload initiated',
  start: 'Batch update started',
  update: 'Your update will now be started',
  delete: 'Delete will now be started',
  restore: 'Restore will now be started',
} as const;

export interface TaskAccepted {
  readonly message: string;
  readonly status: 'success';
  readonly task: WireTask;
}

/** Of a body of products. */
export interface ProductsAccepted extends TaskAccepted {
  readonly nrOfSent: number;
  readonly nrOfParsed: number;
  /** Of products that were left out. */
  readonly validation?: readonly ProductViolation[];
}

export function answerToTask(message: string, task: Task): TaskAccepted {
  return { message, status: 'success', task: toWireTask(task) };
}

export function answerToUpdate(
  message: string,
  task: Task,
  { sent, parsed, validation }: { sent: number; parsed: number; validation: readonly ProductViolation[] },
): ProductsAccepted {
  return {
    ...answerToTask(message, task),
    nrOfSent: sent,
    nrOfParsed: parsed,
    ...(validation.length > 0 && { validation }),
  };
}

/** Source: docs/interface.md §4.4, answer of start. */
export function startAnswer(task: Task) {
  return { status: 'success' as const, data: answerToTask(SUCCESS_TEXTS.start, task) };
}

/** Source: docs/interface.md §4.4 rule 2. */
export function initiateAnswer(fullUpdateId: number) {
  return { message: SUCCESS_TEXTS.initiate, status: 'success' as const, fullUpdateId };
}

export type InitiateAnswered = ReturnType<typeof initiateAnswer>;
export type StartAnswered = ReturnType<typeof startAnswer>;
