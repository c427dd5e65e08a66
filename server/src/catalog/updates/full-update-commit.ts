import { recordEvents } from '../../events/events.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { PartRequest, Task, TaskDefinition, TaskFailure, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts, CatalogSettings } from '../catalog-parts.ts';
import type { ChangeAuthor, ChangeCounts, DeleteLimit, ReportPart, ReportPlace, UndoOrder } from '../port.ts';
import { openPassage } from '../report-lines.ts';
import { refuseDeletes } from './delete-guard.ts';
import type { FullUpdateEnd } from './full-update-end.ts';
import { beginCommit, findFullUpdate } from './full-update-store.ts';
import { stageAccepted } from './stage-accepted.ts';
import type { Staging } from './staging.ts';
import { undoLimitsOf } from './undoable-commits.ts';

interface CommitPayload {
  readonly fullUpdateId: number;
  readonly allowDeletes?: number;
  /** Applies if it is stricter than the limit of the project. */
  readonly maxDeletePercent?: number;
  /** Absent if an earlier version accepted the commit. */
  readonly author?: ChangeAuthor;
}

/** Limits of a commit that is part of a task. */
export interface PartLimits {
  readonly maxDeletePercent: number;
  readonly author: ChangeAuthor;
}

/** How often a commit is prepared again because the ontology has changed. */
const ATTEMPTS = 10;

type CommitLimits = DeleteLimit &
  Pick<UndoOrder, 'author'> &
  Pick<CatalogSettings, 'keptCommits' | 'keptDays'>;

const describeRefused = (fullUpdateId: number, error: TaskFailure) => ({
  type: 'catalog.commit_refused' as const,
  data: { fullUpdateId, error },
});

/** The commit of a full update, as a task. Source: docs/interface §4.4. */
export class FullUpdateCommit {
  readonly task: TaskDefinition<CommitPayload>;
  private readonly parts: CatalogParts;
  private readonly staging: Staging;
  private readonly ends: FullUpdateEnd;

  constructor(parts: CatalogParts, staging: Staging, ends: FullUpdateEnd) {
    this.parts = parts;
    this.staging = staging;
    this.ends = ends;
    this.task = {
      kind: 'catalog.commit',
      name: 'Api triggered full update',
      increment: 'STEP_BASED',
      acceptedAs: 'RUNNING',
      isOrdered: true,
      run: (payload, run) => this.run(payload, run),
      eventOfEnd: ({ fullUpdateId }, { failure }) =>
        failure === undefined ? undefined : describeRefused(fullUpdateId, failure),
      ended: async ({ fullUpdateId: id }, { status, projectId }) => {
        if (status !== 'FINISHED') await ends.close({ id, projectId }, 'discarded');
      },
    };
  }

  /** The commit of a full update that a task has filled, as a part of that task. */
  asPart(fullUpdateId: number, limits: PartLimits): PartRequest {
    return {
      definition: this.task,
      payload: { fullUpdateId, ...limits } satisfies CommitPayload,
      async alongside(tx, { projectId, id: taskId }) {
        const { begun } = await beginCommit(tx, { projectId, id: fullUpdateId, taskId });
        if (begun === undefined) throw new ServiceError('full_update_missing');
      },
    };
  }

  /** Records the refusal of a commit that has no task yet. */
  async recordRefusal(projectId: number, fullUpdateId: number, refusal: ServiceError): Promise<void> {
    const { database, tasks, clock } = this.parts;
    const event = { at: clock.now(), ...describeRefused(fullUpdateId, tasks.describeFailure(refusal)) };
    await database.write('rows', (tx) => recordEvents(tx, projectId, [event]));
  }

  /**
   * A repeated start may allow the number of deletes of the first one, or the number that the commit made.
   * @throws deletes_not_exact, full_update_started
   */
  refuseOtherDeletes({ id, payload, result }: Task, allowDeletes: number | undefined): void {
    if (allowDeletes === undefined) return;
    const { allowDeletes: first } = JSON.parse(payload) as CommitPayload;
    const { deleted = first } = (result ?? {}) as Partial<ChangeCounts>;
    if (deleted === allowDeletes) return;
    if (deleted === undefined) throw new ServiceError('full_update_started', { values: [id] });
    const details = [`task ${id} commits the full update with ${deleted} deletes`];
    throw new ServiceError('deletes_not_exact', {
      values: ['full update', deleted, 'products', allowDeletes],
      details,
    });
  }

  private async run(
    { fullUpdateId, allowDeletes, author, maxDeletePercent: own = 100 }: CommitPayload,
    run: TaskRun,
  ): Promise<void> {
    const { parts } = this;
    const { projectId } = run.task;
    const key = { id: fullUpdateId, projectId };
    const update = await findFullUpdate(parts.database.read, key);
    // The commit took effect before a crash, but its task was not marked as finished.
    if (update?.state === 'committed') return;
    const settings = await parts.getSettings(projectId);
    const maxDeletePercent = Math.min(settings.maxDeletePercent, own);
    const limits = { ...settings, maxDeletePercent, allowDeletes, author };
    const { result, created } = await this.commitSettled(run, fullUpdateId, limits);
    if (result.kind === 'guarded') {
      const refusal = refuseDeletes(result, limits, own < settings.maxDeletePercent ? 'pipeline' : 'project');
      parts.onCommitRefused(refusal.code);
      throw refusal;
    }
    await parts.onOntologyFollowed(run);
    await openPassage(run).pass(created);
    await this.report(run, fullUpdateId, result.counts);
    // The commit is reported before its bodies are removed, because removing a body of 15 MB takes 2 ms.
    const bodies = await this.ends.end(key, 'committed');
    // The commit took effect, so bodies that remain only take space.
    this.ends
      .removeBodies(projectId, bodies)
      .catch((error: unknown) =>
        parts.logger.warn(
          { err: error, project: projectId },
          'removing the bodies of a full update failed; the next start removes them',
        ),
      );
  }

  /**
   * Stages missing batches, drafts the new attributes and commits. It repeats this if the ontology has changed in
   * between.
   */
  private async commitSettled(
    run: TaskRun,
    fullUpdateId: number,
    { keptCommits, keptDays, ...limits }: CommitLimits,
  ) {
    const { store, clock } = this.parts;
    const { projectId, number: taskNumber } = run.task;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      run.signal.throwIfAborted();
      const batches = await stageAccepted(this.parts, this.staging, { projectId, id: fullUpdateId });
      await run.progress(30);
      const ontology = await store.getOntology(projectId);
      const { mode, revision } = ontology;
      const settled = await this.staging.settle(projectId, fullUpdateId, revision);
      if (settled === undefined) continue;
      const { newAttributes, report: created } = settled;
      const prepared = { fullUpdateId, batches, revision, mode, newAttributes, ...limits };
      const now = clock.now();
      const order = { taskNumber, at: now, ...prepared, ...undoLimitsOf({ keptCommits, keptDays }, now) };
      const result = await run.takeEffect(() => store.commit(projectId, order));
      if (result.kind !== 'stale') return { result, created };
    }
    throw new Error(`the ontology changed during each of ${ATTEMPTS} attempts to commit a full update`);
  }

  private async report(run: TaskRun, fullUpdateId: number, counts: ChangeCounts): Promise<void> {
    const { store } = this.parts;
    const { projectId } = run.task;
    const passage = openPassage(run);
    for (let next: ReportPlace | undefined = { batch: 0, at: 0 }; next !== undefined; ) {
      const part: ReportPart = await store.readStagedReports(projectId, { fullUpdateId, ...next });
      await passage.pass(part.lines);
      next = part.next;
    }
    const warnings = await passage.end();
    const { created, changed, unchanged, deleted } = counts;
    await run.log(
      `created ${created}, changed ${changed}, unchanged ${unchanged}, deleted ${deleted} products`,
    );
    run.count({ created, changed, unchanged, deleted, ...warnings });
    this.parts.onProductsWritten(projectId, { created, changed, deleted });
  }
}
