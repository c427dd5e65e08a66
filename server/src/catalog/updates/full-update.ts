import assert from 'node:assert/strict';
import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Task, TaskDefinition } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../parts.ts';
import type { ChangeAuthor, DeletedPage, DeleteLimit, ListedRow } from '../port.ts';
import type { OnInvalid } from '../products/products.ts';
import { isGuarded, refuseDeletes } from './delete-guard.ts';
import { COMMIT_WAIT_MS, createFailedBatches } from './failed-batches.ts';
import { createFullUpdateCommits } from './full-update-commit.ts';
import * as fullUpdateStore from './full-update-store.ts';
import type { Staging } from './staging.ts';
import * as answers from './update-answers.ts';

/** The numbers of batches and products that the caller knows to be accepted. */
interface AcceptedCounts {
  readonly batches?: number;
  readonly products?: number;
}

interface UploadOptions {
  readonly fullUpdateId?: number;
  /** The batch as counted when it began; undefined if no full update was open then. */
  readonly arriving: fullUpdateStore.ArrivingBatch | undefined;
  /** Default: as the project's setting. */
  readonly onInvalid?: OnInvalid;
  readonly record: RecordAnswer<answers.ProductsAccepted>;
}

interface StartOptions extends AcceptedCounts {
  readonly fullUpdateId?: number;
  readonly record: RecordAnswer<answers.StartAnswered>;
  readonly author: ChangeAuthor;
  readonly allowDeletes?: number;
}

interface SentBatch {
  readonly project: Pick<ChosenProject, 'id' | 'name'>;
  readonly body: RawBody;
  readonly record: RecordAnswer<answers.ProductsAccepted>;
  readonly onInvalid?: OnInvalid;
  readonly arriving?: fullUpdateStore.ArrivingBatch;
  /** The task that fills the full update; undefined: a caller does. */
  readonly parent?: Task;
}

/** Of those that callers fill, one is open at a time. */
const ORIGIN = 'LIVE-API';
/** A task has its own, which neither discards others nor is discarded by them. */
const originOf = ({ origin, id }: Task) => `${origin} ${id}`;

/** The full updates that callers and tasks fill, from initiate to commit or discard. Source: docs/interface.md §4.4. */
export type FullUpdates = ReturnType<typeof createFullUpdates>;

export function createFullUpdates(parts: CatalogParts, staging: Staging) {
  const { database, store, tasks, ingest, clock, getSettings } = parts;
  const failedBatches = createFailedBatches(parts, ORIGIN);
  const commits = createFullUpdateCommits(parts, staging);
  const uploadTask: TaskDefinition<{ fullUpdateId: number }> = {
    kind: 'catalog.upload',
    name: '',
    increment: 'ITEM_BASED',
    acceptedAs: 'PENDING',
    isOrdered: false,
  };

  async function open<Answer>(
    projectId: number,
    origin: string,
    alongside: (tx: ControlTransaction, id: number) => Promise<Answer>,
  ): Promise<Answer> {
    const opened = { projectId, origin, now: clock.now() };
    const answer = await fullUpdateStore.openFullUpdate(database, opened, alongside);
    if (origin === ORIGIN) failedBatches.forget(projectId);
    await commits.closeDiscarded(projectId);
    return answer;
  }

  /** Begins a full update; an open one is discarded. */
  const initiate = (project: ChosenProject, record: RecordAnswer<answers.InitiateAnswered>) =>
    open(project.id, ORIGIN, async (tx, fullUpdateId) => {
      const answer = { message: answers.SUCCESS_TEXTS.initiate, status: 'success' as const, fullUpdateId };
      await record(tx, answer);
      return answer;
    });

  /** @throws full_update_missing, full_update_other and every refusal of a body; then nothing is stored */
  async function upload(
    project: ChosenProject,
    body: RawBody,
    { fullUpdateId, arriving, onInvalid, record }: UploadOptions,
  ): Promise<answers.ProductsAccepted> {
    const { id } = await getOpen(project.id, arriving?.id ?? fullUpdateId);
    // One that was opened meanwhile may be committed without the batch, which it does not count.
    if (arriving === undefined) throw new ServiceError('full_update_missing');
    const { onInvalid: usual } = await getSettings(project.id);
    const accepted = await accept(id, { project, body, record, onInvalid: onInvalid ?? usual, arriving });
    failedBatches.forget(project.id);
    return accepted;
  }

  /** Discards what a task opened and did not commit; with an id, only that one. */
  async function discardOf(task: Task, id?: number): Promise<void> {
    const { projectId } = task;
    const latest = await findLatest(projectId, originOf(task));
    // Another process may run the task by now, and fill another one.
    const isMeant = id === undefined || id === latest?.id;
    if (latest?.state === 'open' && isMeant) await commits.close(projectId, latest.id, 'discarded');
  }

  async function accept(
    fullUpdateId: number,
    { project, body, record, parent, arriving, onInvalid = 'refuse' }: SentBatch,
  ): Promise<answers.ProductsAccepted> {
    const sent = { projectId: project.id, body, form: 'products', onInvalid } as const;
    const { batch, source, answer } = await ingest.acceptWith(sent, async ({ source, ...counts }) => {
      const { payloadName, encoding } = source;
      let accepted: { batch: number; answer: answers.ProductsAccepted } | undefined;
      await tasks.accept(uploadTask, {
        project,
        payload: { fullUpdateId },
        ...(parent && { parent, origin: parent.origin }),
        async alongside(tx, task) {
          const stored = { taskId: task.id, payloadName, encoding, productCount: counts.parsed };
          const key = { projectId: project.id, id: fullUpdateId };
          const batch = await fullUpdateStore.addBatch(tx, key, { ...stored, arriving, now: clock.now() });
          if (batch === undefined) throw new ServiceError('full_update_missing');
          accepted = { batch, answer: answers.answerToUpdate(answers.SUCCESS_TEXTS.upload, task, counts) };
          await record(tx, accepted.answer);
        },
      });
      assert(accepted !== undefined);
      return { ...accepted, source };
    });
    await staging.add(project.id, fullUpdateId, { batch, source });
    return answer;
  }

  /** Shows the open full update, rule 30. @throws full_update_missing, full_update_other */
  async function describe(projectId: number, fullUpdateId: number | undefined) {
    const open = await getOpen(projectId, fullUpdateId);
    const batches = await fullUpdateStore.listBatches(database.read, open);
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

  /** Discards the open full update. @throws full_update_missing, also if its commit began meanwhile, full_update_other */
  async function giveUp(
    projectId: number,
    fullUpdateId: number | undefined,
    record: RecordAnswer<{ status: 'success'; fullUpdateId: number }>,
  ) {
    const open = await getOpen(projectId, fullUpdateId);
    const answer = { status: 'success' as const, fullUpdateId: open.id };
    if (!(await fullUpdateStore.discardOpen(database, open, (tx) => record(tx, answer))))
      throw new ServiceError('full_update_missing');
    await commits.closeDiscarded(projectId);
    failedBatches.forget(projectId);
    return answer;
  }

  /**
   * Accepts the commit. A connector that starts again gets the task of its first start.
   * @throws full_update_missing, _other, _started, _arriving, _empty, _batch_failed, _in_doubt, _incomplete, delete_guard, …
   */
  async function start(project: ChosenProject, options: StartOptions): Promise<answers.StartAnswered> {
    try {
      return describeStarted(await startOpen(project, options));
    } catch (error) {
      if (error instanceof ServiceError) parts.onCommitRefused(error.code);
      throw error;
    }
  }

  async function startOpen(
    project: ChosenProject,
    { fullUpdateId, allowDeletes, record, author, ...counts }: StartOptions,
  ): Promise<Task> {
    const latest = await findLatest(project.id);
    const isMeant = fullUpdateId === undefined || fullUpdateId === latest?.id;
    if (latest?.commitTaskId !== undefined && isMeant) return findStarted(latest, latest.commitTaskId);
    const open = await waitUntilWhole(chooseOpen(latest, fullUpdateId), counts);
    const { maxDeletePercent } = await getSettings(project.id);
    await checkGuard(project.id, open.id, { maxDeletePercent, allowDeletes });
    const committing = tasks.accept(commits.task, {
      project,
      payload: { fullUpdateId: open.id, author, ...(allowDeletes !== undefined && { allowDeletes }) },
      async alongside(tx, task) {
        const key = { projectId: project.id, id: open.id };
        const before = await fullUpdateStore.beginCommit(tx, { ...key, taskId: task.id });
        if (before.begun === undefined)
          throw new ServiceError('full_update_started', { values: [before.commitTaskId ?? ''] });
        // A batch may have begun, or failed, since it was found complete.
        const batches = await fullUpdateStore.listBatches(tx, open);
        refuseMissingBatches(failedBatches.stateOf(before.begun), batches, counts);
        return record(tx, describeStarted(task));
      },
    });
    return committing.catch((error: unknown) => {
      const isStarted = error instanceof ServiceError && error.code === 'full_update_started';
      if (isStarted) return findStarted(open, String(error.facts.values?.[0]));
      throw error;
    });
  }

  /** @throws full_update_missing for a discarded one, full_update_started for a commit without effect, or a deleted task */
  async function findStarted(update: fullUpdateStore.FullUpdate, commitTaskId: string): Promise<Task> {
    if (await fullUpdateStore.wasGivenUpSince(database, { ...update, origin: ORIGIN }))
      throw new ServiceError('full_update_missing');
    const task = await tasks.find(commitTaskId);
    if (task === undefined || task.status === 'FAILED' || task.status === 'CANCELLED')
      throw new ServiceError('full_update_started', { values: [commitTaskId] });
    return task;
  }

  /** Waits briefly for arriving batches. @throws the refusals of `refuseMissingBatches`, not_ready */
  async function waitUntilWhole(opened: fullUpdateStore.FullUpdate, counts: AcceptedCounts) {
    const until = performance.now() + COMMIT_WAIT_MS;
    const find = () => getOpen(opened.projectId, opened.id);
    const open = opened.arriving === 0 ? opened : await failedBatches.waitForArriving(find, until);
    const batches = await fullUpdateStore.listBatches(database.read, open);
    refuseMissingBatches(failedBatches.stateOf(open), batches, counts);
    if (!hasCounts(counts)) await failedBatches.refuseSilence(until);
    return open;
  }

  const findLatest = (projectId: number, origin = ORIGIN) =>
    fullUpdateStore.findLatestFullUpdate(database, { projectId, origin });

  const getOpen = async (projectId: number, fullUpdateId: number | undefined) =>
    chooseOpen(await findLatest(projectId), fullUpdateId);

  /**
   * Stages what is missing and reads everything. If another call discards it meanwhile, the work fails, or finds nothing.
   * @throws full_update_missing, full_update_other
   */
  async function readStaged<Result>(
    projectId: number,
    fullUpdateId: number | undefined,
    read: (id: number) => Promise<Result>,
  ): Promise<Result> {
    const { id } = await getOpen(projectId, fullUpdateId);
    const staged = commits.complete(projectId, id).then(() => read(id));
    const result = await staged.catch(async (error: unknown) => {
      // A missing payload was removed with its full update.
      if (!(error instanceof ServiceError) || error.code === 'payload_damaged') await getOpen(projectId, id);
      throw error;
    });
    await getOpen(projectId, id);
    return result;
  }

  const compare = (projectId: number, fullUpdateId: number | undefined, withIdentifiers: boolean) =>
    readStaged(projectId, fullUpdateId, (id) =>
      store.compareStaged(projectId, { fullUpdateId: id, withIdentifiers }),
    );

  /** Uses the figures at the time of the call; the commit checks again when its turn comes. */
  async function checkGuard(projectId: number, fullUpdateId: number, limit: DeleteLimit): Promise<void> {
    if (limit.allowDeletes === undefined && limit.maxDeletePercent >= 100) return;
    const { present, deleted } = await compare(projectId, fullUpdateId, false);
    if (!isGuarded(limit, present, deleted.count)) return;
    const refusal = refuseDeletes({ present, deleted: deleted.count }, limit);
    await commits.recordRefusal(projectId, fullUpdateId, refusal);
    throw refusal;
  }

  return {
    definitions: [uploadTask, commits.task] as const,
    failedBatches,
    initiate,
    upload,
    describe,
    giveUp,
    start,
    discardOf,
    /** Opens a session that a task fills; one left open by an earlier run of the task is discarded. @returns its id */
    openFor: (task: Task) => open(task.projectId, originOf(task), async (_, id) => id),
    /** @throws every refusal of a body; then nothing is stored */
    async addFor(task: Task, fullUpdateId: number, body: RawBody): Promise<void> {
      const project = { id: task.projectId, name: task.projectName };
      await accept(fullUpdateId, { project, body, record: async () => {}, parent: task });
    },
    commitAsPart: commits.asPart,
    /** A dry run of the commit. @throws full_update_missing, full_update_other */
    preview: (projectId: number, fullUpdateId: number | undefined) => compare(projectId, fullUpdateId, true),
    /** Products that a commit would delete, by identifier. @throws full_update_missing, full_update_other */
    listDeleted: (
      projectId: number,
      { fullUpdateId, ...page }: Omit<DeletedPage, 'fullUpdateId'> & { fullUpdateId: number | undefined },
    ): Promise<readonly ListedRow[]> =>
      readStaged(projectId, fullUpdateId, (id) =>
        store.listDeleted(projectId, { ...page, fullUpdateId: id }),
      ),
    /** Called at the start. */
    closeEnded: commits.closeEnded,
  };
}

/** @throws full_update_missing, full_update_other */
function chooseOpen(latest: fullUpdateStore.FullUpdate | undefined, fullUpdateId: number | undefined) {
  if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
  if (fullUpdateId === undefined || fullUpdateId === latest.id) return latest;
  throw new ServiceError('full_update_other', { values: [latest.id, fullUpdateId] });
}

/**
 * Refuses a full update that lacks something that was sent. A caller's counts prove that nothing is missing, whatever
 * happened to other processes. @throws full_update_arriving, _batch_failed, _empty, _incomplete, _in_doubt
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
const describeStarted = (task: Task): answers.StartAnswered => ({
  status: 'success',
  data: answers.answerToTask(answers.SUCCESS_TEXTS.start, task),
});
