import assert from 'node:assert/strict';
import type { RawBody, RecordAnswer } from '../../http/http.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { mayBeStored } from '../../storage/storage.ts';
import type { PartRequest, Task, TaskDefinition } from '../../tasks/tasks.ts';
import type { ListedRow } from '../browse/browse.ts';
import type { ChangeAuthor } from '../change.ts';
import type { CatalogParts } from '../parts.ts';
import type { DeleteLimit, Difference } from '../port.ts';
import type { OnInvalid } from '../products/products.ts';
import { isGuarded, refuseDeletes } from './delete-guard.ts';
import { COMMIT_WAIT_MS, FailedBatches } from './failed-batches.ts';
import { FullUpdateClosing, FullUpdateCommits, type PartLimits } from './full-update-commit.ts';
import {
  type ArrivingBatch,
  addBatch,
  type Batch,
  type BatchesState,
  beginCommit,
  discardOpen,
  type FullUpdate,
  findLatestFullUpdate,
  listBatches,
  openFullUpdate,
  wasGivenUpSince,
} from './full-update-store.ts';
import type { Staging } from './staging.ts';
import {
  answerToUpdate,
  type InitiateAnswered,
  initiateAnswer,
  type ProductsAccepted,
  type StartAnswered,
  SUCCESS_TEXTS,
  startAnswer,
} from './update-answers.ts';

export interface UploadOptions {
  readonly fullUpdateId: number | undefined;
  /** The batch as it was counted when it began; undefined: no full update was open then. */
  readonly arriving: ArrivingBatch | undefined;
  /** Default: as the project says. */
  readonly onInvalid: OnInvalid | undefined;
  readonly record: RecordAnswer<ProductsAccepted>;
}

export interface StartOptions extends AcceptedCounts {
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
  readonly arriving?: ArrivingBatch;
  /** The task that fills the full update; without one, somebody who calls. */
  readonly parent?: Task;
}

/** One is open at a time of those that callers fill. */
const ORIGIN = 'LIVE-API';
/** A task has its own, which neither discards others nor is discarded by them. */
const originOf = ({ origin, id }: Task) => `${origin} ${id}`;
/** Source: docs/interface.md §4.4. */
export class FullUpdates {
  readonly definitions: readonly TaskDefinition<never>[];
  private readonly parts: CatalogParts;
  private readonly staging: Staging;
  private readonly closing: FullUpdateClosing;
  private readonly commits: FullUpdateCommits;
  readonly failedBatches: FailedBatches;
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
    this.closing = new FullUpdateClosing(parts, (fullUpdateId) => staging.forget(fullUpdateId));
    this.commits = new FullUpdateCommits({ parts, staging, closing: this.closing });
    this.definitions = [this.uploadTask, this.commits.task];
  }

  /** Begins a full update; an open one is discarded. */
  async initiate(project: ChosenProject, record: RecordAnswer<InitiateAnswered>): Promise<InitiateAnswered> {
    const { database, clock } = this.parts;
    const id = await openFullUpdate(database, {
      projectId: project.id,
      origin: ORIGIN,
      now: clock.now(),
      alongside: (tx, opened) => record(tx, initiateAnswer(opened)),
    });
    this.failedBatches.forget(project.id);
    await this.closing.closeDiscarded(project.id);
    return initiateAnswer(id);
  }

  /** @throws full_update_missing, full_update_other and every refusal of a body; then nothing is kept */
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

  /** Opens a session that a task fills; one left open by an earlier run of the task is discarded. */
  async openFor(task: Task): Promise<number> {
    const { database, clock } = this.parts;
    const id = await openFullUpdate(database, {
      projectId: task.projectId,
      origin: originOf(task),
      now: clock.now(),
      alongside: async () => {},
    });
    await this.closing.closeDiscarded(task.projectId);
    return id;
  }

  /** @throws every refusal of a body; then nothing is kept */
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
    const open = await findLatestFullUpdate(this.parts.database, { projectId, origin: originOf(task) });
    // Another process may run the task by now, and fill another one.
    const isWanted = id === undefined || id === open?.id;
    if (open?.state === 'open' && isWanted) await this.closing.close(projectId, open.id, 'discarded');
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
          const added = { fullUpdateId, ...stored, arriving, now: clock.now() };
          const batch = await addBatch(tx, { projectId: project.id, ...added });
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

  /** @throws full_update_missing, full_update_other */
  async describe(projectId: number, fullUpdateId: number | undefined) {
    return describeOpen(this.parts, await this.getOpen(projectId, fullUpdateId));
  }

  /** @throws full_update_missing, full_update_other */
  async giveUp(projectId: number, wanted: number | undefined, record: RecordAnswer<GivenUp>) {
    const open = await this.getOpen(projectId, wanted);
    const answer = await giveUp(this.parts, this.closing, { open, record });
    this.failedBatches.forget(projectId);
    return answer;
  }

  preview = (projectId: number, wanted: number | undefined): Promise<Difference> =>
    this.readStaged(projectId, wanted, (id) => this.parts.store.compareStaged(projectId, id, true));

  /** Products that a commit would delete, by identifier. @throws full_update_missing, full_update_other */
  async listDeleted(
    projectId: number,
    { wanted, after, limit }: { wanted: number | undefined; after: string; limit: number },
  ): Promise<readonly ListedRow[]> {
    return this.readStaged(projectId, wanted, (fullUpdateId) =>
      this.parts.store.listDeleted(projectId, { fullUpdateId, after, limit }),
    );
  }

  /** @throws full_update_missing, _other, _started, _arriving, _empty, _batch_failed, _in_doubt, _incomplete, delete_guard, … */
  async start(project: ChosenProject, options: StartOptions): Promise<Task> {
    try {
      return await this.startOpen(project, options);
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
    const isNamed = fullUpdateId === undefined || fullUpdateId === latest?.id;
    if (latest?.commitTaskId !== undefined && isNamed)
      return findStarted(this.parts, { ...latest, origin: ORIGIN }, latest.commitTaskId);
    const open = await this.waitUntilWhole(chooseOpen(latest, fullUpdateId), counts);
    const { maxDeletePercent } = await this.parts.getSettings(project.id);
    await this.checkGuard(project.id, open.id, { maxDeletePercent, allowDeletes });
    const committing = parts.tasks.accept(this.commits.task, {
      project,
      payload: { fullUpdateId: open.id, author, ...(allowDeletes !== undefined && { allowDeletes }) },
      async alongside(tx, task) {
        const before = await beginCommit(tx, {
          projectId: project.id,
          fullUpdateId: open.id,
          taskId: task.id,
        });
        if (before.begun === undefined)
          throw new ServiceError('full_update_started', { values: [before.commitTaskId ?? ''] });
        // Since it was found whole, a batch may have begun, or failed.
        refuseMissingBatches(failedBatches.stateOf(before.begun), await listBatches(tx, open), counts);
        return record(tx, startAnswer(task));
      },
    });
    return committing.catch((error: unknown) => {
      const isStarted = error instanceof ServiceError && error.code === 'full_update_started';
      if (isStarted)
        return findStarted(this.parts, { ...open, origin: ORIGIN }, String(error.facts.values?.[0]));
      throw error;
    });
  }

  /** Waits briefly for batches that are arriving. @throws what `refuseMissingBatches` does, not_ready */
  private async waitUntilWhole(opened: FullUpdate, counts: AcceptedCounts): Promise<FullUpdate> {
    const { failedBatches, parts } = this;
    const until = performance.now() + COMMIT_WAIT_MS;
    const find = () => this.getOpen(opened.projectId, opened.id);
    const open = opened.arriving === 0 ? opened : await failedBatches.waitForArriving(find, until);
    const batches = await listBatches(parts.database.read, open);
    refuseMissingBatches(failedBatches.stateOf(open), batches, counts);
    if (!hasCounts(counts)) await failedBatches.refuseSilence(until);
    return open;
  }

  /** Called at the start. */
  closeEnded = (): Promise<void> => this.closing.closeEnded();

  private findLatest(projectId: number): Promise<FullUpdate | undefined> {
    return findLatestFullUpdate(this.parts.database, { projectId, origin: ORIGIN });
  }

  private readonly getOpen = async (projectId: number, wanted: number | undefined) =>
    chooseOpen(await this.findLatest(projectId), wanted);

  /** Stages what is missing and reads it all. @throws full_update_missing, full_update_other also when that comes meanwhile */
  private async readStaged<Result>(
    projectId: number,
    wanted: number | undefined,
    read: (id: number) => Promise<Result>,
  ): Promise<Result> {
    const { id } = await this.getOpen(projectId, wanted);
    const work = this.commits.complete(projectId, id).then(() => read(id));
    return whileOpen(work, () => this.getOpen(projectId, id));
  }

  /** The figures of the delete guard, at the call; the commit checks again when its turn comes. */
  private async checkGuard(projectId: number, fullUpdateId: number, limit: DeleteLimit): Promise<void> {
    if (limit.allowDeletes === undefined && limit.maxDeletePercent >= 100) return;
    const { present, deleted } = await this.readStaged(projectId, fullUpdateId, (id) =>
      this.parts.store.compareStaged(projectId, id, false),
    );
    if (!isGuarded(limit, present, deleted.count)) return;
    const refusal = refuseDeletes({ present, deleted: deleted.count }, limit);
    await this.commits.tellRefused(projectId, fullUpdateId, refusal);
    throw refusal;
  }
}

/** The open full update as it is shown. Source: docs/interface.md §4.4 rule 30. */
async function describeOpen({ database }: Pick<CatalogParts, 'database'>, open: FullUpdate) {
  const batches = await listBatches(database.read, open);
  return {
    status: 'success' as const,
    fullUpdateId: open.id,
    batches: batches.length,
    products: batches.reduce((sum, { productCount }) => sum + productCount, 0),
    arriving: open.arriving,
    lastBatch: open.lastBatch,
    lastBatchAt: open.batchAt,
  };
}

/**
 * A connector that starts again wants to know of its commit.
 * @throws full_update_missing for one that was given up, full_update_started for a commit without effect, or forgotten
 */
async function findStarted(
  { database, tasks }: Pick<CatalogParts, 'database' | 'tasks'>,
  update: FullUpdate & { readonly origin: string },
  commitTaskId: string,
): Promise<Task> {
  if (await wasGivenUpSince(database, update)) throw new ServiceError('full_update_missing');
  const task = await tasks.find(commitTaskId);
  const isWanted = task !== undefined && task.status !== 'FAILED' && task.status !== 'CANCELLED';
  if (!isWanted) throw new ServiceError('full_update_started', { values: [commitTaskId] });
  return task;
}

interface GivenUp {
  readonly status: 'success';
  readonly fullUpdateId: number;
}

/** @throws full_update_missing when its commit began meanwhile */
async function giveUp(
  { database }: Pick<CatalogParts, 'database'>,
  closing: FullUpdateClosing,
  { open, record }: { readonly open: FullUpdate; readonly record: RecordAnswer<GivenUp> },
): Promise<GivenUp> {
  const answer = { status: 'success', fullUpdateId: open.id } as const;
  if (!(await discardOpen(database, open, (tx) => record(tx, answer))))
    throw new ServiceError('full_update_missing');
  await closing.closeDiscarded(open.projectId);
  return answer;
}

/** The counts of batches and products that the caller knows to be accepted. */
interface AcceptedCounts {
  readonly batches: number | undefined;
  readonly products: number | undefined;
}

/** @throws full_update_missing, full_update_other */
function chooseOpen(latest: FullUpdate | undefined, wanted: number | undefined): FullUpdate {
  if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
  if (wanted === undefined || wanted === latest.id) return latest;
  throw new ServiceError('full_update_other', { values: [latest.id, wanted] });
}

/**
 * Of work on what another call may discard meanwhile: it then fails, or finds nothing.
 * @throws what `getOpen` does, when it was discarded
 */
async function whileOpen<Result>(work: Promise<Result>, getOpen: () => Promise<FullUpdate>): Promise<Result> {
  const result = await work.catch(async (error: unknown) => {
    // A payload that is gone went with its full update.
    if (!(error instanceof ServiceError) || error.code === 'payload_damaged') await getOpen();
    throw error;
  });
  await getOpen();
  return result;
}

/**
 * Whether a full update has all that was sent. The counts of a caller say that nothing is missing, whatever may have become of
 * other processes. @throws full_update_arriving, _batch_failed, _empty, _incomplete, _in_doubt
 */
function refuseMissingBatches(
  { arriving, lastBatch }: BatchesState,
  accepted: readonly Batch[],
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
function refuseOtherCounts(accepted: readonly Batch[], counts: AcceptedCounts): void {
  const products = accepted.reduce((sum, { productCount }) => sum + productCount, 0);
  const compared = [
    ['batches', accepted.length, counts.batches],
    ['products', products, counts.products],
  ] as const;
  for (const [what, held, sent] of compared) {
    if (sent === undefined || sent === held) continue;
    throw new ServiceError('full_update_incomplete', { values: [held, what, sent] });
  }
}
