import { sql } from 'kysely';
import type { PagePlace } from '../../projects/projects.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { BuildStart } from './channel.ts';
import type { ChannelKey, Rows } from './channel-store.ts';

/** Where the task of a build is, and what started it. */
export interface BuildPlace {
  readonly channelId: number;
  readonly taskNumber: number;
  readonly startedBy: BuildStart;
}

const toPlace = (row: { channel_id: number; task_number: number; started_by: string }): BuildPlace => ({
  channelId: row.channel_id,
  taskNumber: row.task_number,
  startedBy: row.started_by as BuildStart,
});

/**
 * Only the newest build can be open, so only that one is read: one seek in channel_build_by_channel.
 * @returns whether a build of the channel is open; call it under the project's write lock
 */
export async function hasOpenBuild(
  tx: Pick<ControlTransaction, 'selectFrom'>,
  { projectId, id }: ChannelKey,
): Promise<boolean> {
  const row = await tx
    .selectFrom('channel_build')
    .innerJoin('task', (join) =>
      join
        .onRef('task.project_id', '=', 'channel_build.project_id')
        .onRef('task.number', '=', 'channel_build.task_number'),
    )
    .select('task.finish_time')
    .where('channel_build.project_id', '=', projectId)
    .where('channel_build.channel_id', '=', id)
    .orderBy('channel_build.task_number', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.finish_time === null;
}

export async function insertBuild(
  tx: ControlTransaction,
  task: Task,
  { channelId, startedBy }: Pick<BuildPlace, 'channelId' | 'startedBy'>,
): Promise<void> {
  const place = { project_id: task.projectId, task_number: task.number, task_id: task.id };
  await tx
    .insertInto('channel_build')
    .values({ ...place, channel_id: channelId, started_by: startedBy })
    .execute();
}

/** @returns the newest first; `after` is the number of a task */
export async function listBuildPlaces(
  rows: Rows,
  { projectId, id }: ChannelKey,
  place: PagePlace,
): Promise<BuildPlace[]> {
  const found = await rows
    .selectFrom('channel_build')
    .select(['channel_id', 'task_number', 'started_by'])
    .where('project_id', '=', projectId)
    .where('channel_id', '=', id)
    .where('task_number', '<', place.after ?? Number.MAX_SAFE_INTEGER)
    .orderBy('task_number', 'desc')
    .limit(place.count)
    .execute();
  return found.map(toPlace);
}

/** @returns the newest build of each channel that has one, of a range of channels */
export async function listLastBuilds(
  rows: Rows,
  projectId: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<BuildPlace[]> {
  const found = await rows
    .selectFrom('channel_build')
    .select(['channel_id', 'task_number', 'started_by'])
    .where('project_id', '=', projectId)
    .where('channel_id', '>=', from)
    .where('channel_id', '<=', to)
    .where(
      'task_number',
      '=',
      sql<number>`(select max(b.task_number) from channel_build b
        where b.project_id = channel_build.project_id and b.channel_id = channel_build.channel_id)`,
    )
    .execute();
  return found.map(toPlace);
}

/** Deletes builds whose tasks are deleted. */
export async function dropForgottenBuilds(database: Database): Promise<void> {
  await database.write(
    (tx) =>
      tx
        .deleteFrom('channel_build')
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('task')
                .select('task.number')
                .whereRef('task.project_id', '=', 'channel_build.project_id')
                .whereRef('task.number', '=', 'channel_build.task_number'),
            ),
          ),
        )
        .execute(),
    { of: 'rows' },
  );
}
