import { sql } from 'kysely';
import type { ControlTransaction, Database } from '../storage/storage.ts';

/** Requests of an account or of one of its keys within a step. */
export interface RequestCount {
  readonly accountId: number;
  readonly apiKeyId: number;
  /** When the step begins. */
  readonly at: number;
  readonly requests: number;
  readonly refused: number;
  readonly limited: number;
  readonly failed: number;
  readonly slow: number;
  readonly totalMs: number;
}

/** A request that failed or was slow. */
export interface NotedRequest {
  readonly requestId: string;
  readonly accountId: number;
  readonly apiKeyId: number;
  readonly projectId: number | null;
  readonly at: number;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
}

const AT_ONCE = 200;
const COUNTED = ['requests', 'refused', 'limited', 'failed', 'slow', 'total_ms'] as const;

/** Adds to what this and other processes have counted; in the order of the key, so that no two wait for each other. */
export async function addRequestCounts(
  tx: ControlTransaction,
  stepSeconds: number,
  counts: readonly RequestCount[],
): Promise<void> {
  const stepMs = stepSeconds * 1000;
  const sums = new Map<string, RequestCount>();
  for (const count of counts) {
    const at = count.at - (count.at % stepMs);
    const place = `${count.accountId} ${count.apiKeyId} ${at}`;
    sums.set(place, add({ ...count, at }, sums.get(place)));
  }
  const rows = [...sums.values()].sort(
    (a, b) => a.accountId - b.accountId || a.apiKeyId - b.apiKeyId || a.at - b.at,
  );
  for (let start = 0; start < rows.length; start += AT_ONCE) {
    await tx
      .insertInto('request_count')
      .values(
        rows.slice(start, start + AT_ONCE).map(({ accountId, apiKeyId, at, totalMs, ...counted }) => ({
          ...{ account_id: accountId, api_key_id: apiKeyId, step_seconds: stepSeconds, at },
          // Rounded up: a minute with one quick request took some time.
          ...{ total_ms: Math.ceil(totalMs), ...counted },
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'api_key_id', 'step_seconds', 'at'])
          .doUpdateSet(
            Object.fromEntries(
              COUNTED.map((name) => [
                name,
                sql`${sql.ref(`request_count.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
              ]),
            ),
          ),
      )
      .execute();
  }
}

function add(count: RequestCount, before: RequestCount | undefined): RequestCount {
  if (before === undefined) return count;
  return {
    ...count,
    requests: count.requests + before.requests,
    refused: count.refused + before.refused,
    limited: count.limited + before.limited,
    failed: count.failed + before.failed,
    slow: count.slow + before.slow,
    totalMs: count.totalMs + before.totalMs,
  };
}

interface CountedSpan {
  readonly from: number;
  readonly to: number;
  /** Of the rows: minutes or hours. */
  readonly stepSeconds: number;
}

/** @returns the rows of these keys, or of the account as a whole, by instant */
export async function listRequestCounts(
  database: Database,
  { accountId, apiKeyIds }: { accountId: number; apiKeyIds: readonly number[] },
  { from, to, stepSeconds }: CountedSpan,
): Promise<RequestCount[]> {
  if (apiKeyIds.length === 0) return [];
  return database.read
    .selectFrom('request_count')
    .select(({ fn }) => ['at', ...COUNTED.map((name) => fn.sum<number>(name).as(name))])
    .where('account_id', '=', accountId)
    .where('api_key_id', 'in', [...apiKeyIds])
    .where('step_seconds', '=', stepSeconds)
    .where('at', '>=', from)
    .where('at', '<', to)
    .groupBy('at')
    .orderBy('at')
    .execute()
    .then((rows) =>
      rows.map(({ at, total_ms, ...counted }) => ({
        ...{ accountId, apiKeyId: apiKeyIds[0] ?? 0, at, totalMs: Number(total_ms) },
        requests: Number(counted.requests),
        refused: Number(counted.refused),
        limited: Number(counted.limited),
        failed: Number(counted.failed),
        slow: Number(counted.slow),
      })),
    );
}

export async function addNotedRequests(
  tx: ControlTransaction,
  noted: readonly NotedRequest[],
): Promise<void> {
  if (noted.length === 0) return;
  await tx
    .insertInto('noted_request')
    .values(
      noted.map(({ requestId, accountId, apiKeyId, projectId, ...rest }) => ({
        ...{ request_id: requestId, account_id: accountId, api_key_id: apiKeyId, project_id: projectId },
        ...rest,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** @returns newest first */
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
  return rows.map(({ request_id, account_id, api_key_id, project_id, ...rest }) => ({
    ...{ requestId: request_id, accountId: account_id, apiKeyId: api_key_id, projectId: project_id },
    ...rest,
  }));
}

/** Removes counts beyond their retention. */
export async function dropRequestCounts(
  tx: ControlTransaction,
  before: { readonly minutes: number; readonly hours: number; readonly noted: number },
): Promise<void> {
  for (const [stepSeconds, limit] of [
    [60, before.minutes],
    [3_600, before.hours],
  ] as const) {
    await tx
      .deleteFrom('request_count')
      .where('step_seconds', '=', stepSeconds)
      .where('at', '<', limit)
      .execute();
  }
  await tx.deleteFrom('noted_request').where('at', '<', before.noted).execute();
}

/** What happened to a catalog within a step. */
export interface CatalogCount {
  readonly projectId: number;
  readonly at: number;
  /** In the catalog, when it was last counted within the step; null: it was not. */
  readonly products: number | null;
  readonly created: number;
  readonly changed: number;
  readonly deleted: number;
  readonly tasks: number;
  readonly failedTasks: number;
}

/** Adds to what this and other processes have counted; in the order of the key, so that no two wait for each other. */
export async function addCatalogCounts(
  tx: ControlTransaction,
  stepSeconds: number,
  counts: readonly CatalogCount[],
): Promise<void> {
  const stepMs = stepSeconds * 1000;
  const rows = [...counts].sort((a, b) => a.projectId - b.projectId || a.at - b.at);
  const sum = (name: string) =>
    sql<number>`${sql.ref(`catalog_count.${name}`)} + ${sql.ref(`excluded.${name}`)}`;
  for (const { projectId, at, failedTasks, ...counted } of rows) {
    await tx
      .insertInto('catalog_count')
      .values({
        ...{ project_id: projectId, step_seconds: stepSeconds, at: at - (at % stepMs) },
        ...{ failed_tasks: failedTasks, ...counted },
      })
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'step_seconds', 'at']).doUpdateSet({
          products: sql`coalesce(excluded.products, catalog_count.products)`,
          created: sum('created'),
          changed: sum('changed'),
          deleted: sum('deleted'),
          tasks: sum('tasks'),
          failed_tasks: sum('failed_tasks'),
        }),
      )
      .execute();
  }
}

/** So many rows take some 0.1 s, in which the serving thread of an embedded store does nothing else. */
const MOST_ROWS = 100_000;

/** @returns rows by instant; undefined: too many */
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
  return rows.map(({ project_id, step_seconds: _, failed_tasks, ...counted }) => ({
    ...{ projectId: project_id, failedTasks: failed_tasks },
    ...counted,
  }));
}

/** @returns how many products each catalog had when it was last counted before then, and when it never was */
export async function listSizesBefore(
  database: Database,
  projectIds: readonly number[],
  before: number,
): Promise<ReadonlyMap<number, number>> {
  if (projectIds.length === 0) return new Map();
  const rows = await database.read
    .selectFrom('catalog_count as c')
    .select(['c.project_id', 'c.products'])
    .where('c.project_id', 'in', [...projectIds])
    .where('c.step_seconds', '=', 3_600)
    .where('c.at', '=', ({ selectFrom }) =>
      selectFrom('catalog_count as n')
        .select(({ fn }) => fn.max('n.at').as('at'))
        .whereRef('n.project_id', '=', 'c.project_id')
        .where('n.step_seconds', '=', 3_600)
        .where('n.products', 'is not', null)
        .where('n.at', '<', before),
    )
    .execute();
  return new Map(rows.map(({ project_id, products }) => [project_id, products ?? 0]));
}

/** The last row of each catalog stays, however old: it has its size. */
export async function dropCatalogCounts(
  tx: ControlTransaction,
  before: { readonly minutes: number; readonly hours: number },
): Promise<void> {
  await tx
    .deleteFrom('catalog_count')
    .where('step_seconds', '=', 60)
    .where('at', '<', before.minutes)
    .execute();
  await tx
    .deleteFrom('catalog_count')
    .where('step_seconds', '=', 3_600)
    .where('at', '<', before.hours)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('catalog_count as n')
          .select('n.at')
          .whereRef('n.project_id', '=', 'catalog_count.project_id')
          .whereRef('n.step_seconds', '=', 'catalog_count.step_seconds')
          .whereRef('n.at', '>', 'catalog_count.at')
          .where('n.products', 'is not', null),
      ),
    )
    .execute();
}

export async function removeCatalogCounts(tx: ControlTransaction, projectId: number): Promise<void> {
  await tx.deleteFrom('catalog_count').where('project_id', '=', projectId).execute();
}
