import { byEngine, cell, type Program, row, sql, text } from './programs/programs.ts';

/** The table that `relata migrate-store` keeps in its target until the copy is verified. Such a store is not served. */
export const MOVE_PROGRESS = 'move_progress';

/** The row of the move itself in `move_progress`. The other rows are about tables. */
export const MOVE_ROW = 'move';

/** @returns the identity of the store that is being moved here, and whether the finished copy has been compared */
export function* findMove(): Program<{ identity: string; isCompared: boolean } | undefined> {
  const table = yield* cell<string | null>(
    byEngine({
      sqlite: sql`select name from sqlite_schema where type = 'table' and name = ${MOVE_PROGRESS}`,
      postgres: sql`select to_regclass(${MOVE_PROGRESS})::text`,
    }),
  );
  if (!table) return undefined;
  const move = yield* row<{ identity: string; done: number }>`select place as identity, is_done as done
    from ${text(MOVE_PROGRESS)} where table_name = ${MOVE_ROW}`;
  return move && { identity: move.identity, isCompared: move.done === 1 };
}

export const unfinished = (name: string): Error =>
  new Error(
    `${name} holds a part of a store that is moved to it: run relata migrate-store again until it has ended, or empty it`,
  );

/**
 * Call this before a store is served.
 * @throws Error when the store is the target of an unfinished move
 */
export function* refuseUnfinishedMove(name: string): Program<void> {
  if ((yield* findMove()) !== undefined) throw unfinished(name);
}
