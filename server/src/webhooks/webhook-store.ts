import { type Selectable, sql } from 'kysely';
import type { PartScope } from '../kernel/caller.ts';
import type { PagePlace, Reach, Table } from '../projects/projects.ts';
import { createStore, isScopeInReach, readScoped, toScopedColumns } from '../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database, Rows } from '../storage/storage.ts';
import { control } from '../storage/storage.ts';
import { isFree, leaseUntil } from '../tasks/tasks.ts';
import type { Attempt, Endpoint, SwitchedOff } from './webhook-endpoint.ts';

const table: Table<Endpoint, Reach> = {
  within: isScopeInReach,
  name: 'webhook_endpoint',
  read: ({ is_enabled, ...row }: Selectable<ControlSchema['webhook_endpoint']>) => ({
    ...readScoped(row),
    events: JSON.parse(row.events),
    secrets: JSON.parse(row.secrets),
    isEnabled: is_enabled === 1,
    switchedOff: row.switched_off === null ? null : JSON.parse(row.switched_off),
  }),
  toColumns: ({ url, events, secrets, isEnabled, switchedOff, failingSince, updatedAt }) => ({
    url,
    events: JSON.stringify(events),
    secrets: JSON.stringify(secrets),
    isEnabled: Number(isEnabled),
    switchedOff: switchedOff && JSON.stringify(switchedOff),
    failingSince,
    updatedAt,
  }),
};
export const ENDPOINTS = createStore(table);

export const insertEndpoint = (tx: ControlTransaction, endpoint: Omit<Endpoint, 'id'>): Promise<Endpoint> =>
  ENDPOINTS.insert(tx, { ...toScopedColumns(endpoint), ...table.toColumns({ ...endpoint, id: 0 }) });

/** Finds an endpoint of any account. */
export async function findEndpoint(rows: Rows, id: number): Promise<Endpoint | undefined> {
  const row = await rows.selectFrom('webhook_endpoint').selectAll().where('id', '=', id).executeTakeFirst();
  return row && table.read(row);
}

export async function listEndpoints(rows: Rows): Promise<Endpoint[]> {
  const endpointRows = await rows.selectFrom('webhook_endpoint').selectAll().orderBy('id').execute();
  return endpointRows.map((row) => table.read(row));
}

/** @returns how many endpoints fail and are retried, and how many the service has switched off */
export async function countTroubled(rows: Rows): Promise<{ failing: number; switched_off: number }> {
  const counts = await rows
    .selectFrom('webhook_endpoint')
    .select(sql<number>`count(case when switched_off is null then failing_since end)`.as('failing'))
    .select(({ fn }) => fn.count<number>('switched_off').as('switched_off'))
    .executeTakeFirstOrThrow();
  return { failing: Number(counts.failing), switched_off: Number(counts.switched_off) };
}

export async function hasEndpoints(rows: Rows): Promise<boolean> {
  return (await rows.selectFrom('webhook_endpoint').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** @returns the projects in use whose account has an endpoint */
export async function listListenedProjects(rows: Rows): Promise<number[]> {
  const projectRows = await rows
    .selectFrom('project')
    .select('project.id')
    .where('deleted_at', 'is', null)
    .where('account_id', 'in', ({ selectFrom }) => selectFrom('webhook_endpoint').select('account_id'))
    .orderBy('project.id')
    .execute();
  return projectRows.map(({ id }) => id);
}

/** Records since when attempts have failed; null: the last one succeeded. Writes only if that is a change. */
export async function noteFailing(tx: ControlTransaction, id: number, since: number | null): Promise<void> {
  await tx
    .updateTable('webhook_endpoint')
    .set({ failing_since: since })
    .where('id', '=', id)
    .where('failing_since', since === null ? 'is not' : 'is', null)
    .execute();
}

/** Removes the pending and ended deliveries of endpoints. */
export async function removeDeliveriesTo(tx: ControlTransaction, ids: readonly number[]): Promise<void> {
  for (const name of ['webhook_queue', 'webhook_delivery'] as const)
    await tx.deleteFrom(name).where('endpoint_id', 'in', ids).execute();
}

export async function removeEndpointsOf(tx: ControlTransaction, { type, id }: PartScope): Promise<void> {
  const removed = await tx
    .deleteFrom('webhook_endpoint')
    .where((is) => is.and({ scope_type: type, scope_id: id }))
    .returning('id')
    .execute();
  const ids = removed.map((endpoint) => endpoint.id);
  if (ids.length > 0) await removeDeliveriesTo(tx, ids);
}

/**
 * The deliveries of an endpoint that are sent one after another. A lane with pending deliveries has a row in
 * webhook_queue. The process that sends them holds its lease, as for tasks. An expired lease means that this process
 * has ended.
 */
export interface Lane {
  readonly endpointId: number;
  /** A project; 0 for replays and tests. */
  readonly lane: number;
}

/** Skips messages that are already stored, because an event may be read again after a crash. @returns the new ones */
export async function insertMessages(tx: ControlTransaction, messages: readonly Omit<Message, 'number'>[]) {
  return tx
    .insertInto('webhook_message')
    .values(messages.map(({ projectId, ...message }) => ({ ...message, project_id: projectId })))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning(['number', 'id'])
    .execute();
}

export type NewDelivery = Lane & { readonly message: number; readonly kind: Delivery['kind'] };

/** Adds deliveries. A lane that waits for a retry keeps its due time. @returns the ids of the deliveries, in order */
export async function insertDeliveries(
  tx: ControlTransaction,
  deliveries: readonly NewDelivery[],
  now: number,
): Promise<number[]> {
  const rows = await tx
    .insertInto('webhook_delivery')
    .values(
      deliveries.map(({ endpointId, lane, message, kind }) => ({
        endpoint_id: endpointId,
        lane,
        message_number: message,
        kind,
        status: 'pending' as const,
        attempts: 0,
        created_at: now,
      })),
    )
    .returning('id')
    .execute();
  const lanes = new Map(deliveries.map((delivery) => [`${delivery.endpointId} ${delivery.lane}`, delivery]));
  // All transactions use the same order, to avoid deadlocks.
  for (const { endpointId, lane } of [...lanes.values()].sort((a, b) => a.endpointId - b.endpointId)) {
    await tx
      .insertInto('webhook_queue')
      .values({ endpoint_id: endpointId, lane, due_at: now, tries: 0 })
      // Locks the row, so that a process that is about to remove the empty lane waits and sees the new deliveries.
      .onConflict((present) =>
        present
          .columns(['endpoint_id', 'lane'])
          .doUpdateSet(({ ref }) => ({ due_at: ref('webhook_queue.due_at') })),
      )
      .execute();
  }
  return rows.map(({ id }) => id);
}

/** @returns how many deliveries of an endpoint are pending, at most `limit` */
export async function countPending(tx: ControlTransaction, endpointId: number, limit: number) {
  const query = sql<{ count: number }>`select count(*) as count from (select id from webhook_delivery
    where endpoint_id = ${endpointId} and status = 'pending' limit ${limit}) pending`;
  return Number((await query.execute(tx)).rows[0]?.count);
}

const selectDeliveries = (rows: Rows, endpointId: number) =>
  rows
    .selectFrom('webhook_delivery as delivery')
    .innerJoin('webhook_message as message', 'message.number', 'delivery.message_number')
    .innerJoin('webhook_endpoint as endpoint', 'endpoint.id', 'delivery.endpoint_id')
    .leftJoin('webhook_queue as queue', (join) =>
      join.onRef('queue.endpoint_id', '=', 'delivery.endpoint_id').onRef('queue.lane', '=', 'delivery.lane'),
    )
    .select(['delivery.id', 'delivery.endpoint_id as endpointId', 'delivery.lane', 'kind', 'status'])
    .select(['delivery.created_at as createdAt', 'first_attempt_at as firstAttemptAt', 'url'])
    .select(['attempts', 'last_attempt as lastAttempt', 'due_at as dueAt', 'finished_at as finishedAt'])
    .select(['number', 'message.id as messageId', 'project_id as projectId', 'type', 'at', 'body'])
    .where('delivery.endpoint_id', '=', endpointId);

/** One event for one endpoint. Source: docs/interface §6.4. */
export type Delivery = ReturnType<typeof toDelivery>;
/** The message sent for an event; its id is the webhook-id. */
export type Message = Delivery['message'];
export type DeliveryStatus = Delivery['status'];

function toDelivery(row: Awaited<ReturnType<ReturnType<typeof selectDeliveries>['execute']>>[number]) {
  const { number, messageId, projectId, type, at, body, lastAttempt, dueAt, ...delivery } = row;
  return {
    ...delivery,
    /** When its lane makes the next attempt; null if the delivery has ended. */
    dueAt: delivery.status === 'pending' ? dueAt : null,
    lastAttempt: lastAttempt === null ? null : (JSON.parse(lastAttempt) as Attempt),
    message: { number, id: messageId, projectId, type, at, body },
  };
}

/** @returns the lane's next delivery */
export async function findNextDelivery(
  rows: Rows,
  { endpointId, lane }: Lane,
): Promise<Delivery | undefined> {
  const row = await selectDeliveries(rows, endpointId)
    .where((is) => is.and({ 'delivery.lane': lane, status: 'pending' }))
    .orderBy('delivery.id')
    .limit(1)
    .executeTakeFirst();
  return row && toDelivery(row);
}

export async function findDelivery(rows: Rows, { endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>) {
  const row = await selectDeliveries(rows, endpointId).where('delivery.id', '=', id).executeTakeFirst();
  return row && toDelivery(row);
}

/** @returns the newest deliveries first */
export async function listDeliveries(
  rows: Rows,
  endpointId: number,
  { position, status }: { position: PagePlace; status: DeliveryStatus | undefined },
): Promise<Delivery[]> {
  const deliveryRows = await selectDeliveries(rows, endpointId)
    .where('delivery.id', '<', position.after ?? Number.MAX_SAFE_INTEGER)
    .$if(status !== undefined, (query) => query.where('status', '=', status ?? 'pending'))
    .orderBy('delivery.id', 'desc')
    .limit(position.count)
    .execute();
  return deliveryRows.map(toDelivery);
}

export async function saveAttempt(
  tx: ControlTransaction,
  delivery: Delivery,
  { attempt, status }: { attempt: Attempt; status: DeliveryStatus },
): Promise<void> {
  const set = {
    status,
    attempts: delivery.attempts + 1,
    firstAttemptAt: delivery.firstAttemptAt ?? attempt.at,
    finishedAt: status === 'pending' ? null : attempt.at,
    lastAttempt: JSON.stringify(attempt),
  };
  await control.update(tx, 'webhook_delivery', { where: { id: delivery.id }, set });
}

/** Cancels the pending deliveries of an endpoint that is switched off, except replays and tests. */
export async function stopDeliveries(
  tx: ControlTransaction,
  endpointId: number,
  endedAt: number,
): Promise<void> {
  await tx
    .updateTable('webhook_delivery')
    .set({ status: 'failed', finished_at: endedAt })
    .where((is) => is.and({ endpoint_id: endpointId, status: 'pending' }))
    .where('lane', '<>', 0)
    .execute();
  await tx.deleteFrom('webhook_queue').where('endpoint_id', '=', endpointId).where('lane', '<>', 0).execute();
}

/** Switches an endpoint off; its pending deliveries are cancelled, and can be replayed. */
export async function switchOff(tx: ControlTransaction, id: number, why: SwitchedOff): Promise<void> {
  const endpoint = await findEndpoint(tx, id);
  if (endpoint === undefined || !endpoint.isEnabled) return;
  await ENDPOINTS.update(tx, { ...endpoint, isEnabled: false, switchedOff: why, updatedAt: why.at });
  await stopDeliveries(tx, id, why.at);
}

/** A claimed lane, with the number of failed attempts of its first delivery. */
export type ClaimedLane = Lane & { readonly tries: number };

/** Longer than the time limit of an attempt. */
const LEASE_MS = 30_000;

/** @returns lanes that are due and free, the longest overdue first, at most `perEndpoint` of each endpoint */
export async function listDueLanes(
  database: Database,
  { now, perEndpoint }: { now: number; perEndpoint: number },
): Promise<Lane[]> {
  const { rows } = await sql<Lane>`select endpoint_id as "endpointId", lane from
    (select *, row_number() over (partition by endpoint_id order by due_at, lane) as place
      from webhook_queue where due_at <= ${now} and ${isFree(database)}) ranked
    where place <= ${perEndpoint} order by due_at`.execute(database.read);
  return rows;
}

/** @returns the lane with a lease of the owner; undefined if another process claimed the lane first */
export async function claimLane(
  database: Database,
  { endpointId, lane }: Lane,
  { owner, now }: { owner: string; now: number },
): Promise<ClaimedLane | undefined> {
  const row = await database.write('rows', (tx) =>
    tx
      .updateTable('webhook_queue')
      .set({ leased_by: owner, lease_until: leaseUntil(database, LEASE_MS) })
      .where((is) => is.and({ endpoint_id: endpointId, lane }))
      .where('due_at', '<=', now)
      .where(isFree(database))
      .returning('tries')
      .executeTakeFirst(),
  );
  return row && { endpointId, lane, tries: row.tries };
}

/** When a lane continues, and whether the process that holds it continues with it. */
export type LaneState = { readonly tries: number; readonly dueAt: number; readonly isHeld: boolean };

/** @returns false if the owner no longer holds the lane */
export async function saveLane(
  database: Database,
  tx: ControlTransaction,
  { owner, endpointId, lane, tries, dueAt, isHeld }: Lane & LaneState & { owner: string },
): Promise<boolean> {
  const leased = isHeld
    ? { leasedBy: owner, leaseUntil: leaseUntil(database, LEASE_MS) }
    : { leasedBy: null, leaseUntil: null };
  const where = { endpointId, lane, leasedBy: owner };
  return (await control.update(tx, 'webhook_queue', { where, set: { tries, dueAt, ...leased } })) > 0;
}

/** Removes a lane without deliveries. @returns false if the lane now has deliveries */
export async function closeLane(database: Database, { owner, endpointId, lane }: Lane & { owner: string }) {
  return database.write('rows', async (tx) => {
    // Locks the lane before its deliveries are read, so that deliveries are not added in between.
    const heldLane = await tx
      .selectFrom('webhook_queue')
      .select('lane')
      .where((is) => is.and({ endpoint_id: endpointId, lane, leased_by: owner }))
      .$if(database.isShared, (query) => query.forUpdate())
      .executeTakeFirst();
    if (heldLane === undefined) return true;
    if ((await findNextDelivery(tx, { endpointId, lane })) !== undefined) return false;
    await control.remove(tx, 'webhook_queue', { endpointId, lane });
    return true;
  });
}

/** Makes every lane of an endpoint due now, for example after a change of the address. */
export async function hurryLanes(tx: ControlTransaction, endpointId: number, now: number): Promise<void> {
  await control.update(tx, 'webhook_queue', { where: { endpointId }, set: { dueAt: now, tries: 0 } });
}

/** @returns the ids of tasks by their numbers */
export async function findTaskIds(tx: ControlTransaction, projectId: number, numbers: readonly number[]) {
  if (numbers.length === 0) return new Map();
  const taskRows = await tx
    .selectFrom('task')
    .select(['number', 'id'])
    .where('project_id', '=', projectId)
    .where('number', 'in', numbers)
    .execute();
  return new Map(taskRows.map(({ number, id }) => [number, id]));
}

/**
 * Removes ended deliveries that are old or beyond the newest `most` of an endpoint, and messages without deliveries.
 */
export async function dropOldDeliveries(
  database: Database,
  { before, most }: { before: number; most: number },
): Promise<void> {
  const ends = await database.read.selectFrom('webhook_endpoint').select('id').execute();
  // Each endpoint has its own write, so that other writes do not wait for all endpoints.
  for (const { id } of ends)
    await database.write('rows', (tx) =>
      sql`delete from webhook_delivery where endpoint_id = ${id} and status <> 'pending'
        and (finished_at < ${before} or id <= (select id from webhook_delivery where endpoint_id = ${id}
          order by id desc limit 1 offset ${most}))`.execute(tx),
    );
  await database.write('rows', (tx) =>
    sql`delete from webhook_message where not exists
      (select id from webhook_delivery where message_number = webhook_message.number)`.execute(tx),
  );
}

/** Removes the lanes and deliveries of a project that is permanently removed. */
export async function removeProjectRows(tx: ControlTransaction, projectId: number): Promise<void> {
  await control.remove(tx, 'webhook_queue', { lane: projectId });
  await sql`delete from webhook_delivery where message_number in
    (select number from webhook_message where project_id = ${projectId})`.execute(tx);
}
