import { sql } from 'kysely';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import type { CountedSpan } from './request-count-store.ts';

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
