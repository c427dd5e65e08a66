import { type Selectable, sql } from 'kysely';
import {
  createRunStore,
  type DueTable,
  type InProject,
  inProjectTable,
  readDefined,
  toDefinedColumns,
} from '../../definitions/definitions.ts';
import { createStore } from '../../projects/projects.ts';
import {
  type ControlSchema,
  type ControlTransaction,
  control,
  type Database,
  type Rows,
} from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { SourceStamp } from '../sources/sources.ts';
import type { Pipeline, PipelineDefinition, ReadSummary, UploadedFile } from './pipeline-schemas.ts';

type TaskKey = Pick<Task, 'projectId' | 'number'>;

const table: DueTable<Pipeline, InProject> = {
  ...inProjectTable,
  name: 'pipeline',
  dueColumn: 'next_run_at',
  read: (row: Selectable<ControlSchema['pipeline']>) => ({
    ...readDefined<PipelineDefinition>(row),
    dueAt: row.next_run_at ?? undefined,
    state: {
      triggerId: row.trigger_id,
      stamp: row.stamp === null ? undefined : (JSON.parse(row.stamp) as SourceStamp),
    },
  }),
  toColumns: ({ state: { triggerId, stamp }, dueAt: nextRunAt, ...pipeline }) => ({
    ...toDefinedColumns(pipeline),
    triggerId,
    nextRunAt,
    stamp: writeStamp(stamp),
  }),
};

/** The index pipeline_by_schedule finds due pipelines, and pipeline_by_trigger finds the pipeline of a webhook. */
export const PIPELINES = { ...table, ...createStore(table) };

const writeStamp = (stamp: SourceStamp | undefined) => (stamp === undefined ? null : JSON.stringify(stamp));

/** Uses the index pipeline_run_by_pipeline. */
export const RUNS = createRunStore({
  name: 'pipeline_run',
  owners: 'pipeline',
  owner: 'pipeline_id',
});

/** @returns pipelines of any project whose source may have unsealed headers, ordered by id */
export async function listUnsealed(rows: Rows, after: number, limit: number): Promise<Pipeline[]> {
  const pipelineRows = await rows
    .selectFrom('pipeline')
    .selectAll()
    .where('secrets', 'is', null)
    .where('definition', 'like', '%"headers"%')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return pipelineRows.map((row) => PIPELINES.read(row));
}

interface Window {
  readonly projectId: number;
  readonly id: number;
  readonly windowMs: number;
}

/**
 * Counts a call of the webhook, unless a call was accepted within the window.
 * @returns undefined if the call was counted, otherwise the milliseconds until the window ends
 */
export async function countTrigger(tx: ControlTransaction, window: Window, { now }: Pick<Database, 'now'>) {
  const counted = await tx
    .updateTable('pipeline')
    .set({ triggered_at: now })
    .where('project_id', '=', window.projectId)
    .where('id', '=', window.id)
    .where(
      sql<boolean>`(triggered_at is null or triggered_at <= ${now} - ${sql.lit(window.windowMs)} or triggered_at > ${now})`,
    )
    .executeTakeFirst();
  return Number(counted.numUpdatedRows) > 0 ? undefined : findWindow(tx, window, { now });
}

/** @returns the milliseconds until the window of the last accepted call ends; 0 if it has ended */
export async function findWindow(
  rows: Rows,
  { projectId, id, windowMs }: Window,
  { now }: Pick<Database, 'now'>,
): Promise<number> {
  const row = await rows
    .selectFrom('pipeline')
    .select(sql<number>`triggered_at + ${sql.lit(windowMs)} - ${now}`.as('rest'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return Math.min(windowMs, Math.max(0, Number(row?.rest ?? 0)));
}

/** Saves the stamp that recognises an unchanged source, unless the pipeline has changed since the run began. */
export async function saveStamp(
  database: Database,
  { projectId, id, revision }: Pick<Pipeline, 'projectId' | 'id' | 'revision'>,
  stamp: SourceStamp | undefined,
): Promise<void> {
  const change = { where: { projectId, id, revision }, set: { stamp: writeStamp(stamp) } };
  await database.write('rows', (tx) => control.update(tx, 'pipeline', change));
}

/** @returns what a run has stored; `read` is set after the writes were accepted */
export async function findRun(database: Database, { projectId, number: taskNumber }: TaskKey) {
  const row = await control.find(database.read, 'pipeline_run', { projectId, taskNumber });
  return (
    row && {
      upload: row.upload === null ? undefined : (JSON.parse(row.upload) as UploadedFile),
      read: row.read === null ? undefined : (JSON.parse(row.read) as ReadSummary),
    }
  );
}

/** Saved when the writes are accepted, because the source cannot be read again after a crash. */
export async function saveRead(
  tx: ControlTransaction,
  { projectId, number: taskNumber }: TaskKey,
  read: ReadSummary,
): Promise<void> {
  const change = { where: { projectId, taskNumber }, set: { read: JSON.stringify(read) } };
  await control.update(tx, 'pipeline_run', change);
}
