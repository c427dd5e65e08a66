import { sql } from 'kysely';
import {
  type ControlSchema,
  type ControlTransaction,
  type Database,
  toCamel,
  toSnake,
} from '../storage/storage.ts';

type Counted<Table extends keyof ControlSchema> = Readonly<
  Omit<ReturnType<typeof toCamel<ControlSchema[Table]>>, 'stepSeconds'>
>;
/** The requests of an account or of one of its keys in the step that begins at `at`. */
export type RequestCount = Counted<'request_count'>;
export const REQUEST_COUNTS = ['requests', 'refused', 'limited', 'failed', 'slow', 'totalMs'] as const;
/** The changes of a catalog in a step, and the last count of its products in the step; null if none was made. */
export type CatalogCount = Counted<'catalog_count'>;
export const CATALOG_COUNTS = ['created', 'changed', 'deleted', 'tasks', 'failedTasks'] as const;

/** @returns the sum of each count, which PostgreSQL may return as text */
export const sumOf = <Name extends string>(
  names: readonly Name[],
  counts: readonly Readonly<Record<Name, number>>[],
) =>
  Object.fromEntries(
    names.map((name) => [name, counts.reduce((sum, count) => sum + Number(count[name]), 0)]),
  ) as Record<Name, number>;

export type NotedRequest = Readonly<ReturnType<typeof toCamel<ControlSchema['noted_request']>>>;

const AT_ONCE = 200;
const COUNTED = ['requests', 'refused', 'limited', 'failed', 'slow', 'total_ms'] as const;

/** Adds the counts of the insert to those that the row already has. */
const addTo = (table: string, columns: readonly string[]) =>
  Object.fromEntries(
    columns.map((name) => [
      name,
      sql<number>`${sql.ref(`${table}.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
    ]),
  );

/** Adds to the stored counts of all processes. Writes rows in the order of their keys, to avoid deadlocks. */
export async function addRequestCounts(
  tx: ControlTransaction,
  stepSeconds: number,
  counts: readonly RequestCount[],
): Promise<void> {
  const stepMs = stepSeconds * 1000;
  const sums = new Map<string, RequestCount>();
  for (const count of counts) {
    const beginsAt = count.at - (count.at % stepMs);
    const key = `${count.accountId} ${count.apiKeyId} ${beginsAt}`;
    const before = sums.get(key);
    sums.set(key, { ...count, at: beginsAt, ...(before && sumOf(REQUEST_COUNTS, [count, before])) });
  }
  const rows = [...sums.values()].sort(
    (a, b) => a.accountId - b.accountId || a.apiKeyId - b.apiKeyId || a.at - b.at,
  );
  for (let start = 0; start < rows.length; start += AT_ONCE) {
    await tx
      .insertInto('request_count')
      .values(
        rows
          .slice(start, start + AT_ONCE)
          // Rounded up, so that the total of a minute with one quick request is not zero.
          .map((count) => toSnake({ ...count, stepSeconds, totalMs: Math.ceil(count.totalMs) })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'api_key_id', 'step_seconds', 'at'])
          .doUpdateSet(addTo('request_count', COUNTED)),
      )
      .execute();
  }
}

interface CountedSpan {
  readonly from: number;
  readonly to: number;
  /** The step of the rows: minutes or hours. */
  readonly stepSeconds: number;
}

/** @returns the counts of these keys, or of the whole account, ordered by time */
export async function listRequestCounts(
  database: Database,
  { accountId, apiKeyIds }: { accountId: number; apiKeyIds: readonly number[] },
  { from, to, stepSeconds }: CountedSpan,
): Promise<RequestCount[]> {
  if (apiKeyIds.length === 0) return [];
  const rows = await database.read
    .selectFrom('request_count')
    .select(({ fn }) => ['at', ...COUNTED.map((name) => fn.sum<number>(name).as(name))])
    .where('account_id', '=', accountId)
    .where('api_key_id', 'in', [...apiKeyIds])
    .where('step_seconds', '=', stepSeconds)
    .where('at', '>=', from)
    .where('at', '<', to)
    .groupBy('at')
    .orderBy('at')
    .execute();
  return rows.map(({ at, total_ms: totalMs, ...counted }) => ({
    accountId,
    apiKeyId: apiKeyIds[0] ?? 0,
    at,
    ...sumOf(REQUEST_COUNTS, [{ totalMs, ...counted }]),
  }));
}

export async function addNotedRequests(tx: ControlTransaction, noted: readonly NotedRequest[]) {
  if (noted.length === 0) return;
  await tx
    .insertInto('noted_request')
    .values(noted.map(toSnake))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** @returns the newest requests first */
export async function listNotedRequests(
  database: Database,
  { accountId, apiKeyIds }: { accountId: number; apiKeyIds: readonly number[] | undefined },
  { from, to, limit }: { from: number; to: number; limit: number },
): Promise<NotedRequest[]> {
  const rows = await database.read
    .selectFrom('noted_request')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('at', '>=', from)
    .where('at', '<', to)
    .$if(apiKeyIds !== undefined, (query) => query.where('api_key_id', 'in', [...(apiKeyIds ?? []), -1]))
    .orderBy('at', 'desc')
    .limit(limit)
    .execute();
  return rows.map(toCamel);
}

export async function dropRequestCounts(
  tx: ControlTransaction,
  before: { readonly minutes: number; readonly hours: number; readonly noted: number },
): Promise<void> {
  await tx
    .deleteFrom('request_count')
    .where(sql<boolean>`at < ${before.hours} or step_seconds = 60 and at < ${before.minutes}`)
    .execute();
  await tx.deleteFrom('noted_request').where('at', '<', before.noted).execute();
}

/** Adds to the stored counts of all processes. Writes rows in the order of their keys, to avoid deadlocks. */
export async function addCatalogCounts(
  tx: ControlTransaction,
  stepSeconds: number,
  counts: readonly CatalogCount[],
): Promise<void> {
  const stepMs = stepSeconds * 1000;
  for (const count of counts.toSorted((a, b) => a.projectId - b.projectId || a.at - b.at)) {
    await tx
      .insertInto('catalog_count')
      .values(toSnake({ ...count, stepSeconds, at: count.at - (count.at % stepMs) }))
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'step_seconds', 'at']).doUpdateSet({
          products: sql`coalesce(excluded.products, catalog_count.products)`,
          ...addTo('catalog_count', ['created', 'changed', 'deleted', 'tasks', 'failed_tasks']),
        }),
      )
      .execute();
  }
}

/** Reading this many rows takes some 0.1 s, which blocks the serving thread of an embedded store. */
const MOST_ROWS = 100_000;

/** @returns the rows ordered by time; undefined if there are too many */
export async function listCatalogCounts(
  database: Database,
  projectIds: readonly number[],
  { from, to, stepSeconds }: CountedSpan,
): Promise<CatalogCount[] | undefined> {
  if (projectIds.length === 0) return [];
  const rows = await database.read
    .selectFrom('catalog_count')
    .selectAll()
    .where('project_id', 'in', [...projectIds])
    .where('step_seconds', '=', stepSeconds)
    .where('at', '>=', from)
    .where('at', '<', to)
    .orderBy('at')
    .orderBy('project_id')
    .limit(MOST_ROWS + 1)
    .execute();
  if (rows.length > MOST_ROWS) return undefined;
  return rows.map(({ step_seconds: _, ...row }) => toCamel(row));
}

/** @returns the last count of each catalog's products before that instant, without catalogs that were never counted */
export async function listSizesBefore(database: Database, projectIds: readonly number[], before: number) {
  if (projectIds.length === 0) return new Map();
  const { rows } = await sql<{ id: number; products: number }>`select c.project_id as id, c.products
    from catalog_count c where c.project_id in (${sql.join([...projectIds])}) and c.step_seconds = 3600
      and c.at = (select max(n.at) from catalog_count n where n.project_id = c.project_id
        and n.step_seconds = 3600 and n.products is not null and n.at < ${before})`.execute(database.read);
  return new Map(rows.map(({ id, products }) => [id, products]));
}

/** Keeps the last row of each catalog even if it is old, because it has the size of the catalog. */
export async function dropCatalogCounts(tx: ControlTransaction, before: { minutes: number; hours: number }) {
  await tx
    .deleteFrom('catalog_count')
    .where('step_seconds', '=', 60)
    .where('at', '<', before.minutes)
    .execute();
  await sql`delete from catalog_count where step_seconds = 3600 and at < ${before.hours}
    and exists (select n.at from catalog_count n where n.project_id = catalog_count.project_id
      and n.step_seconds = catalog_count.step_seconds and n.at > catalog_count.at
      and n.products is not null)`.execute(tx);
}
