import assert from 'node:assert/strict';
import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { RawBody } from '../../http/bodies/bodies.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Task, TaskDefinition } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { ChangeAuthor, DeletedPage, DeleteLimit, ListedRow } from '../port.ts';
import type { OnInvalid } from '../products/products.ts';
import { isGuarded, refuseDeletes } from './delete-guard.ts';
import { COMMIT_WAIT_MS, createFailedBatches } from './failed-batches.ts';
import { createFullUpdateCommits } from './full-update-commit.ts';
import {
  type AcceptedBatches,
  type ArrivingBatch,
  addBatch,
  type Batch,
  type BatchesState,
  beginCommit,
  countAccepted,
  discardOpen,
  type FullUpdate,
  type FullUpdateKey,
  findFullUpdate,
  findLatestFullUpdate,
  listBatches,
  noteHeld,
  openFullUpdate,
  wasGivenUpSince,
} from './full-update-store.ts';
import { createRepeatChecks } from './repeat-checks.ts';
import { type ChosenSession, createSessionChoice } from './session-choice.ts';
import type { Staging } from './staging.ts';
import {
  answerToTask,
  answerToUpdate,
  type InitiateAnswered,
  type ProductsAccepted,
  type StartAnswered,
  SUCCESS_TEXTS,
} from './update-answers.ts';

/** The numbers of batches and products that the caller knows to be accepted. */
interface AcceptedCounts {
  readonly batches?: number;
  readonly products?: number;
}

interface UploadOptions extends ChosenSession {
  /** The batch as counted when it began; undefined if no full update was open then. */
  readonly arriving: ArrivingBatch | undefined;
  /** Default: as the project's setting. */
  readonly onInvalid?: OnInvalid;
  readonly record: RecordAnswer<ProductsAccepted>;
}

interface StartOptions extends AcceptedCounts, ChosenSession {
  readonly record: RecordAnswer<StartAnswered>;
  readonly author: ChangeAuthor;
  readonly allowDeletes?: number;
}

interface SentBatch {
  readonly project: Pick<ChosenProject, 'id' | 'name'>;
  readonly body: RawBody;
  readonly record: RecordAnswer<ProductsAccepted>;
  readonly onInvalid?: OnInvalid;
  readonly arriving?: ArrivingBatch;
  /** The task that fills the full update; undefined: a caller does. */
  readonly parent?: Task;
}

/** Of those that callers fill, one is open at a time. */
const ORIGIN = 'LIVE-API';
/** A task has its own, which neither discards others nor is discarded by them. */
const originOf = ({ origin, id }: Task) => `${origin} ${id}`;

/** The full updates that callers and tasks fill, from initiate to commit or discard. Source: docs/interface §4.4. */
export type FullUpdates = ReturnType<typeof createFullUpdates>;

export function createFullUpdates(parts: CatalogParts, staging: Staging) {
  const { database, store, tasks, ingest, clock, getSettings } = parts;
  const failedBatches = createFailedBatches(parts, ORIGIN);
  const commits = createFullUpdateCommits(parts, staging);
  const sessions = createSessionChoice(database, ORIGIN);
  const uploadTask: TaskDefinition<{ fullUpdateId: number }> = {
    kind: 'catalog.upload',
    name: '',
    increment: 'ITEM_BASED',
    acceptedAs: 'PENDING',
    isOrdered: false,
  };

  async function open<Answer>(
    { projectId, origin, openedBy }: { projectId: number; origin: string; openedBy: string | null },
    alongside: (tx: ControlTransaction, id: number) => Promise<Answer>,
  ): Promise<Answer> {
    const opened = { projectId, origin, openedBy, now: clock.now() };
    const answer = await openFullUpdate(database, opened, alongside);
    if (origin === ORIGIN) failedBatches.forget(projectId);
    await commits.closeDiscarded(projectId);
    return answer;
  }

  /** Begins a full update of the caller; an open one is discarded. */
  const initiate = (
    project: ChosenProject,
    { caller, record }: { caller: string; record: RecordAnswer<InitiateAnswered> },
  ) =>
    open({ projectId: project.id, origin: ORIGIN, openedBy: caller }, async (tx, fullUpdateId) => {
      const answer = { message: SUCCESS_TEXTS.initiate, status: 'success' as const, fullUpdateId };
      await record(tx, answer);
      return answer;
    });

  /** @throws the refusals of `sessions.getOpen` and every refusal of a body; then nothing is stored */
  async function upload(
    project: ChosenProject,
    body: RawBody,
    { caller, fullUpdateId, arriving, onInvalid, record }: UploadOptions,
  ): Promise<ProductsAccepted> {
    const { id } = await sessions.getOpen(project.id, { caller, fullUpdateId: arriving?.id ?? fullUpdateId });
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
    const of = { projectId, origin: originOf(task) };
    const latest = await findLatestFullUpdate(database, of);
    // Another process may run the task by now, and fill another one.
    const isMeant = id === undefined || id === latest?.id;
    if (latest?.state === 'open' && isMeant) await commits.close(projectId, latest.id, 'discarded');
  }

  async function accept(
    fullUpdateId: number,
    { project, body, record, parent, arriving, onInvalid = 'refuse' }: SentBatch,
  ): Promise<ProductsAccepted> {
    const sent = { projectId: project.id, body, form: 'products', onInvalid, isDigested: true } as const;
    const { batch, source, answer } = await ingest.acceptWith(sent, async ({ source, digest, ...counts }) => {
      const { payloadName, encoding } = source;
      let accepted: { batch: number; answer: ProductsAccepted } | undefined;
      await tasks.accept(uploadTask, {
        project,
        payload: { fullUpdateId },
        ...(parent && { parent, origin: parent.origin }),
        async alongside(tx, task) {
          const stored = {
            taskId: task.id,
            payloadName,
            encoding,
            productCount: counts.parsed,
            digest: digest ?? null,
          };
          const key = { projectId: project.id, id: fullUpdateId };
          const batch = await addBatch(tx, key, { ...stored, arriving, now: clock.now() });
          if (batch === undefined) throw new ServiceError('full_update_missing');
          accepted = { batch, answer: answerToUpdate(SUCCESS_TEXTS.upload, task, counts) };
          await record(tx, accepted.answer);
        },
      });
      assert(accepted !== undefined);
      return { ...accepted, source };
    });
    await staging.add(project.id, fullUpdateId, { batch, source });
    return answer;
  }

  /**
   * Shows the open full update, rule 30.
   * @param chosen undefined: that of whichever caller @throws the refusals of `sessions.getShown`
   */
  async function describe(projectId: number, chosen: ChosenSession | undefined) {
    const open =
      chosen === undefined ? await sessions.getAny(projectId) : await sessions.getShown(projectId, chosen);
    const batches = await listBatches(database.read, open);
    return {
      status: 'success' as const,
      fullUpdateId: open.id,
      ...countAccepted(batches),
      arriving: open.arriving,
      lastBatch: open.lastBatch,
      lastBatchAt: open.batchAt,
    };
  }

  /** Discards the open full update. @throws full_update_missing, also if its commit began meanwhile, and those of `getOpen` */
  async function giveUp(
    projectId: number,
    chosen: ChosenSession,
    record: RecordAnswer<{ status: 'success'; fullUpdateId: number }>,
  ) {
    const open = await sessions.getOpen(projectId, chosen);
    const answer = { status: 'success' as const, fullUpdateId: open.id };
    if (!(await discardOpen(database, open, (tx) => record(tx, answer))))
      throw new ServiceError('full_update_missing');
    await commits.closeDiscarded(projectId);
    failedBatches.forget(projectId);
    return answer;
  }

  /**
   * Accepts the commit. A connector that starts again gets the task of its first start.
   * @throws full_update_missing, _other, _started, _arriving, _empty, _batch_failed, _in_doubt, _incomplete, delete_guard, …
   */
  async function start(project: ChosenProject, options: StartOptions): Promise<StartAnswered> {
    try {
      return describeStarted(await startOpen(project, options));
    } catch (error) {
      if (error instanceof ServiceError) parts.onCommitRefused(error.code);
      throw error;
    }
  }

  async function startOpen(project: ChosenProject, options: StartOptions): Promise<Task> {
    const before = await findRepeated(project.id, options);
    if (before !== undefined) return before;
    try {
      return await begin(project, options);
    } catch (error) {
      // Another start of the caller may have begun the commit after the first look.
      const task = error instanceof ServiceError ? await findRepeated(project.id, options) : undefined;
      if (task === undefined) throw error;
      return task;
    }
  }

  /** @returns the task of the commit that an earlier start began; undefined if there is none */
  async function findRepeated(projectId: number, options: StartOptions): Promise<Task | undefined> {
    const started = await sessions.findStarted(projectId, options);
    return started?.commitTaskId === undefined
      ? undefined
      : repeatStart(started, started.commitTaskId, options);
  }

  async function begin(
    project: ChosenProject,
    { caller, fullUpdateId, allowDeletes, record, author, ...counts }: StartOptions,
  ): Promise<Task> {
    const open = await waitUntilWhole(await sessions.getOpen(project.id, { caller, fullUpdateId }), counts);
    const { maxDeletePercent } = await getSettings(project.id);
    await checkGuard(project.id, open.id, { maxDeletePercent, allowDeletes });
    const committing = tasks.accept(commits.task, {
      project,
      payload: { fullUpdateId: open.id, author, ...(allowDeletes !== undefined && { allowDeletes }) },
      async alongside(tx, task) {
        const key = { projectId: project.id, id: open.id };
        const before = await beginCommit(tx, { ...key, taskId: task.id });
        if (before.begun === undefined)
          throw new ServiceError('full_update_started', { values: [before.commitTaskId ?? ''] });
        // A batch may have begun, or failed, since it was found complete.
        const batches = await listBatches(tx, open);
        refuseMissingBatches(failedBatches.stateOf(before.begun), batches, counts);
        await noteHeld(tx, key, countAccepted(batches));
        return record(tx, describeStarted(task));
      },
    });
    return committing.catch((error: unknown) => {
      const isStarted = error instanceof ServiceError && error.code === 'full_update_started';
      if (isStarted)
        return repeatStart(open, String(error.facts.values?.[0]), { ...counts, caller, allowDeletes });
      throw error;
    });
  }

  /** @returns the task of a commit that began before @throws what refuses a start that says something else than the first */
  async function repeatStart(
    { id, projectId }: FullUpdateKey,
    commitTaskId: string,
    { caller, allowDeletes, ...counts }: AcceptedCounts & Pick<StartOptions, 'caller' | 'allowDeletes'>,
  ): Promise<Task> {
    const update = await findFullUpdate(database.read, { id, projectId });
    if (update === undefined) throw new ServiceError('full_update_missing');
    const task = await findStarted({ id, projectId, caller }, commitTaskId);
    // Without stored counts an earlier version began the commit, and nothing shows what it held.
    if (hasCounts(counts) && update.held === undefined)
      throw new ServiceError('full_update_started', { values: [commitTaskId] });
    if (update.held !== undefined) refuseOtherCounts(update.held, counts);
    commits.refuseOtherDeletes(task, allowDeletes);
    return task;
  }

  /** @throws full_update_missing for a discarded one, full_update_started for a commit without effect, or a deleted task */
  async function findStarted(of: FullUpdateKey & { caller: string }, commitTaskId: string): Promise<Task> {
    if (await wasGivenUpSince(database, { ...of, origin: ORIGIN }))
      throw new ServiceError('full_update_missing');
    const task = await tasks.find(commitTaskId);
    if (task === undefined || task.status === 'FAILED' || task.status === 'CANCELLED')
      throw new ServiceError('full_update_started', { values: [commitTaskId] });
    return task;
  }

  /** Waits briefly for arriving batches. @throws the refusals of `refuseMissingBatches`, not_ready */
  async function waitUntilWhole(opened: FullUpdate, counts: AcceptedCounts) {
    const until = performance.now() + COMMIT_WAIT_MS;
    const find = () => sessions.getAny(opened.projectId).then((open) => refuseOther(open, opened.id));
    const open = opened.arriving === 0 ? opened : await failedBatches.waitForArriving(find, until);
    const batches = await listBatches(database.read, open);
    refuseMissingBatches(failedBatches.stateOf(open), batches, counts);
    if (!hasCounts(counts)) await failedBatches.refuseSilence(until);
    return open;
  }

  /**
   * Stages what is missing and reads everything. If another call discards it meanwhile, the work fails, or finds nothing.
   * @throws the refusals of `sessions.getShown`
   */
  async function readStaged<Result>(
    projectId: number,
    chosen: ChosenSession,
    read: (id: number) => Promise<Result>,
  ): Promise<Result> {
    const { id } = await sessions.getShown(projectId, chosen);
    const stillOpen = async () => refuseOther(await sessions.getAny(projectId), id);
    const staged = commits.complete(projectId, id).then(() => read(id));
    const result = await staged.catch(async (error: unknown) => {
      // A missing payload was removed with its full update.
      if (!(error instanceof ServiceError) || error.code === 'payload_damaged') await stillOpen();
      throw error;
    });
    await stillOpen();
    return result;
  }

  const compare = (projectId: number, chosen: ChosenSession, withIdentifiers: boolean) =>
    readStaged(projectId, chosen, (id) =>
      store.compareStaged(projectId, { fullUpdateId: id, withIdentifiers }),
    );

  /** Uses the figures at the time of the call; the commit checks again when its turn comes. */
  async function checkGuard(projectId: number, fullUpdateId: number, limit: DeleteLimit): Promise<void> {
    if (limit.allowDeletes === undefined && limit.maxDeletePercent >= 100) return;
    const { present, deleted } = await compare(projectId, { fullUpdateId, caller: '' }, false);
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
    openFor: (task: Task) =>
      open({ projectId: task.projectId, origin: originOf(task), openedBy: null }, async (_, id) => id),
    /** @throws every refusal of a body; then nothing is stored */
    async addFor(task: Task, fullUpdateId: number, body: RawBody): Promise<void> {
      const project = { id: task.projectId, name: task.projectName };
      await accept(fullUpdateId, { project, body, record: async () => {}, parent: task });
    },
    commitAsPart: commits.asPart,
    /** A dry run of the commit. @throws the refusals of `sessions.getShown` */
    preview: (projectId: number, chosen: ChosenSession) => compare(projectId, chosen, true),
    /** Products that a commit would delete, by identifier. @throws the refusals of `sessions.getShown` */
    listDeleted: (
      projectId: number,
      chosen: ChosenSession,
      page: Omit<DeletedPage, 'fullUpdateId'>,
    ): Promise<readonly ListedRow[]> =>
      readStaged(projectId, chosen, (id) => store.listDeleted(projectId, { ...page, fullUpdateId: id })),
    /** Counts a batch that is about to be read. @throws full_update_replaced, full_update_foreign, full_update_other */
    async expect(projectId: number, chosen: ChosenSession) {
      const arriving = await failedBatches.expect(projectId, chosen);
      if (arriving === undefined) await sessions.refuseForeign(projectId, chosen);
      return arriving;
    },
    repeats: createRepeatChecks(parts, ORIGIN),
    /** Called at the start. */
    closeEnded: commits.closeEnded,
  };
}

/** @throws full_update_other */
function refuseOther(open: FullUpdate, id: number): FullUpdate {
  if (open.id === id) return open;
  throw new ServiceError('full_update_other', { values: [open.id, id] });
}

/**
 * Refuses a full update that lacks something that was sent. A caller's counts prove that nothing is missing, whatever
 * happened to other processes. @throws full_update_arriving, _batch_failed, _empty, _incomplete, _in_doubt
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
  if (hasCounts(counts)) refuseOtherCounts(countAccepted(accepted), counts);
  else if (lastBatch === 'in doubt') throw new ServiceError('full_update_in_doubt');
}

const hasCounts = ({ batches, products }: AcceptedCounts): boolean => (batches ?? products) !== undefined;

/** @throws full_update_incomplete */
function refuseOtherCounts(held: AcceptedBatches, counts: AcceptedCounts): void {
  for (const what of ['batches', 'products'] as const) {
    const sent = counts[what];
    if (sent === undefined || sent === held[what]) continue;
    throw new ServiceError('full_update_incomplete', { values: [held[what], what, sent] });
  }
}

/** Source: docs/interface §4.4, answer of start. */
const describeStarted = (task: Task): StartAnswered => ({
  status: 'success',
  data: answerToTask(SUCCESS_TEXTS.start, task),
});
