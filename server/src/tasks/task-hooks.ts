import { ServiceError } from '../kernel/errors.ts';
import type { TaskFailure } from './task.ts';
import { addLogLine, saveProgress } from './task-lease-store.ts';
import type { TaskLeases } from './task-leases.ts';
import type { RunnerHooks } from './task-runner.ts';
import type { TaskWatch } from './task-watch.ts';
import type { TaskParts } from './task-work.ts';

/** What runs of tasks ask of the store and of their leases. */
export function createHooks(parts: TaskParts, watch: TaskWatch, leases: TaskLeases): RunnerHooks {
  const { database, clock, logger, describeRefusal } = parts;
  const { owner } = leases;
  return {
    clock,
    logger,
    onTrouble: (task, error) =>
      parts.onTrouble?.(task, error instanceof ServiceError ? error.code : 'unexpected'),
    async saveProgress(task, progress) {
      await saveProgress(database, task, { owner, progress });
      watch.changed(task.id);
    },
    async saveLog(task, line) {
      await database.write((tx) => addLogLine(tx, task, { owner, at: clock.now(), line }), { of: 'rows' });
      watch.changed(task.id);
    },
    confirmLease: (task) => leases.confirm(task),
    describeFailure: (error): TaskFailure => ({
      code: error.code,
      message: describeRefusal(error).message,
      details: [...(error.facts.details ?? [])],
    }),
  };
}
