import type { DatabaseSync } from 'node:sqlite';
import type { SqlSession } from './sql-statement.ts';

/** The table that `relata migrate-store` keeps in its target until the copy is verified; such a store is not served. */
export const MOVE_PROGRESS = 'move_progress';

/** Instead of a project: ids of projects begin at 1. */
export const SERVICE = 0;

/** The row of the move itself in `move_progress`; the others are of tables. */
export const MOVE_ROW = 'move';

/** @returns the identity of the store that is moved to this data folder */
export function findMoveIn(control: DatabaseSync): { identity: string; isCompared: boolean } | undefined {
  if (!hasProgress(control)) return undefined;
  const row = control
    .prepare(`select place as identity, is_done as isCompared from ${MOVE_PROGRESS} where table_name = ?`)
    .get(MOVE_ROW);
  return row && { identity: String(row.identity), isCompared: row.isCompared === 1 };
}

const hasProgress = (database: DatabaseSync): boolean =>
  database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(MOVE_PROGRESS) !==
  undefined;

/** Takes a session, so that the service can call it too. @returns the identity of the store that is moved to the database */
export async function findMoveRow(
  postgres: SqlSession,
): Promise<{ identity: string; isCompared: boolean } | undefined> {
  const [table] = await postgres.rows<{ name: string | null }>('select to_regclass($1)::text as name', [
    MOVE_PROGRESS,
  ]);
  if (!table?.name) return undefined;
  const [row] = await postgres.rows<{ identity: string; isCompared: number }>(
    `select place as identity, is_done as "isCompared" from ${MOVE_PROGRESS} where project_id = $1 and table_name = $2`,
    [SERVICE, MOVE_ROW],
  );
  return row && { identity: row.identity, isCompared: row.isCompared === 1 };
}

export const unfinished = (name: string): Error =>
  new Error(
    `${name} holds a part of a store that is moved to it: run relata migrate-store again until it has ended, or empty it`,
  );

/** Called before serving a database. @throws Error when it is the target of a move that has not ended */
export async function refuseUnfinishedMove(postgres: SqlSession): Promise<void> {
  if ((await findMoveRow(postgres)) !== undefined) throw unfinished('The database');
}

/** The same for a data folder, by its control database. */
export function refuseUnfinishedMoveIn(control: DatabaseSync): void {
  if (findMoveIn(control) !== undefined) throw unfinished('The data directory');
}
