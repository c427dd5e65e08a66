import { randomBytes } from 'node:crypto';
import { sql as kyselySql, type Selectable } from 'kysely';
import {
  among,
  controlRows,
  insertInto,
  own,
  PROJECT,
  type Program,
  rows,
  run,
  sql,
  tabled,
  text,
} from '../storage/programs/programs.ts';
import type { ControlSchema, ControlTransaction, Database, Rows } from '../storage/storage.ts';

/**
 * The outbox. An event is a row that the transaction of its change writes, and only if an endpoint subscribes to it.
 */

/** Joins enabled endpoints `e` with the projects `p` within their scopes. */
const LISTENING = `project p join webhook_endpoint e on e.account_id = p.account_id
  where p.deleted_at is null and e.is_enabled = 1
    and case e.scope_type when 'account' then true when 'project' then e.scope_id = p.id
      else e.scope_id = p.project_group_id end`;

const readTypes = (events: string) => JSON.parse(events) as EventType[];

/** @returns enabled endpoints whose scope includes the project, with their event types */
export async function listListening(rows: Rows, projectId: number) {
  const endpoints = await kyselySql<{ id: number; events: string }>`select e.id, e.events
    from ${kyselySql.raw(LISTENING)} and p.id = ${projectId}`.execute(rows);
  return endpoints.rows.map(({ id, events }) => ({ id, types: new Set<string>(readTypes(events)) }));
}

/** Records the subscribed events in the transaction of the change. */
export async function recordEvents(tx: ControlTransaction, projectId: number, drafts: readonly EventDraft[]) {
  if (drafts.length === 0) return;
  const listening = await listListening(tx, projectId);
  const subscribed = drafts.filter(({ type }) => listening.some(({ types }) => types.has(type)));
  const values = subscribed.map((draft) => ({ project_id: projectId, ...toRow(draft) }));
  if (values.length > 0) await tx.insertInto('service_event').values(values).execute();
}

/**
 * Runs in a transaction of the project's catalog.
 * @returns the event types to which enabled endpoints of the project subscribe
 */
export function* listSubscribed(): Program<ReadonlySet<EventType>> {
  const listening = sql`select e.events from ${text(LISTENING)} and p.id = ${PROJECT}`;
  const endpoints = yield* controlRows<{ events: string }>(listening);
  return new Set(endpoints.flatMap(({ events }) => readTypes(events)));
}

const COLUMNS = { place: 'bigint', id: 'text', type: 'text', at: 'bigint', data: 'text' } as const;

/** Records all of these events, which the caller has found to be subscribed. The caller holds the catalog's lock. */
export function* insertEvents(drafts: readonly EventDraft[]): Program<void> {
  if (drafts.length === 0) return;
  const cells = drafts
    .map(toRow)
    .map(({ id, type, at, data }, index) => [index + 1, id, type, at, data] as const);
  yield* run`${insertInto('catalog_event', 'number, id, type, at, data')}
    (select coalesce(max(c.number), 0) from catalog_event c where ${own('c')}) + e.place,
    e.id, e.type, e.at, e.data from ${tabled('e', COLUMNS, cells)} where true`;
}

/** Records the subscribed events in a transaction of the project's catalog. */
export function* announce(drafts: readonly EventDraft[]): Program<void> {
  const subscribed = yield* listSubscribed();
  yield* insertEvents(drafts.filter(({ type }) => subscribed.has(type)));
}

export const listCatalogEvents = (limit: number): Program<RecordedEvent[]> =>
  rows`select number, id, type, at, data from catalog_event where ${own()} order by number limit ${limit}`;

/** Removes events that have become deliveries. */
export function* dropCatalogEvents(ids: readonly string[]): Program<void> {
  yield* run`delete from catalog_event where ${own()} and id ${among(ids)}`;
}

/** @returns the oldest events of a project, except those of its catalog */
export const listServiceEvents = (rows: Rows, projectId: number, limit: number): Promise<RecordedEvent[]> =>
  rows
    .selectFrom('service_event')
    .select(['number', 'id', 'type', 'at', 'data'])
    .where('project_id', '=', projectId)
    .orderBy('number')
    .limit(limit)
    .execute();

export async function dropServiceEvents(
  tx: ControlTransaction,
  projectId: number,
  numbers: readonly number[],
): Promise<void> {
  if (numbers.length === 0) return;
  await tx
    .deleteFrom('service_event')
    .where('project_id', '=', projectId)
    .where('number', 'in', numbers)
    .execute();
}

/** @returns projects with events; the embedded store keeps events of catalogs in their files */
export async function listProjectsWithEvents(database: Database, limit: number): Promise<number[]> {
  const catalogs = kyselySql`union select project_id from catalog_event`;
  const projects = await kyselySql<{ id: number }>`select distinct project_id as id from (
    select project_id from service_event ${database.isShared ? catalogs : kyselySql``}) e limit ${limit}`.execute(
    database.read,
  );
  return projects.rows.map(({ id }) => Number(id));
}

/** The closed list of event types that an endpoint can subscribe to. Source: docs/interface §6.2. */
export const EVENT_TYPES = [
  'task.finished',
  'task.failed',
  'catalog.committed',
  'catalog.commit_refused',
  'products.changed',
  'relation.changed',
  'relation.unhealthy',
  'channel.published',
  'pipeline.failed',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** An event as the code that makes the change describes it. */
export interface EventDraft {
  readonly type: EventType;
  readonly at: number;
  /** The number of the task that caused the event. Receivers get the task's id instead. */
  readonly taskNumber?: number;
  readonly data: object;
}

/** A recorded event that has no deliveries yet. Its id is the webhook-id, and its data is JSON. */
export type RecordedEvent = Pick<
  Selectable<ControlSchema['service_event']>,
  'number' | 'id' | 'type' | 'at' | 'data'
>;

const toRow = ({ type, at, taskNumber, data }: EventDraft) => ({
  id: `msg_${randomBytes(16).toString('hex')}`,
  type,
  at,
  data: JSON.stringify({ ...(taskNumber !== undefined && { taskNumber }), ...data }),
});
