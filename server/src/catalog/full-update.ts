import assert from 'node:assert/strict';
import type { RawBody, RecordAnswer } from '../http/http.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Task, TaskDefinition, TaskRun } from '../tasks/tasks.ts';
import type { CatalogParts } from './catalog-parts.ts';
import type { ChangeCounts, CommitResult, DeleteLimit, Difference } from './catalog-port.ts';
import { isGuarded, refuseDeletes } from './delete-guard.ts';
import { FullUpdateClosing } from './full-update-closing.ts';
import {
  addBatch,
  beginCommit,
  type FullUpdate,
  findFullUpdate,
  findLatestFullUpdate,
  listBatches,
  markBatchFailed,
  openFullUpdate,
} from './full-update-store.ts';
import type { OntologyChanges } from './ontology-changes.ts';
import type { ListedRow } from './product-list.ts';
import { passOnReport } from './report-lines.ts';
import type { Staging } from './staging.ts';
import { answerToUpdate, initiateAnswer, SUCCESS_TEXTS, startAnswer } from './update-answers.ts';

interface CommitPayload {
  readonly fullUpdateId: number;
  readonly allowDeletes?: number;
}

export interface UploadOptions {
  readonly fullUpdateId: number | undefined;
  readonly record: RecordAnswer;
}

export interface StartOptions extends UploadOptions {
  readonly allowDeletes: number | undefined;
}

const ORIGIN = 'LIVE-API';
/** A stored body passed its limit when it came. */
const ANY_SIZE_MIB = 1024;
/** A commit is prepared again when the ontology changed meanwhile; more often than this, something is wrong. */
const ATTEMPTS = 10;

/** Source: docs/interface.md §4.4. */
export class FullUpdates {
  readonly definitions: readonly TaskDefinition<never>[];
  private readonly parts: CatalogParts;
  private readonly staging: Staging;
  private readonly closing: FullUpdateClosing;
  private readonly ontology: Pick<OntologyChanges, 'startExtraction'>;
  /** Full updates whose last batch failed and whose mark could not be stored, because the disk is full. */
  private readonly unmarked = new Set<number>();
  private readonly uploadTask: TaskDefinition<{ fullUpdateId: number }> = {
    kind: 'catalog.upload',
    name: '',
    increment: 'ITEM_BASED',
    acceptedAs: 'PENDING',
    isOrdered: false,
  };
  private readonly commitTask: TaskDefinition<CommitPayload> = {
    kind: 'catalog.commit',
    name: 'Api triggered full update',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: true,
    run: (payload, run) => this.runCommit(payload, run),
    ended: async ({ fullUpdateId }, task) => {
      if (task.status !== 'FINISHED') await this.closing.close(task.projectId, fullUpdateId, 'discarded');
    },
  };

  constructor(parts: CatalogParts, staging: Staging, ontology: Pick<OntologyChanges, 'startExtraction'>) {
    this.parts = parts;
    this.staging = staging;
    this.closing = new FullUpdateClosing(parts, (fullUpdateId) => {
      staging.forget(fullUpdateId);
      this.unmarked.delete(fullUpdateId);
    });
    this.ontology = ontology;
    this.definitions = [this.uploadTask, this.commitTask] as never;
  }

  /** Begins a full update; an open one is discarded. */
  async initiate(project: ChosenProject, record: RecordAnswer) {
    const { database, clock } = this.parts;
    const id = await openFullUpdate(database, {
      projectId: project.id,
      origin: ORIGIN,
      now: clock.now(),
      alongside: (tx, opened) => record(tx, initiateAnswer(opened)),
    });
    await this.closing.closeDiscarded(project.id);
    return initiateAnswer(id);
  }

  /** @throws full_update_missing, full_update_other and every refusal of a body; then nothing is kept */
  async upload(
    project: ChosenProject,
    body: RawBody,
    { fullUpdateId, record }: UploadOptions,
  ): Promise<object> {
    const { tasks, payloads, ingest } = this.parts;
    const { id } = await this.getOpen(project.id, fullUpdateId);
    const { source, sent, parsed } = await ingest.accept(project.id, body, 'products');
    const { payloadName, encoding } = source;
    let accepted: { batch: number; answer: object } | undefined;
    try {
      await tasks.accept(this.uploadTask, {
        project,
        payload: { fullUpdateId: id },
        async alongside(tx, task) {
          const added = { fullUpdateId: id, taskId: task.id, payloadName, encoding, productCount: parsed };
          const batch = await addBatch(tx, { projectId: project.id, ...added });
          if (batch === undefined) throw new ServiceError('full_update_missing');
          accepted = { batch, answer: answerToUpdate(SUCCESS_TEXTS.upload, task, { sent, parsed }) };
          await record(tx, accepted.answer);
        },
      });
    } catch (error) {
      await payloads.remove(project.id, payloadName);
      throw error;
    }
    assert(accepted !== undefined);
    this.unmarked.delete(id);
    await this.staging.add(project.id, id, { batch: accepted.batch, source });
    return accepted.answer;
  }

  /** Notes that a batch was not accepted, so that a commit right after it is refused. */
  async noteFailedBatch(projectId: number): Promise<void> {
    const latest = await this.findLatest(projectId);
    if (latest?.state !== 'open') return;
    this.unmarked.add(latest.id);
    try {
      await markBatchFailed(this.parts.database, latest);
      this.unmarked.delete(latest.id);
    } catch (error) {
      this.parts.logger.warn(
        { err: error, fullUpdateId: latest.id },
        'a failed batch is only noted in memory',
      );
    }
  }

  async preview(projectId: number, fullUpdateId: number | undefined): Promise<Difference> {
    const { id } = await this.getOpen(projectId, fullUpdateId);
    await this.complete(projectId, id);
    return this.parts.store.compareStaged(projectId, id, true);
  }

  /** Products that a commit would delete, by identifier. @throws full_update_missing, full_update_other */
  async listDeleted(
    projectId: number,
    { wanted, after, limit }: { wanted: number | undefined; after: string; limit: number },
  ): Promise<readonly ListedRow[]> {
    const { id: fullUpdateId } = await this.getOpen(projectId, wanted);
    await this.complete(projectId, fullUpdateId);
    return this.parts.store.listDeleted(projectId, { fullUpdateId, after, limit });
  }

  /** @throws full_update_missing, _other, _started, _empty, _batch_failed, delete_guard, deletes_not_exact */
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
    { fullUpdateId, allowDeletes, record }: StartOptions,
  ): Promise<Task> {
    const { database, tasks } = this.parts;
    const latest = await this.findLatest(project.id);
    if (latest !== undefined && latest.state !== 'open') {
      throw new ServiceError('full_update_started', { values: [latest.commitTaskId ?? ''] });
    }
    const open = chooseOpen(latest, fullUpdateId);
    if (open.lastBatchFailed || this.unmarked.has(open.id))
      throw new ServiceError('full_update_batch_failed');
    if ((await listBatches(database, open)).length === 0) throw new ServiceError('full_update_empty');
    const { maxDeletePercent } = await this.parts.getSettings(project.id);
    await this.checkGuard(project.id, open.id, { maxDeletePercent, allowDeletes });
    return tasks.accept(this.commitTask, {
      project,
      payload: { fullUpdateId: open.id, ...(allowDeletes !== undefined && { allowDeletes }) },
      async alongside(tx, task) {
        const before = await beginCommit(tx, {
          projectId: project.id,
          fullUpdateId: open.id,
          taskId: task.id,
        });
        if (before.begun) return record(tx, startAnswer(task));
        throw new ServiceError('full_update_started', { values: [before.commitTaskId ?? ''] });
      },
    });
  }

  /** Called at the start. */
  closeEnded(): Promise<void> {
    return this.closing.closeEnded();
  }

  private findLatest(projectId: number): Promise<FullUpdate | undefined> {
    return findLatestFullUpdate(this.parts.database, { projectId, origin: ORIGIN });
  }

  private async getOpen(projectId: number, wanted: number | undefined): Promise<FullUpdate> {
    return chooseOpen(await this.findLatest(projectId), wanted);
  }

  /** @returns how many batches there are */
  private async complete(projectId: number, fullUpdateId: number): Promise<number> {
    const batches = await listBatches(this.parts.database, { id: fullUpdateId, projectId });
    const accepted = batches.map(({ batch, payloadName, encoding }) => ({
      batch,
      source: { handle: 0, payloadName, encoding, maxMib: ANY_SIZE_MIB, form: 'products' as const },
    }));
    await this.staging.complete(projectId, fullUpdateId, accepted);
    return batches.length;
  }

  private async runCommit({ fullUpdateId, allowDeletes }: CommitPayload, run: TaskRun): Promise<void> {
    const { projectId } = run.task;
    const update = await findFullUpdate(this.parts.database, { id: fullUpdateId, projectId });
    // It ended before a crash that forgot to say so.
    if (update?.state === 'committed') return;
    const limits = { ...(await this.parts.getSettings(projectId)), allowDeletes };
    const result = await this.commitSettled(run, fullUpdateId, limits);
    if (result.kind === 'guarded') {
      const refusal = refuseDeletes(result, limits);
      this.parts.onCommitRefused(refusal.code);
      throw refusal;
    }
    await this.parts.onOntologyFollowed(run);
    await this.reportCommit(run, fullUpdateId, result.counts);
    if (result.needsExtraction) {
      await this.ontology.startExtraction({ id: projectId, name: run.task.projectName });
    }
    await this.closing.close(projectId, fullUpdateId, 'committed');
  }

  private async commitSettled(
    run: TaskRun,
    fullUpdateId: number,
    limits: DeleteLimit & { keptCommits: number },
  ): Promise<Exclude<CommitResult, { kind: 'stale' }>> {
    const { store, clock } = this.parts;
    const { projectId, number: taskNumber } = run.task;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      run.signal.throwIfAborted();
      const batches = await this.complete(projectId, fullUpdateId);
      await run.progress(30);
      const { mode, revision, attributes } = await store.getOntology(projectId);
      const newAttributes = await this.staging.settle(projectId, fullUpdateId, {
        mode,
        revision,
        attributes,
      });
      if (newAttributes === undefined) continue;
      const prepared = { fullUpdateId, batches, revision, mode, newAttributes, ...limits };
      const order = { taskNumber, at: clock.now(), ...prepared };
      const result = await run.takeEffect(() => store.commit(projectId, order));
      if (result.kind !== 'stale') return result;
    }
    throw new Error('the ontology changed again and again while a full update was committed');
  }

  private async reportCommit(run: TaskRun, fullUpdateId: number, counts: ChangeCounts): Promise<void> {
    const { store, onProductsWritten } = this.parts;
    const passOn = passOnReport(run);
    for (const lines of await store.readStagedReports(run.task.projectId, fullUpdateId)) passOn(lines);
    const { created, changed, unchanged, deleted } = counts;
    await run.log(
      `created ${created}, changed ${changed}, unchanged ${unchanged}, deleted ${deleted} products`,
    );
    onProductsWritten(run.task.projectId, { created, changed, deleted });
  }

  /** The figures of the delete guard, at the call; the commit checks again when its turn comes. */
  private async checkGuard(projectId: number, fullUpdateId: number, limit: DeleteLimit): Promise<void> {
    if (limit.allowDeletes === undefined && limit.maxDeletePercent >= 100) return;
    await this.complete(projectId, fullUpdateId);
    const { present, deleted } = await this.parts.store.compareStaged(projectId, fullUpdateId, false);
    if (isGuarded(limit, present, deleted.count))
      throw refuseDeletes({ present, deleted: deleted.count }, limit);
  }
}

/** @throws full_update_missing, full_update_other */
function chooseOpen(latest: FullUpdate | undefined, wanted: number | undefined): FullUpdate {
  if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
  if (wanted === undefined || wanted === latest.id) return latest;
  throw new ServiceError('full_update_other', { values: [latest.id, wanted] });
}
