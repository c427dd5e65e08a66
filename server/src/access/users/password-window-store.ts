import { sql } from 'kysely';
import { padToPowerOfTwo } from '../../kernel/padded.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';

/** The attempts counted within a window. */
export interface PasswordWindow {
  readonly key: string;
  readonly attempts: number;
  readonly endsAt: number;
}

/** @returns those of the keys whose windows run */
export async function findWindows(
  rows: Database['read'],
  keys: readonly string[],
  now: number,
): Promise<PasswordWindow[]> {
  return rows
    .selectFrom('password_window')
    .select(['key', 'attempts', 'ends_at as endsAt'])
    .where('key', 'in', padToPowerOfTwo(keys))
    .where('ends_at', '>', now)
    .execute();
}

/**
 * Counts an attempt for each key, in one statement, so that attempts that come at once are all counted. A window that is
 * over begins anew.
 */
export async function countAttempt(
  database: Database,
  windows: readonly { readonly key: string; readonly endsAt: number }[],
  now: number,
): Promise<PasswordWindow[]> {
  // In the same order everywhere, or two who wait for each other's rows would wait for ever.
  const sorted = windows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return database.write(
    (tx) =>
      tx
        .insertInto('password_window')
        .values(sorted.map(({ key, endsAt }) => ({ key, attempts: 1, ends_at: endsAt })))
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet({
            attempts: sql<number>`case when password_window.ends_at <= ${now} then 1
              else password_window.attempts + 1 end`,
            ends_at: sql<number>`case when password_window.ends_at <= ${now} then excluded.ends_at
              else password_window.ends_at end`,
          }),
        )
        .returning(['key', 'attempts', 'ends_at as endsAt'])
        .execute(),
    { of: 'rows' },
  );
}

/** Takes one attempt back from each key, and forgets all attempts of one of them. */
export async function forgiveAttempt(
  database: Database,
  { forgotten, lowered }: { forgotten: string; lowered: readonly string[] },
): Promise<void> {
  await database.write(
    async (tx) => {
      for (const key of [forgotten, ...lowered].sort()) {
        if (key === forgotten) await tx.deleteFrom('password_window').where('key', '=', key).execute();
        else await lowerCount(tx, key);
      }
    },
    { of: 'rows' },
  );
}

async function lowerCount(tx: ControlTransaction, key: string): Promise<void> {
  await tx
    .updateTable('password_window')
    .set(({ eb }) => ({ attempts: eb('attempts', '-', 1) }))
    .where('key', '=', key)
    .where('attempts', '>', 0)
    .execute();
}

export async function dropWindowsUpTo(database: Database, at: number): Promise<void> {
  await database.write((tx) => tx.deleteFrom('password_window').where('ends_at', '<=', at).execute(), {
    of: 'rows',
  });
}
