import { hostname } from 'node:os';
import { sql } from 'kysely';
import { type ControlTransaction, type Database, nameSessions, newestOf } from '../../storage/storage.ts';
import { type ArrivingBatch, keyOfArriving, removeArriving } from './full-update-store.ts';

const FAILED = 1;
const IN_DOUBT = 2;

/**
 * Counts a batch that is about to be read: a commit waits for it.
 * @returns the batch of the full update that is open; undefined when there is none
 */
export function expectBatch(
  database: Database,
  expected: Omit<ArrivingBatch, 'id'> & { origin: string; fullUpdateId: number | undefined },
): Promise<ArrivingBatch | undefined> {
  const { projectId, processId, number, origin, fullUpdateId } = expected;
  return database.write(
    async (tx) => {
      const open = await tx
        .selectFrom('full_update')
        .select(['id', 'batch_at'])
        .where((is) => is.and({ project_id: projectId, origin, state: 'open' }))
        .$if(fullUpdateId !== undefined, (query) => query.where('id', '=', Number(fullUpdateId)))
        // A commit that begins meanwhile waits and counts the batch, or the batch waits and finds none open.
        .$if(database.isShared, (query) => query.forShare())
        .executeTakeFirst();
      if (open === undefined) return undefined;
      const batch = { id: open.id, projectId, processId, number };
      const row = { ...keyOfArriving(batch), after_batch_at: open.batch_at };
      await tx.insertInto('arriving_batch').values(row).execute();
      return batch;
    },
    { of: 'rows' },
  );
}

/** Ends the count of a batch: it failed, or was accepted at an earlier request. */
export async function endExpected(
  database: Database,
  batch: ArrivingBatch,
  hasFailed: boolean,
): Promise<void> {
  await database.write(
    async (tx) => {
      await removeArriving(tx, batch);
      if (!hasFailed) return;
      await tx
        .updateTable('full_update')
        .set({ last_batch_failed: FAILED })
        .where((is) => is.and({ project_id: batch.projectId, id: batch.id, state: 'open' }))
        .execute();
    },
    { of: 'rows' },
  );
}

/**
 * Ends batches that failed at a moment that is not known: of processes that went, and the one that is named, which
 * could not be ended at once. If another batch was accepted since they began, it may have been the same batch, sent again.
 */
async function endLost(tx: ControlTransaction, named?: ArrivingBatch): Promise<void> {
  const listed = tx.selectFrom('upload_process').select('id');
  const lost = await tx
    .deleteFrom('arriving_batch')
    .where((is) => (named === undefined ? is('process_id', 'not in', listed) : is.and(keyOfArriving(named))))
    .returning(['project_id', 'full_update_id', 'after_batch_at'])
    .execute();
  for (const { project_id, full_update_id, after_batch_at } of lost)
    await tx
      .updateTable('full_update')
      .set({
        last_batch_failed: sql<number>`case when batch_at = ${after_batch_at} or last_batch_failed = ${sql.lit(FAILED)}
          then ${sql.lit(FAILED)} else ${sql.lit(IN_DOUBT)} end`,
      })
      .where((is) => is.and({ project_id, id: full_update_id, state: 'open' }))
      .execute();
}

/** Ends a batch that failed some time ago and could not be ended then. */
export const endLostBatch = (database: Database, batch: ArrivingBatch): Promise<void> =>
  database.write((tx) => endLost(tx, batch), { of: 'rows' });

/** That a batch was not accepted, or may not have been. */
export interface FailedBatch {
  /** undefined: the project is unknown. */
  readonly projectId: number | undefined;
  readonly state: 'failed' | 'in doubt';
  readonly at: number;
}

/** Marks open full updates that took no batch since. */
export async function markFailedBatch(
  database: Database,
  origin: string,
  { projectId, state, at }: FailedBatch,
): Promise<void> {
  await database.write(
    (tx) =>
      markOpen(tx, origin, state)
        .where('batch_at', '<=', at)
        .$if(projectId !== undefined, (query) => query.where('project_id', '=', Number(projectId)))
        .execute(),
    { of: 'rows' },
  );
}

function markOpen(tx: ControlTransaction, origin: string, state: FailedBatch['state']) {
  return tx
    .updateTable('full_update')
    .set({ last_batch_failed: state === 'failed' ? FAILED : IN_DOUBT })
    .where('state', '=', 'open')
    .where('origin', '=', origin)
    .where('last_batch_failed', '!=', FAILED);
}

const isUnseen = ({ now }: Database, ms: number) => sql<boolean>`seen_at <= ${now} - ${sql.lit(ms)}`;

/**
 * Says that a process is there and has stored every mark that it had to; among others also what it is, for programs that want to
 * migrate the database (`storage/postgres/migrate.ts`).
 */
export async function noteProcess(database: Database, takesBatches: boolean): Promise<void> {
  const seen = { seen_at: database.now };
  const itself = {
    schema_version: newestOf('postgres'),
    place: `${hostname()} pid ${process.pid}`,
    takes_batches: Number(takesBatches),
  };
  await database.write(
    (tx) =>
      tx
        .insertInto('upload_process')
        .values({ id: database.processId, ...seen, ...(database.isShared && itself) })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(seen))
        .execute(),
    { of: 'rows' },
  );
}

export async function removeProcess(database: Database): Promise<void> {
  const { processId } = database;
  await database.write(
    async (tx) => {
      await tx.deleteFrom('upload_process').where('id', '=', processId).execute();
      await endLost(tx);
    },
    { of: 'rows' },
  );
}

/** The one process of an embedded store does. */
const takesBatches = ({ isShared }: Database) =>
  sql<number>`${isShared ? sql.ref('takes_batches') : sql.lit(1)}`;

/**
 * Removes processes that were not seen for so long, or all; if one of them took batches, every open full update is in doubt at
 * least. What one that hangs left open is ended: it keeps its locks, and others would wait for it.
 */
export async function removeGoneProcesses(
  database: Database,
  origin: string,
  unseenMs?: number,
): Promise<void> {
  const gone = await database.write(
    async (tx) => {
      const removed = await tx
        .deleteFrom('upload_process')
        .$if(unseenMs !== undefined, (query) => query.where(isUnseen(database, Number(unseenMs))))
        .returning(['id', takesBatches(database).as('takesBatches')])
        .execute();
      await endLost(tx);
      if (removed.some((one) => one.takesBatches === 1)) await markOpen(tx, origin, 'in doubt').execute();
      return removed;
    },
    { of: 'rows' },
  );
  if (database.isShared && gone.length > 0)
    await endSessions(
      database,
      gone.map(({ id }) => nameSessions(id)),
    );
}

/** An idle one holds nothing; behind a proxy it may be another process's by now. */
async function endSessions(database: Database, names: readonly string[]): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name in (${sql.join(names)}) and state <> 'idle' and usename = current_user
      and datname = current_database()`.execute(database.read);
}

/** Of a database that processes share. @returns when each other one that takes batches was last seen, by its id */
export async function listOtherProcesses(database: Database): Promise<Map<string, number>> {
  const rows = await database.read
    .selectFrom('upload_process')
    .select(['id', 'seen_at as seenAt'])
    .where('id', '!=', database.processId)
    .where('takes_batches', '=', 1)
    .execute();
  return new Map(rows.map((row) => [row.id, row.seenAt]));
}
