import type { Selectable } from 'kysely';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import type { Channel, FeedFile, Snapshot } from './channel.ts';
import type { ChannelKey, Rows } from './channel-store.ts';

const readSnapshot = (row: Selectable<ControlSchema['channel_snapshot']>): Snapshot => ({
  projectId: row.project_id,
  channelId: row.channel_id,
  taskNumber: row.task_number,
  catalogVersion: row.catalog_version,
  rows: row.row_count,
  files: JSON.parse(row.files) as FeedFile[],
  createdAt: row.created_at,
});

export async function insertSnapshot(tx: ControlTransaction, snapshot: Snapshot): Promise<void> {
  await tx
    .insertInto('channel_snapshot')
    .values({
      project_id: snapshot.projectId,
      task_number: snapshot.taskNumber,
      channel_id: snapshot.channelId,
      catalog_version: snapshot.catalogVersion,
      row_count: snapshot.rows,
      files: JSON.stringify(snapshot.files),
      created_at: snapshot.createdAt,
    })
    .execute();
}

/** @returns the snapshot that is served */
export async function findPublished(
  rows: Rows,
  { projectId, published }: Pick<Channel, 'projectId' | 'published'>,
): Promise<Snapshot | undefined> {
  if (published === undefined) return undefined;
  const row = await rows
    .selectFrom('channel_snapshot')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('task_number', '=', published)
    .executeTakeFirst();
  return row && readSnapshot(row);
}

/** @returns the snapshots of a channel, newest first */
export async function listSnapshots(rows: Rows, { projectId, id }: ChannelKey): Promise<Snapshot[]> {
  const found = await rows
    .selectFrom('channel_snapshot')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('channel_id', '=', id)
    .orderBy('task_number', 'desc')
    .execute();
  return found.map(readSnapshot);
}

export async function removeSnapshot(
  tx: ControlTransaction,
  { projectId, taskNumber }: Pick<Snapshot, 'projectId' | 'taskNumber'>,
): Promise<void> {
  await tx
    .deleteFrom('channel_snapshot')
    .where('project_id', '=', projectId)
    .where('task_number', '=', taskNumber)
    .execute();
}

/** @returns the payloads of all snapshots */
export async function listPieces({ read }: Pick<Database, 'read'>): Promise<string[]> {
  const found = await read.selectFrom('channel_snapshot').select('files').execute();
  return found.flatMap(({ files }) =>
    (JSON.parse(files) as FeedFile[]).flatMap(({ pieces }) => pieces.map(({ name }) => name)),
  );
}
