import { ServiceError } from '../../kernel/errors.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import {
  type ChosenSession,
  findFullUpdate,
  findLatestOfCaller,
  ORIGIN_OF_CALLERS,
} from './full-update-store.ts';
import type { InitiateAnswered, ProductsAccepted, StartAnswered } from './update-answers.ts';

/**
 * Refuses to repeat the first answer to an `Idempotency-Key` if the answer is no longer true. Without this check, a
 * repeated upload would be answered with `success` although the open full update does not have the batch, and the
 * commit would delete its products. Source: docs/interface §7.5 rule 14.
 */
export class RepeatChecks {
  private readonly database: CatalogParts['database'];
  private readonly tasks: CatalogParts['tasks'];

  constructor({ database, tasks }: Pick<CatalogParts, 'database' | 'tasks'>) {
    this.database = database;
    this.tasks = tasks;
  }

  /** @throws full_update_ended if the full update accepts no more batches */
  initiate(projectId: number, { fullUpdateId }: InitiateAnswered): Promise<void> {
    return this.refuseEnded(projectId, fullUpdateId);
  }

  /** @throws full_update_ended if no commit will have the batch, or if the commit has begun */
  async upload(projectId: number, { task }: ProductsAccepted): Promise<void> {
    await this.refuseEnded(projectId, await this.findSubject(task.id));
  }

  /**
   * @throws full_update_ended if the caller has since begun another full update and does not name the one that it
   * means
   */
  async start(
    projectId: number,
    { fullUpdateId, caller }: ChosenSession,
    { data }: StartAnswered,
  ): Promise<void> {
    if (fullUpdateId !== undefined) return;
    const of = { projectId, origin: ORIGIN_OF_CALLERS, caller };
    const own = await findLatestOfCaller(this.database, of);
    if (own === undefined || own.commitTaskId === data.task.id) return;
    const started = await this.findSubject(data.task.id);
    if (started < own.id) throw new ServiceError('full_update_ended', { values: [started] });
  }

  /** @throws full_update_ended */
  private async refuseEnded(projectId: number, fullUpdateId: number): Promise<void> {
    const update = await findFullUpdate(this.database.read, { projectId, id: fullUpdateId });
    if (update?.state !== 'open') throw new ServiceError('full_update_ended', { values: [fullUpdateId] });
  }

  /** @returns the id of the full update to which a task belongs */
  private async findSubject(taskId: string): Promise<number> {
    const task = await this.tasks.find(taskId);
    const { fullUpdateId = 0 } = JSON.parse(task?.payload ?? '{}') as { fullUpdateId?: number };
    return fullUpdateId;
  }
}
