import { sql } from 'kysely';
import type { PagePlace } from '../../projects/projects.ts';
import type { Database } from '../../storage/storage.ts';
import type { RunStart, UploadedFile } from './pipeline.ts';
import type { PipelineKey } from './pipeline-store.ts';

type Rows = Database['read'];

/** Where the task of a run is, and what started it. */
export interface RunPlace {
  readonly pipelineId: number;
  readonly taskNumber: number;
  readonly startedBy: RunStart;
}

/** @returns the newest first; `after` is the number of a task */
export async function listRunPlaces(
  rows: Rows,
  { projectId, id }: PipelineKey,
  place: PagePlace,
): Promise<RunPlace[]> {
  const found = await rows
    .selectFrom('pipeline_run')
    .select(['pipeline_id', 'task_number', 'started_by'])
    .where('project_id', '=', projectId)
    .where('pipeline_id', '=', id)
    .where('task_number', '<', place.after ?? Number.MAX_SAFE_INTEGER)
    .orderBy('task_number', 'desc')
    .limit(place.count)
    .execute();
  return found.map(toPlace);
}

/** @returns the newest run of each pipeline that has one, of a range of pipelines */
export async function listLastRuns(
  rows: Rows,
  projectId: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<RunPlace[]> {
  const found = await rows
    .selectFrom('pipeline')
    .innerJoin('pipeline_run', (join) =>
      join
        .onRef('pipeline_run.project_id', '=', 'pipeline.project_id')
        .onRef('pipeline_run.pipeline_id', '=', 'pipeline.id'),
    )
    .select(['pipeline_run.pipeline_id', 'pipeline_run.task_number', 'pipeline_run.started_by'])
    .where('pipeline.project_id', '=', projectId)
    .where('pipeline.id', '>=', from)
    .where('pipeline.id', '<=', to)
    .where(
      'pipeline_run.task_number',
      '=',
      // One seek in pipeline_run_by_pipeline for each pipeline, however many runs it has.
      sql<number>`(select max(r.task_number) from pipeline_run r
        where r.project_id = pipeline.project_id and r.pipeline_id = pipeline.id)`,
    )
    .execute();
  return found.map(toPlace);
}

/** @returns the payloads of files whose runs have not ended */
export async function listOpenPieces(rows: Rows): Promise<string[]> {
  const found = await rows
    .selectFrom('task')
    .innerJoin('pipeline_run', (join) =>
      join
        .onRef('pipeline_run.project_id', '=', 'task.project_id')
        .onRef('pipeline_run.task_number', '=', 'task.number'),
    )
    .select('pipeline_run.upload')
    // The condition of the index task_open, word for word.
    .where(sql<boolean>`task.status in ('PENDING', 'RUNNING')`)
    .where('pipeline_run.upload', 'is not', null)
    .execute();
  return found.flatMap(({ upload }) => (JSON.parse(String(upload)) as UploadedFile).pieces);
}

/** Deletes runs whose tasks are deleted. */
export async function dropForgottenRuns(database: Database): Promise<void> {
  await database.write(
    (tx) =>
      tx
        .deleteFrom('pipeline_run')
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('task')
                .select('task.number')
                .whereRef('task.project_id', '=', 'pipeline_run.project_id')
                .whereRef('task.number', '=', 'pipeline_run.task_number'),
            ),
          ),
        )
        .execute(),
    { of: 'rows' },
  );
}

function toPlace(row: { pipeline_id: number; task_number: number; started_by: string }): RunPlace {
  return {
    pipelineId: row.pipeline_id,
    taskNumber: row.task_number,
    startedBy: row.started_by as RunStart,
  };
}
