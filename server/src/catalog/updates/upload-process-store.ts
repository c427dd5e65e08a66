import { hostname } from 'node:os';
import { sql } from 'kysely';
import { newestOf } from '../../storage/migrations/migrations.ts';
import { nameSessions } from '../../storage/postgres/postgres.ts';
import { type ControlTransaction, control, type Database, toSnake } from '../../storage/storage.ts';
import { type ArrivingBatch, keyOfArriving } from './batch-store.ts';
import { changeOpen, FAILED, IN_DOUBT, ofCaller } from './full-update-store.ts';

/**
 * Ends batches that failed at an unknown time: batches of dead processes, and the named batch, which could not be
 * ended immediately. If another batch was accepted since they began, it may have been the same batch, sent again.
 */
async function endLost(tx: ControlTransaction, named?: ArrivingBatch): Promise<void> {
  const listed = tx.selectFrom('upload_process').select('id');
  const lost = await tx
    .deleteFrom('arriving_batch')
    .where((is) =>
      named === undefined ? is('process_id', 'not in', listed) : is.and(toSnake(keyOfArriving(named))),
    )
    .returning(['project_id as projectId', 'full_update_id as id', 'after_batch_at'])
    .execute();
  for (const { projectId, id, after_batch_at } of lost) {
    const lastBatchFailed = sql<number>`case when batch_at = ${after_batch_at} or last_batch_failed = ${sql.lit(FAILED)}
      then ${sql.lit(FAILED)} else ${sql.lit(IN_DOUBT)} end`;
    await changeOpen(tx, { projectId, id }, { lastBatchFailed });
  }
}

/** Ends a batch that failed some time ago and could not be ended then. */
export const endLostBatch = (database: Database, batch: ArrivingBatch): Promise<void> =>
  database.write('rows', (tx) => endLost(tx, batch));

/** A batch that was not accepted, or that may not have been accepted. */
export interface FailedBatch {
  /** undefined if the project is unknown. */
  readonly projectId: number | undefined;
  /** The caller whose full update it concerns; undefined if it may be the full update of any caller. */
  readonly caller?: string | undefined;
  readonly state: 'failed' | 'in doubt';
  readonly at: number;
}

/** Marks open full updates that have accepted no batch since the failure. */
export async function markFailedBatch(
  database: Database,
  origin: string,
  { projectId, caller, state, at }: FailedBatch,
): Promise<void> {
  await database.write('rows', (tx) =>
    markOpen(tx, origin, state)
      .where('batch_at', '<=', at)
      .$if(projectId !== undefined, (query) => query.where('project_id', '=', Number(projectId)))
      .$if(caller !== undefined, (query) => query.where(ofCaller(String(caller))))
      .execute(),
  );
}

function markOpen(tx: ControlTransaction, origin: string, state: FailedBatch['state']) {
  return tx
    .updateTable('full_update')
    .set({ last_batch_failed: state === 'failed' ? FAILED : IN_DOUBT })
    .where((is) => is.and({ state: 'open', origin }))
    .where('last_batch_failed', '!=', FAILED);
}

/**
 * Reports that a process is alive and has stored all its marks. It also reports the version of the process, for
 * programs that want to migrate the database (`storage/postgres/migrate.ts`).
 */
export async function noteProcess(database: Database, takesBatches: boolean): Promise<void> {
  const seen = { seen_at: database.now };
  const itself = {
    schema_version: newestOf('postgres'),
    place: `${hostname()} pid ${process.pid}`,
    takes_batches: Number(takesBatches),
  };
  await database.write('rows', (tx) =>
    tx
      .insertInto('upload_process')
      .values({ id: database.processId, ...seen, ...(database.isShared && itself) })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(seen))
      .execute(),
  );
}

export const removeProcess = (database: Database): Promise<void> =>
  database.write('rows', async (tx) => {
    await control.remove(tx, 'upload_process', { id: database.processId });
    await endLost(tx);
  });

/**
 * Removes processes that were not seen for the given time, or all processes. If one of them accepted batches, every
 * open full update is at least in doubt. It also ends sessions that a hanging process left open, because others would
 * wait for their locks.
 */
export async function removeGoneProcesses(database: Database, origin: string, unseenMs?: number) {
  // Ends sessions first, because a session may lock the row of its own process.
  if (database.isShared) await endSessionsOfGone(database, unseenMs);
  // The only process of an embedded store accepts batches.
  const takesBatches = sql<number>`${database.isShared ? sql.ref('takes_batches') : sql.lit(1)}`;
  await database.write('rows', async (tx) => {
    const removed = await tx
      .deleteFrom('upload_process')
      .where(isUnseen(database, unseenMs))
      .returning(takesBatches.as('takesBatches'))
      .execute();
    await endLost(tx);
    if (removed.some((process) => process.takesBatches === 1))
      await markOpen(tx, origin, 'in doubt').execute();
  });
}

const isUnseen = (database: Database, unseenMs: number | undefined) =>
  unseenMs === undefined
    ? sql<boolean>`true`
    : sql<boolean>`seen_at <= ${database.now} - ${sql.lit(Number(unseenMs))}`;

async function endSessionsOfGone(database: Database, unseenMs: number | undefined): Promise<void> {
  const goneProcesses = await database.read
    .selectFrom('upload_process')
    .select('id')
    .where(isUnseen(database, unseenMs))
    .execute();
  if (goneProcesses.length === 0) return;
  const names = goneProcesses.map(({ id }) => nameSessions(id));
  // An idle session has no locks, and behind a proxy it may belong to another process by now.
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name in (${sql.join(names)}) and state <> 'idle' and usename = current_user
      and datname = current_database()`.execute(database.read);
}

/**
 * Requires a shared database.
 * @returns the time when each other process that accepts batches was last seen, by its id
 */
export async function listOtherProcesses(database: Database): Promise<Map<string, number>> {
  const rows = await database.read
    .selectFrom('upload_process')
    .select(['id', 'seen_at as seenAt'])
    .where('id', '!=', database.processId)
    .where('takes_batches', '=', 1)
    .execute();
  return new Map(rows.map((row) => [row.id, row.seenAt]));
}
