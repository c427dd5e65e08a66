import type { ControlTransaction, Database } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { SourceStamp } from '../sources/sources.ts';
import type { Pipeline, ReadSummary, RunStart, UploadedFile } from './pipeline.ts';

type TaskKey = Pick<Task, 'projectId' | 'number'>;

export interface NewRun {
  readonly pipelineId: number;
  readonly startedBy: RunStart;
  readonly upload: UploadedFile | undefined;
}

/**
 * Only the newest run can be open, so only that one is read: one seek in pipeline_run_by_pipeline.
 * @returns whether a run of the pipeline is open; call it under the project's write lock
 */
export async function hasOpenRun(
  tx: Pick<ControlTransaction, 'selectFrom'>,
  { projectId, id }: Pick<Pipeline, 'projectId' | 'id'>,
): Promise<boolean> {
  const row = await tx
    .selectFrom('pipeline_run')
    .innerJoin('task', (join) =>
      join
        .onRef('task.project_id', '=', 'pipeline_run.project_id')
        .onRef('task.number', '=', 'pipeline_run.task_number'),
    )
    .select('task.finish_time')
    .where('pipeline_run.project_id', '=', projectId)
    .where('pipeline_run.pipeline_id', '=', id)
    .orderBy('pipeline_run.task_number', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.finish_time === null;
}

export async function insertRun(tx: ControlTransaction, task: Task, run: NewRun): Promise<void> {
  await tx
    .insertInto('pipeline_run')
    .values({
      project_id: task.projectId,
      task_number: task.number,
      pipeline_id: run.pipelineId,
      task_id: task.id,
      started_by: run.startedBy,
      upload: run.upload === undefined ? null : JSON.stringify(run.upload),
      read: null,
    })
    .execute();
}

export interface StoredRun {
  readonly upload: UploadedFile | undefined;
  /** Present once the writes are accepted. */
  readonly read: ReadSummary | undefined;
}

export async function findRun(
  database: Database,
  { projectId, number }: TaskKey,
): Promise<StoredRun | undefined> {
  const row = await database.read
    .selectFrom('pipeline_run')
    .select(['upload', 'read'])
    .where('project_id', '=', projectId)
    .where('task_number', '=', number)
    .executeTakeFirst();
  return (
    row && {
      upload: row.upload === null ? undefined : (JSON.parse(row.upload) as UploadedFile),
      read: row.read === null ? undefined : (JSON.parse(row.read) as ReadSummary),
    }
  );
}

/** Saved when the writes are accepted: after a crash the source cannot be read again. */
export async function saveRead(
  tx: ControlTransaction,
  { projectId, number }: TaskKey,
  read: ReadSummary,
): Promise<void> {
  await tx
    .updateTable('pipeline_run')
    .set({ read: JSON.stringify(read) })
    .where('project_id', '=', projectId)
    .where('task_number', '=', number)
    .execute();
}

/** Saves the stamp that recognises an unchanged source, unless the pipeline was changed since its run began. */
export async function saveStamp(
  database: Database,
  { projectId, id, revision }: Pick<Pipeline, 'projectId' | 'id' | 'revision'>,
  stamp: SourceStamp | undefined,
): Promise<void> {
  await database.write(
    (tx) =>
      tx
        .updateTable('pipeline')
        .set({ stamp: stamp === undefined ? null : JSON.stringify(stamp) })
        .where('project_id', '=', projectId)
        .where('id', '=', id)
        .where('revision', '=', revision)
        .execute(),
    { of: 'rows' },
  );
}
