import type { SqlSession } from '../programs/programs.ts';

/**
 * Keeps the planner's statistics of tables that this thread fills. Until they exist, and as long as they describe a small
 * catalog, PostgreSQL reads a whole table for each row of a list, and a plan that a connection keeps is not made anew
 * either: 10,000 changed products took a commit 42 s instead of 0.5. Autovacuum comes a minute later, or never.
 *
 * Not on Citus: workers plan each statement anew, by the present size of its tables, and `analyze` would read every shard.
 */
export interface Statistics {
  /** Counts rows that an open transaction writes. */
  openCount(): WrittenRows;
  /** Call it when that transaction has committed; analyses tables that it, with earlier ones, changed largely. */
  settle(written: WrittenRows): Promise<void>;
}

export interface WrittenRows {
  /** By table. */
  readonly rows: ReadonlyMap<string, number>;
  add(statement: string, rows: number): void;
}

/** Rows written to a table from which on its statistics are compared with its size. */
const LARGE = 1_000;
const WRITES = /^\s*(?:insert into|update|delete from|copy)\s+(\w+)/;

/** @param session runs a statement in a transaction of its own */
export function keepStatistics(session: Pick<SqlSession, 'rows'>): Statistics {
  /** Rows by table, since it was last compared. */
  const since = new Map<string, number>();
  return {
    openCount() {
      const rows = new Map<string, number>();
      return {
        rows,
        add(statement, count) {
          const table = count > 0 ? WRITES.exec(statement)?.[1] : undefined;
          if (table !== undefined) rows.set(table, (rows.get(table) ?? 0) + count);
        },
      };
    },
    async settle({ rows }) {
      for (const [table, count] of rows) since.set(table, (since.get(table) ?? 0) + count);
      const large = [...since].filter(([, count]) => count >= LARGE);
      if (large.length === 0) return;
      for (const [table] of large) since.delete(table);
      // The rows are committed: without statistics, later statements are slow, and autovacuum makes them then.
      await analyse(session, large).catch(() => {});
    },
  };
}

/** Tables that grew by half, or of which half was written, since they were last analysed. */
const OUTDATED = `select c.relname as name from unnest($1::text[], $2::bigint[]) w (name, written)
  join pg_class c on c.oid = to_regclass(w.name)
  where current_setting('citus.version', true) is null and (w.written > 0.5 * c.reltuples
    or pg_relation_size(c.oid) / current_setting('block_size')::bigint > 1.5 * c.relpages)`;

/**
 * In a transaction of its own for each table, so that it waits for none and none waits for it: `analyze` within the transaction of
 * a change would keep its lock until the end, and two of them could wait for each other.
 */
async function analyse(
  { rows }: Pick<SqlSession, 'rows'>,
  written: readonly (readonly [table: string, rows: number])[],
): Promise<void> {
  const [tables, counts] = [written.map(([table]) => table), written.map(([, count]) => count)];
  const outdated = await rows<{ name: string }>(OUTDATED, [tables, counts]);
  if (outdated.length > 0) await rows(`analyze (skip_locked) ${outdated.map(({ name }) => name).join(', ')}`);
}
