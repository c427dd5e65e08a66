import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { PagePlace } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import type { Channel, ChannelDefinition } from './channel.ts';

export type Rows = Database['read'] | ControlTransaction;
type ChannelRow = Selectable<ControlSchema['channel']>;

/** The key of a channel: rows are stored by project. */
export type ChannelKey = Pick<Channel, 'projectId' | 'id'>;

/** A channel that no call names, with its project. */
export interface FoundChannel {
  readonly channel: Channel;
  /** Never a deleted one. */
  readonly project: ChosenProject;
}

const readChannel = (row: ChannelRow): Channel => ({
  id: row.id,
  projectId: row.project_id,
  // Those that were stored before there were destinations have none.
  definition: Object.assign({ destinations: [] }, JSON.parse(row.definition)) as ChannelDefinition,
  sealed: row.secrets ?? undefined,
  revision: row.revision,
  token: row.token,
  nextBuildAt: row.next_build_at ?? undefined,
  builtVersion: row.built_version ?? undefined,
  published: row.published ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

export type NewChannel = Pick<Channel, 'projectId' | 'definition' | 'token' | 'nextBuildAt' | 'createdAt'>;

export async function insertChannel(tx: ControlTransaction, added: NewChannel): Promise<Channel> {
  const row = await tx
    .insertInto('channel')
    .values({
      project_id: added.projectId,
      definition: JSON.stringify(added.definition),
      secrets: null,
      revision: 1,
      token: added.token,
      next_build_at: added.nextBuildAt ?? null,
      built_version: null,
      published: null,
      created_at: added.createdAt,
      updated_at: added.createdAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return readChannel(row);
}

export async function countChannels(rows: Rows, projectId: number): Promise<number> {
  const { count } = await rows
    .selectFrom('channel')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** @returns by id */
export async function listChannels(rows: Rows, projectId: number, place: PagePlace): Promise<Channel[]> {
  const found = await rows
    .selectFrom('channel')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '>', place.after ?? 0)
    .orderBy('id')
    .limit(place.count)
    .execute();
  return found.map(readChannel);
}

export async function findChannel(rows: Rows, key: ChannelKey): Promise<Channel | undefined> {
  const row = await rows.selectFrom('channel').selectAll().where(isThat(key)).executeTakeFirst();
  return row && readChannel(row);
}

/** Writes everything that a call can change. */
export async function updateChannel(tx: ControlTransaction, channel: Channel): Promise<void> {
  await tx
    .updateTable('channel')
    .set({
      definition: JSON.stringify(channel.definition),
      secrets: channel.sealed ?? null,
      revision: channel.revision,
      token: channel.token,
      next_build_at: channel.nextBuildAt ?? null,
      built_version: channel.builtVersion ?? null,
      updated_at: channel.updatedAt,
    })
    .where(isThat(channel))
    .execute();
}

export async function removeChannel(tx: ControlTransaction, key: ChannelKey): Promise<void> {
  await tx.deleteFrom('channel').where(isThat(key)).execute();
}

/** Deletes the channels of a project that is removed for good; their payloads are nobody's then. */
export async function removeChannelsOf(tx: ControlTransaction, projectId: number): Promise<void> {
  for (const table of ['channel', 'channel_build', 'channel_snapshot'] as const)
    await tx.deleteFrom(table).where('project_id', '=', projectId).execute();
}

/** Relies on the index channel_by_token. */
export async function findByToken(rows: Rows, token: string): Promise<Channel | undefined> {
  const row = await selectWithProject(rows).where('channel.token', '=', token).executeTakeFirst();
  return row && readChannel(row);
}

/** @returns channels whose time has come, the longest overdue first, behind `after`; relies on the index channel_by_time */
export async function listDue(
  { read, now }: Pick<Database, 'read' | 'now'>,
  { after, limit }: { readonly after: Channel | undefined; readonly limit: number },
): Promise<FoundChannel[]> {
  const rows = await selectWithProject(read)
    .$if(after !== undefined, (query) =>
      query.where(
        sql<boolean>`(channel.next_build_at, channel.project_id, channel.id)
          > (${after?.nextBuildAt}, ${after?.projectId}, ${after?.id})`,
      ),
    )
    .where('channel.next_build_at', 'is not', null)
    // A volatile clock function cannot bound an index scan; a value read before can.
    .where('channel.next_build_at', '<=', sql<number>`(select ${now})`)
    .orderBy('channel.next_build_at')
    .orderBy('channel.project_id')
    .orderBy('channel.id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    channel: readChannel(row),
    project: { id: row.project_id, name: row.projectName, accountId: row.accountId },
  }));
}

/** @returns channels of a project that wait for a change, or whose time has come by `now` */
export async function listFollowing(read: Rows, projectId: number, now: number): Promise<Channel[]> {
  const rows = await read
    .selectFrom('channel')
    .selectAll()
    .where('project_id', '=', projectId)
    .where((eb) => eb.or([eb('next_build_at', 'is', null), eb('next_build_at', '<=', now)]))
    .execute();
  return rows.map(readChannel).filter(({ definition }) => definition.trigger.type === 'change');
}

/**
 * Projects with a channel that waits for a change which may be there already. In PostgreSQL the version of the catalog tells;
 * in the embedded store it is in a file of its own, so all of them may be.
 */
export async function listUnnoticed({ read, isShared }: Database): Promise<number[]> {
  const differs = sql`and definition::json #>> '{trigger,type}' = 'change' and built_version is distinct from
    coalesce((select catalog_version from catalog where catalog.project_id = channel.project_id), 0)`;
  const follows = sql`and definition ->> '$.trigger.type' = 'change'`;
  const found = await sql<{ id: number }>`select distinct project_id as id from channel
    where next_build_at is null ${isShared ? differs : follows}`.execute(read);
  return found.rows.map(({ id }) => Number(id));
}

export interface NextBuild {
  readonly nextBuildAt: number | undefined;
  /** Of the catalog, where it is what starts the build. */
  readonly version?: number | undefined;
}

/** @returns false when another process has moved it, or the channel was changed */
export async function moveNext(
  tx: ControlTransaction,
  channel: ChannelKey & Pick<Channel, 'nextBuildAt'>,
  { nextBuildAt, version }: NextBuild,
): Promise<boolean> {
  const moved = await tx
    .updateTable('channel')
    .set({
      next_build_at: nextBuildAt ?? null,
      ...(version !== undefined && { built_version: version }),
    })
    .where(isThat(channel))
    .where('next_build_at', 'is not distinct from', channel.nextBuildAt ?? null)
    .executeTakeFirst();
  return Number(moved.numUpdatedRows) > 0;
}

/** @returns false when the definition was changed, or the channel deleted, since it was built */
export async function savePublished(
  tx: ControlTransaction,
  channel: ChannelKey & Pick<Channel, 'revision'>,
  taskNumber: number,
): Promise<boolean> {
  const saved = await tx
    .updateTable('channel')
    .set({ published: taskNumber })
    .where(isThat(channel))
    .where('revision', '=', channel.revision)
    .executeTakeFirst();
  return Number(saved.numUpdatedRows) > 0;
}

function isThat({ projectId, id }: ChannelKey) {
  return (eb: ExpressionBuilder<ControlSchema, 'channel'>) =>
    eb.and([eb('project_id', '=', projectId), eb('id', '=', id)]);
}

const selectWithProject = (rows: Rows) =>
  rows
    .selectFrom('channel')
    .innerJoin('project', 'project.id', 'channel.project_id')
    .selectAll('channel')
    .select(['project.name as projectName', 'project.account_id as accountId'])
    .where('project.deleted_at', 'is', null);
