import { type Selectable, sql } from 'kysely';
import { padToPowerOfTwo } from '../../kernel/padded.ts';
import type { PagePlace } from '../../projects/projects.ts';
import {
  type ControlSchema,
  type ControlTransaction,
  type Database,
  type Rows,
  toCamel,
  toSnake,
} from '../../storage/storage.ts';
import type { SecretHash, User } from './user.ts';
import { toUser } from './user-store.ts';

/** The signed-in state of a user in one browser. */
export interface ConsoleSession {
  readonly id: number;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly expiresAt: number;
  /** Of the browser that signed in; null: an earlier version did not store it. */
  readonly address: string | null;
  /** As the browser names itself; null: it does not, or an earlier version did not store it. */
  readonly userAgent: string | null;
}

/** By the index of the unique hash. @returns the session with the user as they are now */
export async function findSession(
  rows: Database['read'],
  hash: SecretHash,
): Promise<{ session: Pick<ConsoleSession, 'id' | 'usedAt' | 'expiresAt'>; user: User } | undefined> {
  const row = await rows
    .selectFrom('console_session')
    .innerJoin('console_user', 'console_user.id', 'console_session.user_id')
    .select(['console_session.id as sessionId', 'used_at', 'expires_at'])
    .select([
      'console_user.id',
      'account_id',
      'email',
      'name',
      'role',
      'roles',
      'console_user.created_at',
      'signed_in_at',
      'passkeys',
      'issuer',
    ])
    .where('hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const session = { id: row.sessionId, usedAt: row.used_at, expiresAt: row.expires_at };
  return { session, user: toUser(row) };
}

export async function insertSession(
  tx: ControlTransaction,
  session: Omit<ConsoleSession, 'id' | 'usedAt'> & { userId: number; hash: SecretHash },
): Promise<number> {
  const { id } = await tx
    .insertInto('console_session')
    .values(toSnake({ ...session, usedAt: session.createdAt }))
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Never moves the instant back: other processes write too. */
export async function noteSessionUse(database: Database, id: number, at: number): Promise<void> {
  await database.write('rows', (tx) =>
    tx
      .updateTable('console_session')
      .set({ used_at: at })
      .where('id', '=', id)
      .where('used_at', '<', at)
      .execute(),
  );
}

/** @returns those that go on, by id. */
export async function listSessions(
  rows: Database['read'],
  filter: { userId: number; expiresAfter: number; usedAfter: number; place: PagePlace },
): Promise<ConsoleSession[]> {
  return rows
    .selectFrom('console_session')
    .select(['id', 'created_at as createdAt', 'used_at as usedAt', 'expires_at as expiresAt'])
    .select(['address', 'user_agent as userAgent'])
    .where('user_id', '=', filter.userId)
    .where('expires_at', '>', filter.expiresAfter)
    .where('used_at', '>', filter.usedAfter)
    .where('id', '>', filter.place.after ?? 0)
    .orderBy('id')
    .limit(filter.place.count)
    .execute();
}

/** @returns whether the user had it */
export async function removeSession(
  tx: ControlTransaction,
  { id, userId }: { id: number; userId: number },
): Promise<boolean> {
  const removed = tx.deleteFrom('console_session').where('id', '=', id).where('user_id', '=', userId);
  return (await removed.executeTakeFirst()).numDeletedRows > 0n;
}

/** All sessions of the user except one. */
export async function removeOtherSessions(
  tx: ControlTransaction,
  { current, userId }: { current: number; userId: number },
): Promise<void> {
  await tx.deleteFrom('console_session').where('user_id', '=', userId).where('id', '!=', current).execute();
}

export async function removeSessionByHash(tx: ControlTransaction, hash: SecretHash): Promise<void> {
  await tx.deleteFrom('console_session').where('hash', '=', hash).execute();
}

/** Also those that wait for a passkey. */
export async function removeSessionsOf(tx: ControlTransaction, userId: number): Promise<void> {
  for (const table of ['passkey_challenge', 'console_session'] as const)
    await tx.deleteFrom(table).where('user_id', '=', userId).execute();
}

/** Forgets sessions, links, challenges and counts that are over; `unusedSince`: sessions not used since then are. */
export async function dropExpired(
  database: Database,
  { now, unusedSince }: { now: number; unusedSince: number },
): Promise<void> {
  const drop = (work: (tx: ControlTransaction) => Promise<unknown>) => database.write('rows', work);
  for (const table of ['owner_link', 'invitation', 'passkey_challenge', 'console_session'] as const)
    await drop((tx) => tx.deleteFrom(table).where('expires_at', '<=', now).execute());
  await drop((tx) => tx.deleteFrom('console_session').where('used_at', '<=', unusedSince).execute());
  await drop((tx) => tx.deleteFrom('password_window').where('ends_at', '<=', now).execute());
}

/** The second factor of a user. Source: docs/interface.md §5.8. */
export interface Passkey {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly host: string;
  readonly createdAt: number;
  readonly usedAt: number | null;
}

export type Purpose = 'add' | 'sign-in';

/** @returns by id; there are few */
export async function listPasskeys(rows: Rows, userId: number): Promise<Passkey[]> {
  const found = await rows
    .selectFrom('passkey')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute();
  return found.map(toPasskey);
}

/** In any account. */
export async function hasCredential(rows: Rows, credentialId: string): Promise<boolean> {
  const query = rows.selectFrom('passkey').select('id').where('credential_id', '=', credentialId);
  return (await query.executeTakeFirst()) !== undefined;
}

export async function insertPasskey(
  tx: ControlTransaction,
  passkey: Omit<Passkey, 'id' | 'usedAt'>,
): Promise<Passkey> {
  const row = await tx
    .insertInto('passkey')
    .values(toSnake({ ...passkey, transports: JSON.stringify(passkey.transports) }))
    .returningAll()
    .executeTakeFirstOrThrow();
  await countPasskeys(tx, passkey.userId);
  return toPasskey(row);
}

/** @returns whether it was as it was read: two signatures of one count are not both taken */
export async function notePasskeyUse(
  tx: ControlTransaction,
  { id, counter }: Pick<Passkey, 'id' | 'counter'>,
  used: { counter: number; at: number },
): Promise<boolean> {
  const changed = await tx
    .updateTable('passkey')
    .set({ counter: used.counter, used_at: used.at })
    .where((is) => is.and({ id, counter }))
    .executeTakeFirst();
  return changed.numUpdatedRows > 0n;
}

/** @returns those that are gone: one, or all of the user */
export async function removePasskeys(
  tx: ControlTransaction,
  { userId, id }: { userId: number; id?: number },
): Promise<Passkey[]> {
  const gone = await tx
    .deleteFrom('passkey')
    .where('user_id', '=', userId)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? 0))
    .returningAll()
    .execute();
  await countPasskeys(tx, userId);
  return gone.map(toPasskey);
}

async function countPasskeys(tx: ControlTransaction, userId: number): Promise<void> {
  const { count } = await tx
    .selectFrom('passkey')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  await tx
    .updateTable('console_user')
    .set({ passkeys: Number(count) })
    .where('id', '=', userId)
    .execute();
}

interface Challenge {
  readonly hash: SecretHash;
  readonly userId: number;
  readonly purpose: Purpose;
  readonly expiresAt: number;
}

/** In the place of the oldest of the user, where there are so many. */
export async function insertChallenge(
  tx: ControlTransaction,
  { hash, userId, purpose, expiresAt }: Challenge,
  most: number,
): Promise<void> {
  const newest = tx
    .selectFrom('passkey_challenge')
    .select('hash')
    .where('user_id', '=', userId)
    .orderBy('expires_at', 'desc')
    .limit(most - 1);
  await tx
    .deleteFrom('passkey_challenge')
    .where('user_id', '=', userId)
    .where('hash', 'not in', newest)
    .execute();
  await tx
    .insertInto('passkey_challenge')
    .values({ hash, user_id: userId, purpose, expires_at: expiresAt })
    .execute();
}

/** Once. @returns whose it was */
export async function takeChallenge(
  tx: ControlTransaction,
  { hash, purpose, now }: { hash: SecretHash; purpose: Purpose; now: number },
): Promise<number | undefined> {
  const taken = await tx
    .deleteFrom('passkey_challenge')
    .where((is) => is.and({ hash, purpose }))
    .where('expires_at', '>', now)
    .returning('user_id')
    .executeTakeFirst();
  return taken?.user_id;
}

const toPasskey = (row: Selectable<ControlSchema['passkey']>): Passkey => ({
  ...{ ...toCamel(row), transports: JSON.parse(row.transports) as string[] },
});

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
  // In the same order everywhere, or two transactions that wait for each other's rows would wait for ever.
  const sorted = windows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return database.write('rows', (tx) =>
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
  );
}

/** Takes one attempt back from each key, and forgets all attempts of one of them. */
export async function forgiveAttempt(
  database: Database,
  { forgotten, lowered }: { forgotten: string; lowered: readonly string[] },
): Promise<void> {
  await database.write('rows', async (tx) => {
    for (const key of [forgotten, ...lowered].sort()) {
      if (key === forgotten) await tx.deleteFrom('password_window').where('key', '=', key).execute();
      else await lowerCount(tx, key);
    }
  });
}

async function lowerCount(tx: ControlTransaction, key: string): Promise<void> {
  await tx
    .updateTable('password_window')
    .set(({ eb }) => ({ attempts: eb('attempts', '-', 1) }))
    .where('key', '=', key)
    .where('attempts', '>', 0)
    .execute();
}
