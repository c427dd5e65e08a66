import { byEngine, type Program, rows, type Sql, sql, text } from '../../storage/storage.ts';

/**
 * How PostgreSQL plans the rest of a transaction. Rows that were just copied have no statistics, those of a new project or
 * full update for a long time: the planner takes a million rows for a hundred, and its plan takes minutes, or days.
 * SQLite plans by the text of a statement alone.
 */

/** For statements that compare whole tables: no nested loops. Compiling a plan takes longer than it saves. */
export function* planForWholeTables(): Program<void> {
  yield* rows(WHOLE_TABLES);
}

/**
 * For statements that read the first rows of an index, or those of a list, and no others. A generic plan takes every list
 * for a short one.
 */
export function* planForParts(): Program<void> {
  yield* rows(PARTS);
}

/** For statements that find documents by lexemes: their index has no other scan, and a new table no statistics that show its use. */
export function* planForLexemes(): Program<void> {
  yield* rows(LEXEMES);
}

function set(settings: Record<string, string>): Sql {
  const calls = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', true)`);
  return byEngine({ sqlite: sql`select 1 where false`, postgres: text(`select ${calls.join(', ')}`) });
}

const WHOLE_TABLES = set({
  ...{ enable_nestloop: 'off', enable_hashjoin: 'on', enable_mergejoin: 'on', enable_seqscan: 'on' },
  ...{ enable_sort: 'on', work_mem: '128MB', jit: 'off' },
});
const LEXEMES = set({
  ...{ enable_nestloop: 'on', enable_hashjoin: 'off', enable_mergejoin: 'off', enable_seqscan: 'off' },
  ...{ enable_bitmapscan: 'on' },
});
const PARTS = set({
  ...{ enable_nestloop: 'on', enable_hashjoin: 'off', enable_mergejoin: 'off', enable_seqscan: 'off' },
  enable_sort: 'off',
  enable_bitmapscan: 'off',
  plan_cache_mode: 'force_generic_plan',
});
