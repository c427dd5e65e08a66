import type { Selectable } from 'kysely';
import {
  createStore,
  inReachTable,
  type Rows,
  readScoped,
  type Table,
  toScopedColumns,
} from '../definitions/definitions.ts';
import type { PartScope } from '../kernel/caller.ts';
import type { Reach } from '../projects/projects.ts';
import type { ControlSchema, ControlTransaction } from '../storage/storage.ts';
import type { Endpoint } from './endpoint.ts';

const table: Table<Endpoint, Reach> = {
  ...inReachTable,
  name: 'webhook_endpoint',
  read: (row: Selectable<ControlSchema['webhook_endpoint']>) => ({
    ...readScoped(row),
    url: row.url,
    events: JSON.parse(row.events),
    secrets: JSON.parse(row.secrets),
    isEnabled: row.is_enabled === 1,
    switchedOff: row.switched_off === null ? null : JSON.parse(row.switched_off),
    failingSince: row.failing_since,
    updatedAt: row.updated_at,
  }),
  toColumns: (endpoint) => ({
    url: endpoint.url,
    events: JSON.stringify(endpoint.events),
    secrets: JSON.stringify(endpoint.secrets),
    is_enabled: endpoint.isEnabled ? 1 : 0,
    switched_off: endpoint.switchedOff === null ? null : JSON.stringify(endpoint.switchedOff),
    failing_since: endpoint.failingSince,
    updated_at: endpoint.updatedAt,
  }),
};
export const ENDPOINTS = createStore(table);

const toEndpoint = (row: unknown): Endpoint => table.read(row as never);

export const insertEndpoint = (tx: ControlTransaction, endpoint: Omit<Endpoint, 'id'>): Promise<Endpoint> =>
  ENDPOINTS.insert(tx, { ...toScopedColumns(endpoint), ...table.toColumns({ ...endpoint, id: 0 }) });

/** Of any account. */
export async function findEndpoint(rows: Rows, id: number): Promise<Endpoint | undefined> {
  const row = await rows.selectFrom('webhook_endpoint').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toEndpoint(row);
}

export async function listEndpoints(rows: Rows): Promise<Endpoint[]> {
  return (await rows.selectFrom('webhook_endpoint').selectAll().orderBy('id').execute()).map(toEndpoint);
}

/** @returns endpoints that are tried again and again, and those that get nothing any more */
export async function countTroubled(rows: Rows): Promise<{ failing: number; switched_off: number }> {
  const found = await rows
    .selectFrom('webhook_endpoint')
    .select(({ fn, eb }) => [
      fn
        .count<number>(eb.case().when('switched_off', 'is', null).then(eb.ref('failing_since')).end())
        .as('failing'),
      fn.count<number>('switched_off').as('switched_off'),
    ])
    .executeTakeFirstOrThrow();
  return { failing: Number(found.failing), switched_off: Number(found.switched_off) };
}

export async function hasEndpoints(rows: Rows): Promise<boolean> {
  return (await rows.selectFrom('webhook_endpoint').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** @returns projects in use that an endpoint may hear of */
export async function listListenedProjects(rows: Rows): Promise<number[]> {
  const found = await rows
    .selectFrom('project')
    .select('project.id')
    .where('deleted_at', 'is', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('webhook_endpoint')
          .select('webhook_endpoint.id')
          .whereRef('webhook_endpoint.account_id', '=', 'project.account_id'),
      ),
    )
    .orderBy('project.id')
    .execute();
  return found.map(({ id }) => id);
}

/** Notes since when attempts fail, or that they do not; an endpoint that has it noted is not written again. */
export async function noteFailing(tx: ControlTransaction, id: number, since: number | null): Promise<void> {
  await tx
    .updateTable('webhook_endpoint')
    .set({ failing_since: since })
    .where('id', '=', id)
    .where('failing_since', since === null ? 'is not' : 'is', null)
    .execute();
}

/** Removes what endpoints were to get and got, before they are removed. */
export async function removeDeliveriesTo(tx: ControlTransaction, ids: readonly number[]): Promise<void> {
  for (const name of ['webhook_queue', 'webhook_delivery'] as const)
    await tx.deleteFrom(name).where('endpoint_id', 'in', ids).execute();
}

export async function removeEndpointsOf(tx: ControlTransaction, scope: PartScope): Promise<void> {
  const ids = await listEndpointsOf(tx, scope);
  if (ids.length === 0) return;
  await removeDeliveriesTo(tx, ids);
  await tx.deleteFrom('webhook_endpoint').where('id', 'in', ids).execute();
}

async function listEndpointsOf(tx: ControlTransaction, scope: PartScope): Promise<number[]> {
  const found = await tx
    .selectFrom('webhook_endpoint')
    .select('id')
    .where((is) => is.and({ scope_type: scope.type, scope_id: scope.id }))
    .execute();
  return found.map(({ id }) => id);
}
