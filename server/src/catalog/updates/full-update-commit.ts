import { recordEvents } from '../../events/events.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { PartRequest, Task, TaskDefinition, TaskFailure, TaskRun } from '../../tasks/tasks.ts';
import type { CatalogParts, CatalogSettings } from '../catalog-parts.ts';
import type { ChangeAuthor, ChangeCounts, DeleteLimit, ReportPart, ReportPlace, UndoOrder } from '../port.ts';
import { openPassage } from '../report-lines.ts';
import { refuseDeletes } from './delete-guard.ts';
import {
  beginCommit,
  closeFullUpdate,
  type FullUpdate,
  findFullUpdate,
  listBatches,
  listUnclosed,
} from './full-update-store.ts';
import type { Staging } from './staging.ts';
import { undoLimitsOf } from './undoable-commits.ts';

interface CommitPayload {
  readonly fullUpdateId: number;
  readonly allowDeletes?: number;
  /** Applies if it is stricter than the project's. */
  readonly maxDeletePercent?: number;
  /** Absent: accepted by an earlier version. */
  readonly author?: ChangeAuthor;
}

/** Limits of a commit that a task makes. */
export interface PartLimits {
  readonly maxDeletePercent: number;
  readonly author: ChangeAuthor;
}

/** The limit of a stored body was checked when it arrived. */
const ANY_SIZE_MIB = 1024;
/** A commit is prepared again if the ontology changed meanwhile; more often than this, something is wrong. */
const ATTEMPTS = 10;

type CommitLimits = DeleteLimit &
  Pick<UndoOrder, 'author'> &
  Pick<CatalogSettings, 'keptCommits' | 'keptDays'>;

const describeRefused = (fullUpdateId: number, error: TaskFailure) => ({
  type: 'catalog.commit_refused' as const,
  data: { fullUpdateId, error },
});

/** The end of full updates: the commit, as a task, or a discard. Uploads end with it. Source: docs/interface §4.4. */
export function createFullUpdateCommits(parts: CatalogParts, staging: Staging) {
  const { database, store, tasks, clock, logger } = parts;
  const task: TaskDefinition<CommitPayload> = {
    kind: 'catalog.commit',
    name: 'Api triggered full update',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: true,
    run: runCommit,
    eventOfEnd: ({ fullUpdateId }, { failure }) =>
      failure === undefined ? undefined : describeRefused(fullUpdateId, failure),
    ended: async ({ fullUpdateId }, { status, projectId }) => {
      if (status !== 'FINISHED') await close(projectId, fullUpdateId, 'discarded');
    },
  };

  const asPart = (fullUpdateId: number, limits: PartLimits): PartRequest => ({
    definition: task,
    payload: { fullUpdateId, ...limits } satisfies CommitPayload,
    async alongside(tx, { projectId, id: taskId }) {
      const { begun } = await beginCommit(tx, { projectId, id: fullUpdateId, taskId });
      if (begun === undefined) throw new ServiceError('full_update_missing');
    },
  });

  /** For a commit that is refused before it has a task. */
  async function recordRefusal(projectId: number, fullUpdateId: number, refusal: ServiceError) {
    const event = { at: clock.now(), ...describeRefused(fullUpdateId, tasks.describeFailure(refusal)) };
    await database.write('rows', (tx) => recordEvents(tx, projectId, [event]));
  }

  async function complete(projectId: number, fullUpdateId: number): Promise<number> {
    const batches = await listBatches(database.read, { id: fullUpdateId, projectId });
    const accepted = batches.map(({ batch, payloadName, encoding }) => ({
      batch,
      source: { handle: 0, payloadName, encoding, maxMib: ANY_SIZE_MIB, form: 'products' as const },
    }));
    await staging.complete(projectId, fullUpdateId, accepted);
    await store.keepSkipped(projectId, { fullUpdateId });
    return batches.length;
  }

  async function runCommit(
    { fullUpdateId, allowDeletes, author, maxDeletePercent: own = 100 }: CommitPayload,
    run: TaskRun,
  ): Promise<void> {
    const { projectId } = run.task;
    const update = await findFullUpdate(database.read, { id: fullUpdateId, projectId });
    // It had ended before a crash, but was not marked so.
    if (update?.state === 'committed') return;
    const settings = await parts.getSettings(projectId);
    const maxDeletePercent = Math.min(settings.maxDeletePercent, own);
    const limits = { ...settings, maxDeletePercent, allowDeletes, author };
    const { result, created } = await commitSettled(run, fullUpdateId, limits);
    if (result.kind === 'guarded') {
      const refusal = refuseDeletes(result, limits, own < settings.maxDeletePercent ? 'pipeline' : 'project');
      parts.onCommitRefused(refusal.code);
      throw refusal;
    }
    await parts.onOntologyFollowed(run);
    await openPassage(run).pass(created);
    await reportCommit(run, fullUpdateId, result.counts);
    // The commit is reported before its bodies are removed, which takes 2 ms for each of 15 MB.
    const bodies = await end(projectId, fullUpdateId, 'committed');
    // The commit took effect; bodies that remain only take space.
    removeBodies(projectId, bodies).catch((error: unknown) =>
      logger.warn({ err: error, project: projectId }, 'bodies are removed at the next start'),
    );
  }

  async function commitSettled(
    run: TaskRun,
    fullUpdateId: number,
    { keptCommits, keptDays, ...limits }: CommitLimits,
  ) {
    const { projectId, number: taskNumber } = run.task;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      run.signal.throwIfAborted();
      const batches = await complete(projectId, fullUpdateId);
      await run.progress(30);
      const ontology = await store.getOntology(projectId);
      const { mode, revision } = ontology;
      const settled = await staging.settle(projectId, fullUpdateId, revision);
      if (settled === undefined) continue;
      const { newAttributes, report: created } = settled;
      const prepared = { fullUpdateId, batches, revision, mode, newAttributes, ...limits };
      const at = clock.now();
      const order = { taskNumber, at, ...prepared, ...undoLimitsOf({ keptCommits, keptDays }, at) };
      const result = await run.takeEffect(() => store.commit(projectId, order));
      if (result.kind !== 'stale') return { result, created };
    }
    throw new Error('the ontology changed again and again while a full update was committed');
  }

  async function reportCommit(run: TaskRun, fullUpdateId: number, counts: ChangeCounts): Promise<void> {
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
    parts.onProductsWritten(projectId, { created, changed, deleted });
  }

  /** Uploads end with their full update. */
  async function close(projectId: number, fullUpdateId: number, state: 'committed' | 'discarded') {
    await removeBodies(projectId, await end(projectId, fullUpdateId, state));
  }

  /** @returns the payloads that are left */
  async function end(projectId: number, fullUpdateId: number, state: 'committed' | 'discarded') {
    const key = { id: fullUpdateId, projectId };
    const batches = await listBatches(database.read, key);
    const uploads = await Promise.all(batches.map(({ taskId }) => tasks.find(taskId)));
    const known = uploads.filter((task) => task !== undefined);
    await tasks.endTasks(known, state === 'committed' ? 'FINISHED' : 'CANCELLED');
    await closeFullUpdate(database, key, state);
    // Before its bodies are removed, as batches being staged are no longer needed.
    staging.forget(fullUpdateId);
    return batches.map(({ payloadName }) => payloadName);
  }

  async function removeBodies(projectId: number, names: readonly string[]): Promise<void> {
    for (const name of names) await parts.payloads.remove(projectId, name);
    parts.collectGarbage(projectId);
  }

  /** The new one is stored: whatever fails in closing the old ones is done with the next, or at the next start. */
  async function closeDiscarded(projectId: number): Promise<void> {
    try {
      for (const { id, ...one } of await listUnclosed(database))
        if (one.projectId === projectId && one.state === 'discarded') await close(projectId, id, 'discarded');
    } catch (error) {
      // No reader sees a discarded session; upkeep closes what is left.
      logger.warn({ err: error, project: projectId }, 'a discarded full update is closed later');
    }
  }

  /** Closes what a former process left half closed: it was discarded, or its commit has ended. */
  async function closeEnded(): Promise<void> {
    for (const { id, projectId, state, commitTaskId } of await listUnclosed(database)) {
      const commit = commitTaskId === undefined ? undefined : await tasks.find(commitTaskId);
      const isUnderWay = state === 'committing' && commit?.finishedAt === undefined;
      if (!isUnderWay) await close(projectId, id, endOf(state, commit));
    }
  }

  /** A repeated start may name the deletes of the first one, or those that the commit made. @throws deletes_not_exact, full_update_started */
  function refuseOtherDeletes({ id, payload, result }: Task, allowDeletes: number | undefined): void {
    if (allowDeletes === undefined) return;
    const { allowDeletes: first } = JSON.parse(payload) as CommitPayload;
    const { deleted = first } = (result ?? {}) as Partial<ChangeCounts>;
    if (deleted === allowDeletes) return;
    if (deleted === undefined) throw new ServiceError('full_update_started', { values: [id] });
    const details = [`task ${id} commits it, with ${deleted} deletes`];
    throw new ServiceError('deletes_not_exact', {
      values: ['full update', deleted, 'products', allowDeletes],
      details,
    });
  }

  return { task, asPart, refuseOtherDeletes, recordRefusal, complete, close, closeDiscarded, closeEnded };
}

const endOf = (state: FullUpdate['state'], commit: Task | undefined) =>
  state !== 'discarded' && commit?.status === 'FINISHED' ? 'committed' : 'discarded';
