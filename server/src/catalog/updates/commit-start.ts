import type { RecordAnswer } from '../../http/answers/answers.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { ChangeAuthor, DeleteLimit } from '../port.ts';
import {
  type AcceptedCounts,
  hasCounts,
  refuseMissingBatches,
  refuseOtherCounts,
} from './accepted-counts.ts';
import { countAccepted, listBatches } from './batch-store.ts';
import { isGuarded, refuseDeletes } from './delete-guard.ts';
import { COMMIT_WAIT_MS, type FailedBatches } from './failed-batches.ts';
import type { FullUpdateCommit } from './full-update-commit.ts';
import {
  beginCommit,
  type ChosenSession,
  type FullUpdate,
  hasBegunAnotherSince,
  noteHeld,
  ORIGIN_OF_CALLERS,
} from './full-update-store.ts';
import { refuseOther, type SessionChoice } from './session-choice.ts';
import type { StagedPreview } from './staged-preview.ts';
import { answerToTask, type StartAnswered, SUCCESS_TEXTS } from './update-answers.ts';

interface StartParts {
  readonly choice: SessionChoice;
  readonly failedBatches: FailedBatches;
  readonly preview: StagedPreview;
  readonly commit: FullUpdateCommit;
}

interface StartOptions extends AcceptedCounts, ChosenSession {
  readonly record: RecordAnswer<StartAnswered>;
  readonly author: ChangeAuthor;
  readonly allowDeletes?: number;
}

/**
 * Starts commits: it checks each full update and accepts the task of its commit. Source: docs/interface §4.4 rules 12
 * to 24 and 29.
 */
export class CommitStart {
  private readonly parts: CatalogParts;
  private readonly choice: SessionChoice;
  private readonly failedBatches: FailedBatches;
  private readonly preview: StagedPreview;
  private readonly commit: FullUpdateCommit;

  constructor(parts: CatalogParts, { choice, failedBatches, preview, commit }: StartParts) {
    this.parts = parts;
    this.choice = choice;
    this.failedBatches = failedBatches;
    this.preview = preview;
    this.commit = commit;
  }

  /**
   * Accepts the commit. A connector that repeats a start gets the task of its first start.
   * @throws full_update_missing, _other, _started, _arriving, _empty, _batch_failed, _in_doubt, _incomplete,
   * delete_guard, …
   */
  async start(project: ChosenProject, options: StartOptions): Promise<StartAnswered> {
    try {
      return describeStarted(await this.beginOrRepeat(project, options));
    } catch (error) {
      if (error instanceof ServiceError) this.parts.onCommitRefused(error.code);
      throw error;
    }
  }

  /**
   * A full update is no longer open when its commit has begun. So a start that finds no open full update may repeat
   * an earlier start.
   */
  private async beginOrRepeat(project: ChosenProject, options: StartOptions): Promise<Task> {
    try {
      return await this.begin(project, options);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const started = await this.choice.findStarted(project.id, options);
      if (started?.commitTaskId === undefined) throw error;
      return this.repeat(started, started.commitTaskId, options);
    }
  }

  /** Checks the full update. Then one transaction closes it for batches and stores the task and the answer. */
  private async begin(
    project: ChosenProject,
    { caller, fullUpdateId, allowDeletes, record, author, ...counts }: StartOptions,
  ): Promise<Task> {
    const chosen = await this.choice.getOpen(project.id, { caller, fullUpdateId });
    const open = await this.waitUntilWhole(chosen, counts);
    const { maxDeletePercent } = await this.parts.getSettings(project.id);
    await this.checkGuard(project.id, open.id, { maxDeletePercent, allowDeletes });
    const payload = { fullUpdateId: open.id, author, ...(allowDeletes !== undefined && { allowDeletes }) };
    return this.parts.tasks.acceptWith(this.commit.task, { project, payload }, async (tx, task) => {
      const key = { projectId: project.id, id: open.id };
      const { begun, commitTaskId = '' } = await beginCommit(tx, { ...key, taskId: task.id });
      if (begun === undefined) throw new ServiceError('full_update_started', { values: [commitTaskId] });
      // A batch may have begun or failed after the check above.
      const batches = await listBatches(tx, open);
      refuseMissingBatches(this.failedBatches.stateOf(begun), batches, counts);
      await noteHeld(tx, key, countAccepted(batches));
      await record(tx, describeStarted(task));
      return task;
    });
  }

  /** Waits briefly for arriving batches. @throws the refusals of `refuseMissingBatches`, not_ready */
  private async waitUntilWhole(chosen: FullUpdate, counts: AcceptedCounts): Promise<FullUpdate> {
    const { choice, failedBatches } = this;
    const until = performance.now() + COMMIT_WAIT_MS;
    const find = () => choice.getAny(chosen.projectId).then((open) => refuseOther(open, chosen.id));
    const open = chosen.arriving === 0 ? chosen : await failedBatches.waitForArriving(find, until);
    const batches = await listBatches(this.parts.database.read, open);
    refuseMissingBatches(failedBatches.stateOf(open), batches, counts);
    if (!hasCounts(counts)) await failedBatches.refuseSilence(until);
    return open;
  }

  /** Compares the present products with the staged ones. The commit checks again when its turn comes. */
  private async checkGuard(projectId: number, fullUpdateId: number, limit: DeleteLimit): Promise<void> {
    if (limit.allowDeletes === undefined && limit.maxDeletePercent >= 100) return;
    const { present, deleted } = await this.preview.compare(projectId, { fullUpdateId, caller: '' }, false);
    if (!isGuarded(limit, present, deleted.count)) return;
    const refusal = refuseDeletes({ present, deleted: deleted.count }, limit);
    await this.commit.recordRefusal(projectId, fullUpdateId, refusal);
    throw refusal;
  }

  /**
   * @returns the task of a commit that began before
   * @throws the refusal of a start whose parameters differ from the first one
   */
  private async repeat(
    update: FullUpdate,
    commitTaskId: string,
    { caller, allowDeletes, ...counts }: Pick<StartOptions, 'caller' | 'allowDeletes'> & AcceptedCounts,
  ): Promise<Task> {
    const task = await this.findCommit(update, commitTaskId, caller);
    // An earlier version began the commit without storing counts, so nothing shows what the full update had.
    if (hasCounts(counts) && update.held === undefined)
      throw new ServiceError('full_update_started', { values: [commitTaskId] });
    if (update.held !== undefined) refuseOtherCounts(update.held, counts);
    this.commit.refuseOtherDeletes(task, allowDeletes);
    return task;
  }

  /**
   * @throws full_update_missing for a discarded full update, full_update_started for a commit without effect or a
   * deleted task
   */
  private async findCommit(
    { id, projectId }: FullUpdate,
    commitTaskId: string,
    caller: string,
  ): Promise<Task> {
    const { database, tasks } = this.parts;
    if (await hasBegunAnotherSince(database, { id, projectId, caller, origin: ORIGIN_OF_CALLERS }))
      throw new ServiceError('full_update_missing');
    const task = await tasks.find(commitTaskId);
    if (task === undefined || task.status === 'FAILED' || task.status === 'CANCELLED')
      throw new ServiceError('full_update_started', { values: [commitTaskId] });
    return task;
  }
}

/** Source: docs/interface §4.4, answer of start. */
const describeStarted = (task: Task): StartAnswered => ({
  status: 'success',
  data: answerToTask(SUCCESS_TEXTS.start, task),
});
