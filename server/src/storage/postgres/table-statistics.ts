import type { SqlSession } from '../programs/programs.ts';

/**
 * Updates the planner's statistics of tables that this thread fills. Without statistics, or with those of a small
 * catalog, PostgreSQL reads a whole table for each row of a list. A connection also reuses such a plan: a commit of
 * 10,000 changed products took 42 s instead of 0.5 s. Autovacuum runs a minute later or never. Citus needs none of
 * this, because its workers plan each statement by the present size of their tables, and `analyze` would read every
 * shard.
 */
export interface Statistics {
  /** Counts the rows that an open transaction writes. */
  openCount(): WrittenRows;
  /**
   * Call this after that transaction has committed. It analyses the tables that have changed much since they were last
   * analysed.
   */
  settle(written: WrittenRows): Promise<void>;
}

export interface WrittenRows {
  /** Rows that were written, by table. */
  readonly rows: ReadonlyMap<string, number>;
  add(statement: string, rows: number): void;
}

/** When this many rows have been written to a table, its statistics are compared with its size. */
const LARGE = 1_000;
const WRITES = /^\s*(?:insert into|update|delete from|copy)\s+(\w+)/;

/** @param session runs each statement in its own transaction */
export function keepStatistics(session: Pick<SqlSession, 'rows'>): Statistics {
  /** Rows that were written since the last comparison, by table. */
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
      // The rows are committed, so a failure only makes later statements slow until autovacuum runs.
      await analyse(session, large).catch(() => {});
    },
  };
}

/** Finds tables that grew by half, or half of whose rows were written, since they were last analysed. */
const OUTDATED = `select c.relname as name from unnest($1::text[], $2::bigint[]) w (name, written)
  join pg_class c on c.oid = to_regclass(w.name)
  where current_setting('citus.version', true) is null and (w.written > 0.5 * c.reltuples
    or pg_relation_size(c.oid) / current_setting('block_size')::bigint > 1.5 * c.relpages)`;

/**
 * Analyses each table in its own transaction. Within the transaction of a change, `analyze` would hold its lock until
 * the end, and two such transactions could block each other.
 */
async function analyse(
  { rows }: Pick<SqlSession, 'rows'>,
  written: readonly (readonly [table: string, rows: number])[],
): Promise<void> {
  const [tables, counts] = [written.map(([table]) => table), written.map(([, count]) => count)];
  const outdated = await rows<{ name: string }>(OUTDATED, [tables, counts]);
  if (outdated.length > 0) await rows(`analyze (skip_locked) ${outdated.map(({ name }) => name).join(', ')}`);
}
