import { type Task, toWireTask } from '../../tasks/tasks.ts';

/** The texts of success. Source: docs/interface.md §7.4. */
export const SUCCESS_TEXTS = {
  initiate: 'You can now send batches of the full update',
  upload: 'Upload initiated',
  start: 'Batch update started',
  update: 'Your update will now be started',
  delete: 'Delete will now be started',
  restore: 'Restore will now be started',
} as const;

export function answerToUpdate(message: string, task: Task, counts?: { sent: number; parsed: number }) {
  return {
    message,
    status: 'success' as const,
    task: toWireTask(task),
    ...(counts && { nrOfSent: counts.sent, nrOfParsed: counts.parsed }),
  };
}

/** Source: docs/interface.md §4.4, answer of start. */
export function startAnswer(task: Task) {
  return { status: 'success' as const, data: answerToUpdate(SUCCESS_TEXTS.start, task) };
}

/** Source: docs/interface.md §4.4 rule 2. */
export function initiateAnswer(fullUpdateId: number) {
  return { message: SUCCESS_TEXTS.initiate, status: 'success' as const, fullUpdateId };
}
