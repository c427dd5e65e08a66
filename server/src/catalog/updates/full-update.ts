import assert from 'node:assert/strict';
import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { mayBeStored } from '../../storage/storage.ts';
import type { PartRequest, Task, TaskDefinition } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../parts.ts';
import type { ChangeAuthor, DeletedPage, DeleteLimit, Difference, ListedRow } from '../port.ts';
import type { OnInvalid } from '../products/products.ts';
import { isGuarded, refuseDeletes } from './delete-guard.ts';
import { COMMIT_WAIT_MS, FailedBatches } from './failed-batches.ts';
import { FullUpdateCommits, type PartLimits } from './full-update-commit.ts';
import * as fullUpdateStore from './full-update-store.ts';
import type { Staging } from './staging.ts';
import {
  answerToTask,
  answerToUpdate,
  type InitiateAnswered,
  type ProductsAccepted,
  type StartAnswered,
  SUCCESS_TEXTS,
} from './update-answers.ts';

/** The counts of batches and products that the caller knows to be accepted. */
interface AcceptedCounts {
  readonly batches: number | undefined;
  readonly products: number | undefined;
}

interface UploadOptions {
  readonly fullUpdateId: number | undefined;
  /** The batch as it was counted when it began; undefined: no full update was open then. */
  readonly arriving: fullUpdateStore.ArrivingBatch | undefined;
  /** Default: as the project says. */
  readonly onInvalid: OnInvalid | undefined;
  readonly record: RecordAnswer<ProductsAccepted>;
}

interface StartOptions extends AcceptedCounts {
  readonly fullUpdateId: number | undefined;
  readonly record: RecordAnswer<StartAnswered>;
  readonly author: ChangeAuthor;
  readonly allowDeletes: number | undefined;
}

interface SentBatch {
  readonly project: Pick<ChosenProject, 'id' | 'name'>;
  readonly body: RawBody;
  readonly record: RecordAnswer<ProductsAccepted>;
  readonly onInvalid?: OnInvalid;
  readonly arriving?: fullUpdateStore.ArrivingBatch;
  /** The task that fills the full update; undefined: a caller does. */
  readonly parent?: Task;
}

interface Discarded {
  readonly status: 'success';
  readonly fullUpdateId: number;
}

/** One is open at a time of those that callers fill. */
const ORIGIN = 'LIVE-API';
/** A task has its own, which neither discards others nor is discarded by them. */
const originOf = ({ origin, id }: Task) => `${origin} ${id}`;

/** The full updates that callers and tasks fill, from initiate to commit or discard. Source: docs/interface.md §4.4. */
export class FullUpdates {
  readonly definitions: readonly TaskDefinition<never>[];
  readonly failedBatches: FailedBatches;
  private readonly parts: CatalogParts;
  private readonly staging: Staging;
  private readonly commits: FullUpdateCommits;
  private readonly uploadTask: TaskDefinition<{ fullUpdateId: number }> = {
    kind: 'catalog.upload',
    name: '',
    increment: 'ITEM_BASED',
    acceptedAs: 'PENDING',
    isOrdered: false,
  };

  constructor(parts: CatalogParts, staging: Staging) {
    this.parts = parts;
    this.staging = staging;
    this.failedBatches = new FailedBatches(parts, ORIGIN);
    this.commits = new FullUpdateCommits(parts, staging);
    this.definitions = [this.uploadTask, this.commits.task];
  }

  /** Begins a full update; an open one is discarded. */
  async initiate(project: ChosenProject, record: RecordAnswer<InitiateAnswered>): Promise<InitiateAnswered> {
    let answer: InitiateAnswered | undefined;
    await fullUpdateStore.openFullUpdate(this.parts.database, {
      projectId: project.id,
      origin: ORIGIN,
      now: this.parts.clock.now(),
      alongside(tx, fullUpdateId) {
        answer = { message: SUCCESS_TEXTS.initiate, status: 'success', fullUpdateId };
        return record(tx, answer);
      },
    });
    assert(answer !== undefined);
    this.failedBatches.forget(project.id);
    await this.commits.closeDiscarded(project.id);
    return answer;
  }

  /** @throws full_update_missing, full_update_other and every refusal of a body; then nothing is stored */
  async upload(
    project: ChosenProject,
    body: RawBody,
    { fullUpdateId, arriving, onInvalid, record }: UploadOptions,
  ): Promise<ProductsAccepted> {
    const { id } = await this.getOpen(project.id, arriving?.id ?? fullUpdateId);
    // One that was opened meanwhile may be committed without the batch, which it does not count.
    if (arriving === undefined) throw new ServiceError('full_update_missing');
    const { onInvalid: usual } = await this.parts.getSettings(project.id);
    const batch = { project, body, record, onInvalid: onInvalid ?? usual, arriving };
    const accepted = await this.accept(id, batch);
    this.failedBatches.forget(project.id);
    return accepted;
  }

  /** Opens a session that a task fills; one left open by an earlier run of the task is discarded. @returns its id */
  async openFor(task: Task): Promise<number> {
    const id = await fullUpdateStore.openFullUpdate(this.parts.database, {
      projectId: task.projectId,
      origin: originOf(task),
      now: this.parts.clock.now(),
      alongside: async () => {},
    });
    await this.commits.closeDiscarded(task.projectId);
    return id;
  }

  /** @throws every refusal of a body; then nothing is stored */
  async addFor(task: Task, fullUpdateId: number, body: RawBody): Promise<void> {
    const project = { id: task.projectId, name: task.projectName };
    await this.accept(fullUpdateId, { project, body, record: async () => {}, parent: task });
  }

  /** @returns the commit as a part of the task that filled the full update */
  commitAsPart = (fullUpdateId: number, limits: PartLimits): PartRequest =>
    this.commits.asPart(fullUpdateId, limits);

  /** Discards what a task opened and did not commit; with an id, only that one. */
  async discardOf(task: Task, id?: number): Promise<void> {
    const { projectId } = task;
    const open = await fullUpdateStore.findLatestFullUpdate(this.parts.database, {
      projectId,
      origin: originOf(task),
    });
    // Another process may run the task by now, and fill another one.
    const isMeant = id === undefined || id === open?.id;
    if (open?.state === 'open' && isMeant) await this.commits.close(projectId, open.id, 'discarded');
  }

  private async accept(
    fullUpdateId: number,
    { project, body, record, parent, arriving, onInvalid = 'refuse' }: SentBatch,
  ): Promise<ProductsAccepted> {
    const { tasks, payloads, ingest, clock } = this.parts;
    const { source, ...counts } = await ingest.accept(project.id, body, { form: 'products', onInvalid });
    const { payloadName, encoding } = source;
    let accepted: { batch: number; answer: ProductsAccepted } | undefined;
    try {
      await tasks.accept(this.uploadTask, {
        project,
        payload: { fullUpdateId },
        ...(parent && { parent, origin: parent.origin }),
        async alongside(tx, task) {
          const stored = { taskId: task.id, payloadName, encoding, productCount: counts.parsed };
          const key = { projectId: project.id, id: fullUpdateId };
          const batch = await fullUpdateStore.addBatch(tx, key, { ...stored, arriving, now: clock.now() });
          if (batch === undefined) throw new ServiceError('full_update_missing');
          accepted = { batch, answer: answerToUpdate(SUCCESS_TEXTS.upload, task, counts) };
          await record(tx, accepted.answer);
        },
      });
    } catch (error) {
      ingest.release(source);
      if (!mayBeStored(error)) await payloads.remove(project.id, payloadName);
      throw error;
    }
    assert(accepted !== undefined);
    await this.staging.add(project.id, fullUpdateId, { batch: accepted.batch, source });
    return accepted.answer;
  }

  /** The open full update as it is shown, rule 30. @throws full_update_missing, full_update_other */
  async describe(projectId: number, fullUpdateId: number | undefined) {
    const open = await this.getOpen(projectId, fullUpdateId);
    const batches = await fullUpdateStore.listBatches(this.parts.database.read, open);
    return {
      status: 'success' as const,
      fullUpdateId: open.id,
      batches: batches.length,
      products: countProducts(batches),
      arriving: open.arriving,
      lastBatch: open.lastBatch,
      lastBatchAt: open.batchAt,
    };
  }

  /** Discards the open full update. @throws full_update_missing, also when its commit began meanwhile, full_update_other */
  async giveUp(projectId: number, fullUpdateId: number | undefined, record: RecordAnswer<Discarded>) {
    const open = await this.getOpen(projectId, fullUpdateId);
    const answer: Discarded = { status: 'success', fullUpdateId: open.id };
    if (!(await fullUpdateStore.discardOpen(this.parts.database, open, (tx) => record(tx, answer))))
      throw new ServiceError('full_update_missing');
    await this.commits.closeDiscarded(projectId);
    this.failedBatches.forget(projectId);
    return answer;
  }

  /** A dry run of the commit. @throws full_update_missing, full_update_other */
  preview = (projectId: number, fullUpdateId: number | undefined): Promise<Difference> =>
    this.readStaged(projectId, fullUpdateId, (id) =>
      this.parts.store.compareStaged(projectId, { fullUpdateId: id, withIdentifiers: true }),
    );

  /** Products that a commit would delete, by identifier. @throws full_update_missing, full_update_other */
  listDeleted = (
    projectId: number,
    { fullUpdateId, ...page }: Omit<DeletedPage, 'fullUpdateId'> & { fullUpdateId: number | undefined },
  ): Promise<readonly ListedRow[]> =>
    this.readStaged(projectId, fullUpdateId, (id) =>
      this.parts.store.listDeleted(projectId, { ...page, fullUpdateId: id }),
    );

  /**
   * Accepts the commit. A connector that starts again gets the task of its commit.
   * @throws full_update_missing, _other, _started, _arriving, _empty, _batch_failed, _in_doubt, _incomplete, delete_guard, …
   */
  async start(project: ChosenProject, options: StartOptions): Promise<StartAnswered> {
    try {
      return describeStarted(await this.startOpen(project, options));
    } catch (error) {
      if (error instanceof ServiceError) this.parts.onCommitRefused(error.code);
      throw error;
    }
  }

  private async startOpen(
    project: ChosenProject,
    { fullUpdateId, allowDeletes, record, author, ...counts }: StartOptions,
  ): Promise<Task> {
    const { failedBatches, parts } = this;
    const latest = await this.findLatest(project.id);
    const isMeant = fullUpdateId === undefined || fullUpdateId === latest?.id;
    if (latest?.commitTaskId !== undefined && isMeant) return this.findStarted(latest, latest.commitTaskId);
    const open = await this.waitUntilWhole(chooseOpen(latest, fullUpdateId), counts);
    const { maxDeletePercent } = await parts.getSettings(project.id);
    await this.checkGuard(project.id, open.id, { maxDeletePercent, allowDeletes });
    const committing = parts.tasks.accept(this.commits.task, {
      project,
      payload: { fullUpdateId: open.id, author, ...(allowDeletes !== undefined && { allowDeletes }) },
      async alongside(tx, task) {
        const before = await fullUpdateStore.beginCommit(tx, {
          projectId: project.id,
          id: open.id,
          taskId: task.id,
        });
        if (before.begun === undefined)
          throw new ServiceError('full_update_started', { values: [before.commitTaskId ?? ''] });
        // Since it was found whole, a batch may have begun, or failed.
        refuseMissingBatches(
          failedBatches.stateOf(before.begun),
          await fullUpdateStore.listBatches(tx, open),
          counts,
        );
        return record(tx, describeStarted(task));
      },
    });
    return committing.catch((error: unknown) => {
      const isStarted = error instanceof ServiceError && error.code === 'full_update_started';
      if (isStarted) return this.findStarted(open, String(error.facts.values?.[0]));
      throw error;
    });
  }

  /** @throws full_update_missing for one that was given up, full_update_started for a commit without effect, or forgotten */
  private async findStarted(update: fullUpdateStore.FullUpdate, commitTaskId: string): Promise<Task> {
    const { database, tasks } = this.parts;
    if (await fullUpdateStore.wasGivenUpSince(database, { ...update, origin: ORIGIN }))
      throw new ServiceError('full_update_missing');
    const task = await tasks.find(commitTaskId);
    if (task === undefined || task.status === 'FAILED' || task.status === 'CANCELLED')
      throw new ServiceError('full_update_started', { values: [commitTaskId] });
    return task;
  }

  /** Waits briefly for batches that are arriving. @throws what `refuseMissingBatches` does, not_ready */
  private async waitUntilWhole(
    opened: fullUpdateStore.FullUpdate,
    counts: AcceptedCounts,
  ): Promise<fullUpdateStore.FullUpdate> {
    const { failedBatches, parts } = this;
    const until = performance.now() + COMMIT_WAIT_MS;
    const find = () => this.getOpen(opened.projectId, opened.id);
    const open = opened.arriving === 0 ? opened : await failedBatches.waitForArriving(find, until);
    const batches = await fullUpdateStore.listBatches(parts.database.read, open);
    refuseMissingBatches(failedBatches.stateOf(open), batches, counts);
    if (!hasCounts(counts)) await failedBatches.refuseSilence(until);
    return open;
  }

  /** Called at the start. */
  closeEnded = (): Promise<void> => this.commits.closeEnded();

  private findLatest(projectId: number): Promise<fullUpdateStore.FullUpdate | undefined> {
    return fullUpdateStore.findLatestFullUpdate(this.parts.database, { projectId, origin: ORIGIN });
  }

  private readonly getOpen = async (projectId: number, fullUpdateId: number | undefined) =>
    chooseOpen(await this.findLatest(projectId), fullUpdateId);

  /**
   * Stages what is missing and reads it all. Another call may discard it meanwhile: the work then fails, or finds nothing.
   * @throws full_update_missing, full_update_other
   */
  private async readStaged<Result>(
    projectId: number,
    fullUpdateId: number | undefined,
    read: (id: number) => Promise<Result>,
  ): Promise<Result> {
    const { id } = await this.getOpen(projectId, fullUpdateId);
    const staged = this.commits.complete(projectId, id).then(() => read(id));
    const result = await staged.catch(async (error: unknown) => {
      // A payload that is gone went with its full update.
      if (!(error instanceof ServiceError) || error.code === 'payload_damaged')
        await this.getOpen(projectId, id);
      throw error;
    });
    await this.getOpen(projectId, id);
    return result;
  }

  /** The figures of the delete guard, at the call; the commit checks again when its turn comes. */
  private async checkGuard(projectId: number, fullUpdateId: number, limit: DeleteLimit): Promise<void> {
    if (limit.allowDeletes === undefined && limit.maxDeletePercent >= 100) return;
    const { present, deleted } = await this.readStaged(projectId, fullUpdateId, (id) =>
      this.parts.store.compareStaged(projectId, { fullUpdateId: id, withIdentifiers: false }),
    );
    if (!isGuarded(limit, present, deleted.count)) return;
    const refusal = refuseDeletes({ present, deleted: deleted.count }, limit);
    await this.commits.recordRefusal(projectId, fullUpdateId, refusal);
    throw refusal;
  }
}

/** @throws full_update_missing, full_update_other */
function chooseOpen(
  latest: fullUpdateStore.FullUpdate | undefined,
  fullUpdateId: number | undefined,
): fullUpdateStore.FullUpdate {
  if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
  if (fullUpdateId === undefined || fullUpdateId === latest.id) return latest;
  throw new ServiceError('full_update_other', { values: [latest.id, fullUpdateId] });
}

/**
 * Whether a full update has all that was sent. The counts of a caller say that nothing is missing, whatever may have become of
 * other processes. @throws full_update_arriving, _batch_failed, _empty, _incomplete, _in_doubt
 */
function refuseMissingBatches(
  { arriving, lastBatch }: fullUpdateStore.BatchesState,
  accepted: readonly fullUpdateStore.Batch[],
  counts: AcceptedCounts,
): void {
  const count =
    arriving === 1 ? '1 batch of the full update is' : `${arriving} batches of the full update are`;
  if (arriving > 0) throw new ServiceError('full_update_arriving', { values: [count], retryAfterSeconds: 1 });
  if (lastBatch === 'failed') throw new ServiceError('full_update_batch_failed');
  if (accepted.every(({ productCount }) => productCount === 0)) throw new ServiceError('full_update_empty');
  if (hasCounts(counts)) refuseOtherCounts(accepted, counts);
  else if (lastBatch === 'in doubt') throw new ServiceError('full_update_in_doubt');
}

const hasCounts = ({ batches, products }: AcceptedCounts): boolean => (batches ?? products) !== undefined;

/** @throws full_update_incomplete */
function refuseOtherCounts(accepted: readonly fullUpdateStore.Batch[], counts: AcceptedCounts): void {
  const compared = [
    ['batches', accepted.length, counts.batches],
    ['products', countProducts(accepted), counts.products],
  ] as const;
  for (const [what, held, sent] of compared) {
    if (sent === undefined || sent === held) continue;
    throw new ServiceError('full_update_incomplete', { values: [held, what, sent] });
  }
}

const countProducts = (batches: readonly fullUpdateStore.Batch[]): number =>
  batches.reduce((sum, { productCount }) => sum + productCount, 0);

/** Source: docs/interface.md §4.4, answer of start. */
const describeStarted = (task: Task): StartAnswered => ({
  status: 'success',
  data: answerToTask(SUCCESS_TEXTS.start, task),
});
