import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { PagePlace } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import type { SourceStamp } from '../sources/sources.ts';
import type { Pipeline, PipelineDefinition } from './pipeline.ts';

type Rows = Database['read'] | ControlTransaction;
type PipelineRow = Selectable<ControlSchema['pipeline']>;

/** The key of a pipeline: rows are stored by project. */
export type PipelineKey = Pick<Pipeline, 'projectId' | 'id'>;

/** A pipeline found by its trigger, not by a call that names its project. */
export interface FoundPipeline {
  readonly pipeline: Pipeline;
  /** Never a deleted one. */
  readonly project: ChosenProject;
}

export function readPipeline(row: PipelineRow): Pipeline {
  return {
    id: row.id,
    projectId: row.project_id,
    definition: JSON.parse(row.definition) as PipelineDefinition,
    sealed: row.secrets ?? undefined,
    revision: row.revision,
    triggerId: row.trigger_id,
    triggeredAt: row.triggered_at ?? undefined,
    nextRunAt: row.next_run_at ?? undefined,
    stamp: row.stamp === null ? undefined : (JSON.parse(row.stamp) as SourceStamp),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export type NewPipeline = Pick<
  Pipeline,
  'projectId' | 'definition' | 'triggerId' | 'nextRunAt' | 'createdAt'
>;

export async function insertPipeline(tx: ControlTransaction, added: NewPipeline): Promise<Pipeline> {
  const row = await tx
    .insertInto('pipeline')
    .values({
      project_id: added.projectId,
      definition: JSON.stringify(added.definition),
      secrets: null,
      revision: 1,
      trigger_id: added.triggerId,
      triggered_at: null,
      next_run_at: added.nextRunAt ?? null,
      stamp: null,
      created_at: added.createdAt,
      updated_at: added.createdAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return readPipeline(row);
}

export async function countPipelines(rows: Rows, projectId: number): Promise<number> {
  const { count } = await rows
    .selectFrom('pipeline')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** @returns by id */
export async function listPipelines(rows: Rows, projectId: number, place: PagePlace): Promise<Pipeline[]> {
  const found = await rows
    .selectFrom('pipeline')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '>', place.after ?? 0)
    .orderBy('id')
    .limit(place.count)
    .execute();
  return found.map(readPipeline);
}

/** @returns pipelines of any project whose source may have headers that nobody sealed yet, by id */
export async function listUnsealed(rows: Rows, after: number, limit: number): Promise<Pipeline[]> {
  const found = await rows
    .selectFrom('pipeline')
    .selectAll()
    .where('secrets', 'is', null)
    .where('definition', 'like', '%"headers"%')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return found.map(readPipeline);
}

export async function findPipeline(rows: Rows, key: PipelineKey): Promise<Pipeline | undefined> {
  const row = await rows.selectFrom('pipeline').selectAll().where(isThat(key)).executeTakeFirst();
  return row && readPipeline(row);
}

/** Writes everything that a call can change. */
export async function updatePipeline(tx: ControlTransaction, pipeline: Pipeline): Promise<void> {
  await tx
    .updateTable('pipeline')
    .set({
      definition: JSON.stringify(pipeline.definition),
      secrets: pipeline.sealed ?? null,
      revision: pipeline.revision,
      trigger_id: pipeline.triggerId,
      next_run_at: pipeline.nextRunAt ?? null,
      stamp: pipeline.stamp === undefined ? null : JSON.stringify(pipeline.stamp),
      updated_at: pipeline.updatedAt,
    })
    .where(isThat(pipeline))
    .execute();
}

export async function removePipeline(tx: ControlTransaction, key: PipelineKey): Promise<void> {
  await tx.deleteFrom('pipeline').where(isThat(key)).execute();
}

/** Deletes the pipelines of a project that is removed for good. */
export async function removePipelinesOf(tx: ControlTransaction, projectId: number): Promise<void> {
  for (const table of ['pipeline', 'pipeline_run'] as const)
    await tx.deleteFrom(table).where('project_id', '=', projectId).execute();
}

/** Relies on the index pipeline_by_trigger. */
export async function findByTrigger(rows: Rows, triggerId: string): Promise<FoundPipeline | undefined> {
  const row = await selectWithProject(rows).where('pipeline.trigger_id', '=', triggerId).executeTakeFirst();
  return row && toFound(row);
}

/**
 * Counts a call of the webhook, unless one was accepted within the window.
 * @returns undefined when it is counted, else ms until the window ends
 */
export async function countTrigger(
  tx: ControlTransaction,
  { projectId, id, windowMs }: PipelineKey & { readonly windowMs: number },
  { now }: Pick<Database, 'now'>,
): Promise<number | undefined> {
  const counted = await tx
    .updateTable('pipeline')
    .set({ triggered_at: now })
    .where(isThat({ projectId, id }))
    .where(
      sql<boolean>`(triggered_at is null or triggered_at <= ${now} - ${sql.lit(windowMs)} or triggered_at > ${now})`,
    )
    .executeTakeFirst();
  return Number(counted.numUpdatedRows) > 0
    ? undefined
    : findWindow(tx, { projectId, id, windowMs }, { now });
}

/** @returns ms until the window of the last accepted call ends; 0 when it has ended */
export async function findWindow(
  rows: Rows,
  { projectId, id, windowMs }: PipelineKey & { readonly windowMs: number },
  { now }: Pick<Database, 'now'>,
): Promise<number> {
  const row = await rows
    .selectFrom('pipeline')
    .select(sql<number>`triggered_at + ${sql.lit(windowMs)} - ${now}`.as('rest'))
    .where(isThat({ projectId, id }))
    .executeTakeFirst();
  return Math.min(windowMs, Math.max(0, Number(row?.rest ?? 0)));
}

/** @returns schedules that are due, the longest overdue first, behind `after`; relies on the index pipeline_by_schedule */
export async function listDue(
  { read, now }: Pick<Database, 'read' | 'now'>,
  { after, limit }: { readonly after: Pipeline | undefined; readonly limit: number },
): Promise<FoundPipeline[]> {
  const rows = await selectWithProject(read)
    .$if(after !== undefined, (query) =>
      query.where(
        sql<boolean>`(pipeline.next_run_at, pipeline.project_id, pipeline.id)
          > (${after?.nextRunAt}, ${after?.projectId}, ${after?.id})`,
      ),
    )
    .where('pipeline.next_run_at', 'is not', null)
    // A volatile clock function cannot bound an index scan; a value read before can.
    .where('pipeline.next_run_at', '<=', sql<number>`(select ${now})`)
    .orderBy('pipeline.next_run_at')
    .orderBy('pipeline.project_id')
    .orderBy('pipeline.id')
    .limit(limit)
    .execute();
  return rows.map(toFound);
}

/** @returns false when another process has moved it, or the pipeline was changed */
export async function moveSchedule(
  tx: ControlTransaction,
  pipeline: PipelineKey & Pick<Pipeline, 'nextRunAt'>,
  nextRunAt: number | undefined,
): Promise<boolean> {
  const moved = await tx
    .updateTable('pipeline')
    .set({ next_run_at: nextRunAt ?? null })
    .where(isThat(pipeline))
    .where('next_run_at', '=', pipeline.nextRunAt ?? null)
    .executeTakeFirst();
  return Number(moved.numUpdatedRows) > 0;
}

function isThat({ projectId, id }: PipelineKey) {
  return (eb: ExpressionBuilder<ControlSchema, 'pipeline'>) =>
    eb.and([eb('project_id', '=', projectId), eb('id', '=', id)]);
}

function selectWithProject(rows: Rows) {
  return rows
    .selectFrom('pipeline')
    .innerJoin('project', 'project.id', 'pipeline.project_id')
    .selectAll('pipeline')
    .select(['project.name as projectName', 'project.account_id as accountId'])
    .where('project.deleted_at', 'is', null);
}

function toFound(row: PipelineRow & { projectName: string; accountId: number }): FoundPipeline {
  const project = { id: row.project_id, name: row.projectName, accountId: row.accountId };
  return { pipeline: readPipeline(row), project };
}
