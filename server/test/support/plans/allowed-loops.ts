/**
 * Allowed loops, by the beginning of their statement, each with a reason. An exception that no statement needs is a
 * fault.
 */
export const ALLOWED_LOOPS = {
  sqlite: {
    'select b.value from json_each(?) b where (select 1 from relation_entry':
      'the builds of the relations, each up to its first member',
    'select k.key - 0 as at from json_each(cast(? as text)) k where exists':
      'the words of a search, each with at most 5,000 documents',
    'select count(*) as count from (select m.product_id as id from relation_entry m':
      'the members of each run, once',
    'select p.identifier from (select id, row_number() over (order by id) as place from (select m.product_id as id from relation_entry m':
      'the same',
    'select p.identifier from (select m.product_id as id from relation_entry m': 'the same',
    'delete from catalog_count where step_seconds = 3600': 'finds one later hour, which is the next row',
  },
  postgres: {
    'select b.value from unnest($1::bigint[]) b (value)':
      'the builds of the relations, each up to its first member',
    'with source as materialized': 'the rules of a question and their matches, as many as people define',
  },
} as const satisfies Record<'sqlite' | 'postgres', Readonly<Record<string, string>>>;

/** A statement with the loops of its plan that are refused. */
export interface RefusedLoops {
  readonly sql: string;
  readonly refused: readonly string[];
}

/** @returns the refused loops that no exception allows, and the exceptions that no statement needs */
export function compareWithAllowed(engine: keyof typeof ALLOWED_LOOPS, statements: readonly RefusedLoops[]) {
  const allowed = Object.keys(ALLOWED_LOOPS[engine]);
  const allowing = (sql: string) => allowed.find((begin) => sql.startsWith(begin));
  const refused = statements.filter((statement) => statement.refused.length > 0);
  const used = new Set(refused.map(({ sql }) => allowing(sql)));
  return {
    refused: refused.filter(({ sql }) => allowing(sql) === undefined),
    unused: allowed.filter((begin) => !used.has(begin)),
  };
}
