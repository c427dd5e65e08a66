import { sql } from 'kysely';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import type { FullUpdateKey } from './full-update-store.ts';

const FAILED = 1;
const IN_DOUBT = 2;

const oneLess = sql<number>`case when uploads_under_way > 0 then uploads_under_way - 1 else 0 end`;

/**
 * Counts a batch that is about to be read: until one is accepted, the full update counts as failed.
 * @returns the open full update that the batch is for; undefined when there is none
 */
export async function expectBatch(
  database: Database,
  expected: { projectId: number; origin: string; fullUpdateId: number | undefined },
): Promise<number | undefined> {
  const { fullUpdateId } = expected;
  const row = await database.write(
    (tx) =>
      tx
        .updateTable('full_update')
        .set({ uploads_under_way: sql<number>`uploads_under_way + 1` })
        .where('project_id', '=', expected.projectId)
        .where('origin', '=', expected.origin)
        .where('state', '=', 'open')
        .$if(fullUpdateId !== undefined, (query) => query.where('id', '=', Number(fullUpdateId)))
        .returning('id')
        .executeTakeFirst(),
    { of: 'rows' },
  );
  return row?.id;
}

/** Ends the count of a batch: it failed, or was accepted at an earlier request. */
export async function endExpected(
  database: Database,
  { id, projectId }: FullUpdateKey,
  hasFailed: boolean,
): Promise<void> {
  await database.write(
    (tx) =>
      tx
        .updateTable('full_update')
        .set({ uploads_under_way: oneLess, ...(hasFailed && { last_batch_failed: FAILED }) })
        .where('project_id', '=', projectId)
        .where('id', '=', id)
        .where('state', '=', 'open')
        .execute(),
    { of: 'rows' },
  );
}

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

/** Says that a process is there and has stored every mark that it had to. */
export async function noteProcess(database: Database, id: string): Promise<void> {
  const seen = { seen_at: database.now };
  await database.write(
    (tx) =>
      tx
        .insertInto('upload_process')
        .values({ id, ...seen })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(seen))
        .execute(),
    { of: 'rows' },
  );
}

export async function removeProcess(database: Database, id: string): Promise<void> {
  await database.write((tx) => tx.deleteFrom('upload_process').where('id', '=', id).execute(), {
    of: 'rows',
  });
}

/** Removes processes that were not seen for so long, or all; if there is one, every open full update is in doubt. */
export async function removeGoneProcesses(
  database: Database,
  origin: string,
  unseenMs?: number,
): Promise<void> {
  await database.write(
    async (tx) => {
      const gone = await tx
        .deleteFrom('upload_process')
        .$if(unseenMs !== undefined, (query) => query.where(isUnseen(database, Number(unseenMs))))
        .returning('id')
        .execute();
      if (gone.length > 0) await markOpen(tx, origin, 'in doubt').execute();
    },
    { of: 'rows' },
  );
}

/** @returns when each other process was last seen, by its id */
export async function listOtherProcesses(database: Database, id: string): Promise<Map<string, number>> {
  const rows = await database.read
    .selectFrom('upload_process')
    .select(['id', 'seen_at as seenAt'])
    .where('id', '!=', id)
    .execute();
  return new Map(rows.map((row) => [row.id, row.seenAt]));
}
