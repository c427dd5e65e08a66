import { sql } from 'kysely';
import type { PagePlace } from '../projects/projects.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { isOpen, readTask, type Task } from '../tasks/tasks.ts';
import type { RunCounts, RunStart, UploadedFile } from './pipeline.ts';
import type { PipelineKey } from './pipeline-store.ts';

type Rows = Database['read'] | ControlTransaction;

/** A run that began, whatever became of it. */
export interface PipelineRun {
  readonly task: Task;
  readonly startedBy: RunStart;
  /** undefined until the run has counted. */
  readonly counts: RunCounts | undefined;
}

/** @returns newest first; `after` is the number of a task */
export async function listRuns(
  rows: Rows,
  { projectId, id }: PipelineKey,
  place: PagePlace,
): Promise<PipelineRun[]> {
  const found = await selectRuns(rows)
    .where('pipeline_run.project_id', '=', projectId)
    .where('pipeline_run.pipeline_id', '=', id)
    .where('pipeline_run.task_number', '<', place.after ?? Number.MAX_SAFE_INTEGER)
    .orderBy('pipeline_run.task_number', 'desc')
    .limit(place.count)
    .execute();
  return found.map(toRun);
}

/** @returns the newest run of each pipeline that has one, by the pipeline's id */
export async function findLastRuns(
  rows: Rows,
  projectId: number,
  range: { readonly from: number; readonly to: number },
): Promise<ReadonlyMap<number, PipelineRun>> {
  const found = await selectRuns(rows)
    .where('pipeline_run.project_id', '=', projectId)
    .where('pipeline_run.pipeline_id', '>=', range.from)
    .where('pipeline_run.pipeline_id', '<=', range.to)
    .where(({ eb, selectFrom }) =>
      eb(
        'pipeline_run.task_number',
        'in',
        // One step along pipeline_run_by_pipeline for each pipeline, however many runs it has.
        selectFrom('pipeline')
          .select(
            sql<number>`(select max(r.task_number) from pipeline_run r
            where r.project_id = pipeline.project_id and r.pipeline_id = pipeline.id)`.as('last'),
          )
          .where('pipeline.project_id', '=', projectId)
          .where('pipeline.id', '>=', range.from)
          .where('pipeline.id', '<=', range.to),
      ),
    )
    .execute();
  return new Map(found.map((row) => [row.pipelineId, toRun(row)]));
}

/** Whether a run of a pipeline has not ended. */
export async function hasOpenRun(rows: Rows, { projectId, id }: PipelineKey): Promise<boolean> {
  const row = await selectOpen(rows)
    .where('pipeline_run.project_id', '=', projectId)
    .where('pipeline_run.pipeline_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** @returns the payloads of files whose runs have not ended */
export async function listOpenPieces(rows: Rows): Promise<string[]> {
  const found = await selectOpen(rows).where('pipeline_run.upload', 'is not', null).execute();
  return found.flatMap(({ upload }) => (JSON.parse(String(upload)) as UploadedFile).pieces);
}

/** Forgets runs whose tasks are forgotten. */
export async function dropForgottenRuns(database: Database): Promise<void> {
  await database.write(
    async (tx) => {
      await tx
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
        .execute();
    },
    { of: 'rows' },
  );
}

function selectRuns(rows: Rows) {
  return rows
    .selectFrom('pipeline_run')
    .innerJoin('task', (join) =>
      join
        .onRef('task.project_id', '=', 'pipeline_run.project_id')
        .onRef('task.number', '=', 'pipeline_run.task_number'),
    )
    .selectAll('task')
    .select(['pipeline_run.started_by as startedBy', 'pipeline_run.pipeline_id as pipelineId']);
}

/** Along task_open: few tasks are open, and many runs are kept. */
function selectOpen(rows: Rows) {
  return rows
    .selectFrom('task')
    .innerJoin('pipeline_run', (join) =>
      join
        .onRef('task.project_id', '=', 'pipeline_run.project_id')
        .onRef('task.number', '=', 'pipeline_run.task_number'),
    )
    .select(['pipeline_run.upload', 'pipeline_run.pipeline_id'])
    .where(isOpen);
}

function toRun(row: Parameters<typeof readTask>[0] & { startedBy: string }): PipelineRun {
  return {
    task: readTask(row),
    startedBy: row.startedBy as RunStart,
    counts: row.result === null ? undefined : (JSON.parse(row.result) as RunCounts),
  };
}
