import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { ControlSchema } from './schema.ts';

export type ControlTransaction = Transaction<ControlSchema>;

/**
 * What a write locks while it runs. `all`: every other write of this kind, for example of keys and projects. A project's
 * id: writes of that project. `rows`: only what its statements lock. The embedded store has one writer for all.
 */
export type WriteScope = 'all' | 'rows' | number;

export interface Database {
  /** Whether other processes write to it as well. */
  readonly isShared: boolean;
  /** How this process calls itself among those. */
  readonly processId: string;
  /** Many readers. */
  readonly read: Kysely<ControlSchema>;
  /** The database's clock in epoch milliseconds, the same for all processes. */
  readonly now: RawBuilder<number>;
  /** A transaction, durable when the promise resolves. */
  write<Result>(of: WriteScope, work: (tx: ControlTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** The one clock that all processes share. @returns epoch milliseconds */
export async function readNow(
  rows: Database['read'] | ControlTransaction,
  { now }: Pick<Database, 'now'>,
): Promise<number> {
  const { rows: found } = await sql<{ now: number }>`select ${now} as now`.execute(rows);
  return Number(found[0]?.now);
}
