import type { Selectable } from 'kysely';
import type { PartScope } from '../kernel/caller.ts';
import { isScopeInReach, type PagePlace, type Reach } from '../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import type { Endpoint } from './endpoint.ts';

type Rows = Database['read'] | ControlTransaction;

export async function findEndpoint(rows: Rows, id: number): Promise<Endpoint | undefined> {
  const row = await rows.selectFrom('webhook_endpoint').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toEndpoint(row);
}

export async function findEndpointInReach(
  rows: Rows,
  reach: Reach,
  id: number,
): Promise<Endpoint | undefined> {
  const row = await rows
    .selectFrom('webhook_endpoint')
    .selectAll()
    .where('id', '=', id)
    .where(isScopeInReach(reach))
    .executeTakeFirst();
  return row && toEndpoint(row);
}

/** @returns the endpoints in reach, by id */
export async function listEndpointsInReach(rows: Rows, reach: Reach, place: PagePlace): Promise<Endpoint[]> {
  const found = await rows
    .selectFrom('webhook_endpoint')
    .selectAll()
    .where(isScopeInReach(reach))
    .where('id', '>', place.after ?? 0)
    .orderBy('id')
    .limit(place.count)
    .execute();
  return found.map(toEndpoint);
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

export async function countEndpoints(rows: Rows, accountId: number): Promise<number> {
  const { count } = await rows
    .selectFrom('webhook_endpoint')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return Number(count);
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

export async function insertEndpoint(
  tx: ControlTransaction,
  endpoint: Omit<Endpoint, 'id'>,
): Promise<Endpoint> {
  const row = await tx
    .insertInto('webhook_endpoint')
    .values({
      account_id: endpoint.accountId,
      scope_type: endpoint.scope.type,
      scope_id: endpoint.scope.type === 'account' ? null : endpoint.scope.id,
      created_at: endpoint.createdAt,
      created_by: JSON.stringify(endpoint.createdBy),
      ...toColumns(endpoint),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toEndpoint(row);
}

export async function updateEndpoint(tx: ControlTransaction, endpoint: Endpoint): Promise<void> {
  await tx.updateTable('webhook_endpoint').set(toColumns(endpoint)).where('id', '=', endpoint.id).execute();
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

export async function removeEndpoints(tx: ControlTransaction, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  for (const table of ['webhook_queue', 'webhook_delivery'] as const)
    await tx.deleteFrom(table).where('endpoint_id', 'in', ids).execute();
  await tx.deleteFrom('webhook_endpoint').where('id', 'in', ids).execute();
}

export async function listEndpointsOf(tx: ControlTransaction, scope: PartScope): Promise<number[]> {
  const found = await tx
    .selectFrom('webhook_endpoint')
    .select('id')
    .where('scope_type', '=', scope.type)
    .where('scope_id', '=', scope.id)
    .execute();
  return found.map(({ id }) => id);
}

const toColumns = (endpoint: Omit<Endpoint, 'id'>) => ({
  url: endpoint.url,
  events: JSON.stringify(endpoint.events),
  secrets: JSON.stringify(endpoint.secrets),
  is_enabled: endpoint.isEnabled ? 1 : 0,
  switched_off: endpoint.switchedOff === null ? null : JSON.stringify(endpoint.switchedOff),
  failing_since: endpoint.failingSince,
  updated_at: endpoint.updatedAt,
});

function toEndpoint(row: Selectable<ControlSchema['webhook_endpoint']>): Endpoint {
  const { scope_type: type, scope_id: id } = row;
  return {
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    events: JSON.parse(row.events),
    scope: type === 'account' || id === null ? { type: 'account' } : { type, id },
    secrets: JSON.parse(row.secrets),
    isEnabled: row.is_enabled === 1,
    switchedOff: row.switched_off === null ? null : JSON.parse(row.switched_off),
    failingSince: row.failing_since,
    createdAt: row.created_at,
    createdBy: JSON.parse(row.created_by),
    updatedAt: row.updated_at,
  };
}
