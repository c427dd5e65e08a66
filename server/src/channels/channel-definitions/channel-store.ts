import { type Selectable, sql } from 'kysely';
import {
  createRunStore,
  type DueTable,
  type InProject,
  inProjectTable,
  readDefined,
  toDefinedColumns,
} from '../../definitions/definitions.ts';
import { readSeparately } from '../../kernel/separate-reads.ts';
import { createStore } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database, Rows } from '../../storage/storage.ts';
import { control, toCamel } from '../../storage/storage.ts';
import type { Channel, ChannelDefinition, FeedFile, PublishedRows, Snapshot } from './channel-schemas.ts';

const table: DueTable<Channel, InProject> = {
  ...inProjectTable,
  name: 'channel',
  dueColumn: 'next_build_at',
  read(row: Selectable<ControlSchema['channel']>) {
    const { definition, ...defined } = readDefined<ChannelDefinition>(row);
    return {
      ...defined,
      // Channels that were stored before destinations existed have none.
      definition: { ...definition, destinations: definition.destinations ?? [] },
      dueAt: row.next_build_at ?? undefined,
      state: {
        token: row.token,
        builtVersion: row.built_version ?? undefined,
        published: row.published ?? undefined,
      },
    };
  },
  toColumns: ({ state: { token, builtVersion }, dueAt: nextBuildAt, ...channel }) => ({
    ...toDefinedColumns(channel),
    token,
    nextBuildAt,
    builtVersion,
  }),
};

/** The index channel_by_time finds due channels, and channel_by_token finds the channel of a published file. */
export const CHANNELS = { ...table, ...createStore(table) };

/** Uses the index channel_build_by_channel. */
export const BUILDS = createRunStore({ name: 'channel_build', owners: 'channel', owner: 'channel_id' });

/** @returns the project's channels that wait for a change, or are due by `now` */
export async function listFollowing(read: Rows, projectId: number, now: number): Promise<Channel[]> {
  const rows = await read
    .selectFrom('channel')
    .selectAll()
    .where('project_id', '=', projectId)
    .where((eb) => eb.or([eb('next_build_at', 'is', null), eb('next_build_at', '<=', now)]))
    .execute();
  return rows
    .map((row) => CHANNELS.read(row))
    .filter(({ definition }) => definition.trigger.type === 'change');
}

/**
 * Lists projects with a channel that waits for a change that may have happened already. In PostgreSQL, the catalog
 * version shows it. In the embedded store, the version is in a separate file, so the projects of all waiting channels
 * are listed. A project whose catalog cannot be read, because its Citus worker is unreachable, is not listed. The next
 * sweep reads it again.
 */
export async function listUnnoticed({ read, isShared }: Database): Promise<number[]> {
  const trigger = isShared
    ? sql`definition::json #>> '{trigger,type}'`
    : sql`definition ->> '$.trigger.type'`;
  const waiting = await read
    .selectFrom('channel')
    .select(['project_id', 'built_version'])
    .distinct()
    .where('next_build_at', 'is', null)
    .where(sql<boolean>`${trigger} = 'change'`)
    .execute();
  const versions = isShared ? await readVersions(read, waiting) : undefined;
  const isBehind = ({ project_id: id, built_version: built }: (typeof waiting)[number]) =>
    versions === undefined || (!versions.failures.has(id) && built !== (versions.values.get(id) ?? 0));
  return [...new Set(waiting.filter(isBehind).map(({ project_id: id }) => id))];
}

/**
 * A separate statement, because a distributed database cannot join the service's tables with the tables of catalogs.
 */
function readVersions(read: Rows, projects: readonly { project_id: number }[]) {
  type Row = { id: number; version: number };
  return readSeparately([...new Set(projects.map(({ project_id: id }) => id))], async (ids) => {
    const { rows } = await sql<Row>`select project_id as id, catalog_version as version
      from catalog where project_id = any(${ids})`.execute(read);
    return new Map(rows.map(({ id, version }) => [id, version]));
  });
}

/** @returns false if the definition was changed, or the channel deleted, since the build */
export async function savePublished(
  tx: ControlTransaction,
  { projectId, id, revision }: Pick<Channel, 'projectId' | 'id' | 'revision'>,
  taskNumber: number,
): Promise<boolean> {
  const where = { projectId, id, revision };
  return (await control.update(tx, 'channel', { where, set: { published: taskNumber } })) > 0;
}

/** Stored among the files, whose payloads are retained and removed together. */
const ROWS_NAME = '.rows';

function readSnapshot({ row_count: rows, ...row }: Selectable<ControlSchema['channel_snapshot']>): Snapshot {
  const stored = JSON.parse(row.files) as (FeedFile & PublishedRows)[];
  const published = stored.find(({ name }) => name === ROWS_NAME);
  return {
    ...toCamel(row),
    rows,
    files: stored.filter((file) => file !== published),
    ...(published && { published }),
  };
}

/** Makes the channel's next build write all rows. @returns the payloads that are no longer needed */
export async function forgetRows(
  { write }: Pick<Database, 'write'>,
  { projectId, taskNumber, files, published }: Snapshot,
): Promise<readonly string[]> {
  if (published === undefined) return [];
  const change = { where: { projectId, taskNumber }, set: { files: JSON.stringify(files) } };
  await write(projectId, (tx) => control.update(tx, 'channel_snapshot', change));
  return published.pieces.map(({ name }) => name);
}

export async function insertSnapshot(
  tx: ControlTransaction,
  { rows: rowCount, files, published, ...snapshot }: Snapshot,
): Promise<void> {
  const stored = [...files, ...(published ? [{ ...published, name: ROWS_NAME }] : [])];
  await control.insert(tx, 'channel_snapshot', { ...snapshot, rowCount, files: JSON.stringify(stored) });
}

const snapshotsOf = (rows: Rows, projectId: number) =>
  rows.selectFrom('channel_snapshot').selectAll().where('project_id', '=', projectId);

export async function findPublished(
  rows: Rows,
  { projectId, state: { published } }: Pick<Channel, 'projectId' | 'state'>,
): Promise<Snapshot | undefined> {
  if (published === undefined) return undefined;
  const row = await snapshotsOf(rows, projectId).where('task_number', '=', published).executeTakeFirst();
  return row && readSnapshot(row);
}

/** @returns the snapshots of a channel, newest first */
export async function listSnapshots(rows: Rows, { projectId, id }: Pick<Channel, 'projectId' | 'id'>) {
  const rowsOfChannel = snapshotsOf(rows, projectId)
    .where('channel_id', '=', id)
    .orderBy('task_number', 'desc');
  return (await rowsOfChannel.execute()).map(readSnapshot);
}

export const removeSnapshot = (
  tx: ControlTransaction,
  { projectId, taskNumber }: Pick<Snapshot, 'projectId' | 'taskNumber'>,
) => control.remove(tx, 'channel_snapshot', { projectId, taskNumber });
