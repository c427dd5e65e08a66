import { sql } from 'kysely';
import type { ControlTransaction, Database } from './storage.ts';

/** The one clock that all processes share. @returns epoch milliseconds */
export async function readNow(
  rows: Database['read'] | ControlTransaction,
  { now }: Pick<Database, 'now'>,
): Promise<number> {
  const { rows: found } = await sql<{ now: number }>`select ${now} as now`.execute(rows);
  return Number(found[0]?.now);
}
