import type { SqlSession } from '../../../storage/storage.ts';

/**
 * How PostgreSQL plans the rest of a transaction. What was just copied in has no statistics yet, and of a new project or
 * full update it has none for long: it then takes a million rows for a hundred, and what is right for a hundred takes
 * minutes, or days.
 */

/** For statements that compare whole tables: not row by row. Compiling a plan takes longer than it gains. */
export function planForWholeTables(session: SqlSession): Promise<void> {
  return set(session, { enable_nestloop: 'off', work_mem: '128MB', jit: 'off' });
}

/**
 * For statements that take the first rows in the order of an index, or those of a list: the others are not to be read. A
 * generic plan takes every list for a short one.
 */
export function planForParts(session: SqlSession): Promise<void> {
  return set(session, {
    enable_sort: 'off',
    enable_bitmapscan: 'off',
    plan_cache_mode: 'force_generic_plan',
  });
}

async function set(session: SqlSession, settings: Record<string, string>): Promise<void> {
  const calls = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', true)`);
  await session.rows(`select ${calls.join(', ')}`);
}
