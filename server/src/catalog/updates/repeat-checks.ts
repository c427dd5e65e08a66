import { ServiceError } from '../../kernel/errors.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import { type ChosenSession, findFullUpdate, findLatestOfCaller } from './full-update-store.ts';
import type { InitiateAnswered, ProductsAccepted, StartAnswered } from './update-answers.ts';

/**
 * Refuses to repeat the first answer to an `Idempotency-Key` where it is not true any more: a replayed upload was
 * answered `success` although the open full update did not hold the batch, and the commit deleted its products.
 * Source: docs/interface §7.5 rule 14.
 */
export function createRepeatChecks(
  { database, tasks }: Pick<CatalogParts, 'database' | 'tasks'>,
  origin: string,
) {
  /** @throws full_update_ended */
  async function refuseEnded(projectId: number, fullUpdateId: number): Promise<void> {
    const update = await findFullUpdate(database.read, { projectId, id: fullUpdateId });
    if (update?.state !== 'open') throw new ServiceError('full_update_ended', { values: [fullUpdateId] });
  }

  /** @returns the id of the full update that a task is about */
  async function findSubject(taskId: string): Promise<number> {
    const task = await tasks.find(taskId);
    const { fullUpdateId = 0 } = JSON.parse(task?.payload ?? '{}') as { fullUpdateId?: number };
    return fullUpdateId;
  }

  return {
    /** @throws full_update_ended if the full update takes no batches any more */
    initiate: (projectId: number, { fullUpdateId }: InitiateAnswered): Promise<void> =>
      refuseEnded(projectId, fullUpdateId),

    /** @throws full_update_ended if no commit will have the batch, or it has begun */
    upload: async (projectId: number, { task }: ProductsAccepted): Promise<void> =>
      refuseEnded(projectId, await findSubject(task.id)),

    /** @throws full_update_ended if the caller has begun another full update since, and does not name the one that it means */
    async start(
      projectId: number,
      { fullUpdateId, caller }: ChosenSession,
      { data }: StartAnswered,
    ): Promise<void> {
      if (fullUpdateId !== undefined) return;
      const own = await findLatestOfCaller(database, { projectId, origin, caller });
      if (own === undefined || own.commitTaskId === data.task.id) return;
      const started = await findSubject(data.task.id);
      if (started < own.id) throw new ServiceError('full_update_ended', { values: [started] });
    },
  };
}
