import { type Selectable, sql } from 'kysely';
import type { PagePlace } from '../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import type { Attempt, Delivery, DeliveryKind, DeliveryStatus, Message } from './endpoint.ts';
import type { Lane } from './queue-store.ts';

type Rows = Database['read'] | ControlTransaction;

export type NewMessage = Omit<Message, 'number'>;

/** @returns the messages that are new, with their numbers: an event may come again after a crash */
export async function insertMessages(
  tx: ControlTransaction,
  messages: readonly NewMessage[],
): Promise<readonly Pick<Message, 'number' | 'id'>[]> {
  return tx
    .insertInto('webhook_message')
    .values(
      messages.map(({ id, projectId, type, at, body }) => ({ id, project_id: projectId, type, at, body })),
    )
    .onConflict((known) => known.column('id').doNothing())
    .returning(['number', 'id'])
    .execute();
}

export interface NewDelivery extends Lane {
  readonly message: number;
  readonly kind: DeliveryKind;
  readonly createdAt: number;
}

/** @returns their ids, in order */
export async function insertDeliveries(
  tx: ControlTransaction,
  deliveries: readonly NewDelivery[],
): Promise<number[]> {
  const rows = await tx
    .insertInto('webhook_delivery')
    .values(
      deliveries.map(({ endpointId, lane, message, kind, createdAt }) => ({
        ...{ endpoint_id: endpointId, lane, message_number: message, kind },
        ...{ status: 'pending' as const, attempts: 0, created_at: createdAt },
      })),
    )
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** @returns how many deliveries of an endpoint are pending, counted up to a limit */
export async function countPending(
  tx: ControlTransaction,
  endpointId: number,
  limit: number,
): Promise<number> {
  const pending = tx
    .selectFrom('webhook_delivery')
    .select('id')
    .where('endpoint_id', '=', endpointId)
    .where('status', '=', 'pending')
    .limit(limit);
  const { count } = await tx
    .selectFrom(pending.as('pending'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

const COLUMNS = [
  ...([
    'webhook_delivery.id',
    'endpoint_id',
    'lane',
    'message_number',
    'kind',
    'status',
    'attempts',
  ] as const),
  ...(['created_at', 'first_attempt_at', 'finished_at', 'last_attempt'] as const),
  ...(['webhook_message.id as message_id', 'webhook_message.project_id', 'type', 'at', 'body'] as const),
] as const;

const selectDeliveries = (rows: Rows, endpointId: number) =>
  rows
    .selectFrom('webhook_delivery')
    .innerJoin('webhook_message', 'webhook_message.number', 'webhook_delivery.message_number')
    .select(COLUMNS)
    .where('endpoint_id', '=', endpointId);

/** @returns the delivery of a lane that goes out next */
export async function findNext(rows: Rows, { endpointId, lane }: Lane): Promise<Delivery | undefined> {
  const row = await selectDeliveries(rows, endpointId)
    .where('lane', '=', lane)
    .where('status', '=', 'pending')
    .orderBy('webhook_delivery.id')
    .limit(1)
    .executeTakeFirst();
  return row && toDelivery(row);
}

export async function findDelivery(
  rows: Rows,
  { endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>,
): Promise<Delivery | undefined> {
  const row = await selectDeliveries(rows, endpointId)
    .where('webhook_delivery.id', '=', id)
    .executeTakeFirst();
  return row && toDelivery(row);
}

/** @returns newest first */
export async function listDeliveries(
  rows: Rows,
  endpointId: number,
  { place, status }: { place: PagePlace; status: DeliveryStatus | undefined },
): Promise<Delivery[]> {
  const found = await selectDeliveries(rows, endpointId)
    .where('webhook_delivery.id', '<', place.after ?? Number.MAX_SAFE_INTEGER)
    .$if(status !== undefined, (query) => query.where('status', '=', status ?? 'pending'))
    .orderBy('webhook_delivery.id', 'desc')
    .limit(place.count)
    .execute();
  return found.map(toDelivery);
}

/** @returns when lanes of an endpoint go on, by lane */
export async function listDue(rows: Rows, endpointId: number): Promise<ReadonlyMap<number, number>> {
  const found = await rows
    .selectFrom('webhook_queue')
    .select(['lane', 'due_at'])
    .where('endpoint_id', '=', endpointId)
    .execute();
  return new Map(found.map(({ lane, due_at }) => [lane, due_at]));
}

export async function saveAttempt(
  tx: ControlTransaction,
  delivery: Delivery,
  { attempt, status }: { attempt: Attempt; status: DeliveryStatus },
): Promise<void> {
  await tx
    .updateTable('webhook_delivery')
    .set({
      status,
      attempts: delivery.attempts + 1,
      first_attempt_at: delivery.firstAttemptAt ?? attempt.at,
      finished_at: status === 'pending' ? null : attempt.at,
      last_attempt: JSON.stringify(attempt),
    })
    .where('id', '=', delivery.id)
    .execute();
}

/** Gives up what an endpoint that is switched off was still to get; replays and tests go on. */
export async function failPending(tx: ControlTransaction, endpointId: number, at: number): Promise<void> {
  await tx
    .updateTable('webhook_delivery')
    .set({ status: 'failed', finished_at: at })
    .where('endpoint_id', '=', endpointId)
    .where('status', '=', 'pending')
    .where('lane', '<>', 0)
    .execute();
}

/** @returns the ids of tasks by their numbers */
export async function findTaskIds(
  tx: ControlTransaction,
  projectId: number,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (numbers.length === 0) return new Map();
  const found = await tx
    .selectFrom('task')
    .select(['number', 'id'])
    .where('project_id', '=', projectId)
    .where('number', 'in', numbers)
    .execute();
  return new Map(found.map(({ number, id }) => [number, id]));
}

/** Forgets deliveries that ended before then, those behind the newest `kept` of each endpoint, and their messages. */
export async function dropOldDeliveries(
  database: Database,
  { before, kept }: { before: number; kept: number },
): Promise<void> {
  const ends = await database.read.selectFrom('webhook_endpoint').select('id').execute();
  for (const { id: endpointId } of ends) {
    const oldest = await database.read
      .selectFrom('webhook_delivery')
      .select('id')
      .where('endpoint_id', '=', endpointId)
      .orderBy('id', 'desc')
      .offset(kept)
      .limit(1)
      .executeTakeFirst();
    await database.write(
      (tx) =>
        tx
          .deleteFrom('webhook_delivery')
          .where('endpoint_id', '=', endpointId)
          .where('status', '<>', 'pending')
          .where(({ eb, or }) => or([eb('finished_at', '<', before), eb('id', '<=', oldest?.id ?? 0)]))
          .execute(),
      { of: 'rows' },
    );
  }
  await database.write(
    (tx) =>
      tx
        .deleteFrom('webhook_message')
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('webhook_delivery')
                .select('webhook_delivery.id')
                .whereRef('webhook_delivery.message_number', '=', 'webhook_message.number'),
            ),
          ),
        )
        .execute(),
    { of: 'rows' },
  );
}

/** Removes what a project that is gone for good had. */
export async function removeProjectRows(tx: ControlTransaction, projectId: number): Promise<void> {
  await tx.deleteFrom('service_event').where('project_id', '=', projectId).execute();
  await tx.deleteFrom('webhook_queue').where('lane', '=', projectId).execute();
  await sql`delete from webhook_delivery where message_number in
    (select number from webhook_message where project_id = ${projectId})`.execute(tx);
}

type DeliveryRow = Selectable<ControlSchema['webhook_delivery']> &
  Omit<Selectable<ControlSchema['webhook_message']>, 'id' | 'number'> & { message_id: string };

function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    lane: row.lane,
    kind: row.kind,
    status: row.status,
    attempts: row.attempts,
    createdAt: row.created_at,
    firstAttemptAt: row.first_attempt_at,
    finishedAt: row.finished_at,
    lastAttempt: row.last_attempt === null ? null : (JSON.parse(row.last_attempt) as Attempt),
    message: {
      number: row.message_number,
      id: row.message_id,
      projectId: row.project_id,
      type: row.type,
      at: row.at,
      body: row.body,
    },
  };
}
