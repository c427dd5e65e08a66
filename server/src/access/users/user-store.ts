import { type Selectable, sql } from 'kysely';
import type { PartRole, PartScope } from '../../kernel/caller.ts';
import { padToPowerOfTwo } from '../../kernel/padded.ts';
import { type Actor, createStore } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database, Rows } from '../../storage/storage.ts';
import { control, toCamel, toSnake } from '../../storage/storage.ts';
import type { SecretHash } from '../keys/keys.ts';
import type { Roles, User } from './user.ts';

export interface StoredUser extends User {
  /** Undefined if the user signs in with a company account. */
  readonly passwordHash: string | undefined;
}

/** A person at the company's provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

const readRoles = ({ roles }: { roles: string }) => JSON.parse(roles) as PartRole[];

type UserRow = Selectable<ControlSchema['console_user']>;
/** The columns of a user that sessions need. */
type SafeRow = Omit<UserRow, 'password_hash' | 'subject'>;

const toUser = ({ password_hash: _, subject: __, issuer, ...row }: SafeRow & Partial<UserRow>): User => ({
  ...toCamel(row),
  roles: readRoles(row),
  signsInWith: issuer === null ? 'password' : 'company-account',
});

/** The users of an account, without the hashes of their passwords. */
export const USERS = createStore<User, { readonly accountId: number }>({
  name: 'console_user',
  within: ({ accountId }) => sql`account_id = ${accountId}`,
  read: toUser,
  toColumns: ({ name, role, roles }) => ({ name, role, roles: JSON.stringify(roles) }),
});

/** Finds a user of any account. Each filter has an index. */
export async function findUser(
  rows: Rows,
  filter: { readonly id: number } | { readonly email: string } | Identity,
): Promise<StoredUser | undefined> {
  const row = await control.find(rows, 'console_user', filter);
  return row && { ...toUser(row), passwordHash: row.password_hash || undefined };
}

/**
 * Counts owners who sign in with a password, because no provider or change of groups can remove their role.
 * @param accountId undefined: all accounts
 */
export async function countLocalOwners(rows: Rows, accountId?: number): Promise<number> {
  const { count } = await rows
    .selectFrom('console_user')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? 0))
    .where('role', '=', 'owner')
    .where('issuer', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

type NewUser = Pick<User, 'accountId' | 'email' | 'name' | 'role' | 'roles' | 'createdAt'> &
  ({ readonly passwordHash: string } | Identity);

export const insertUser = (tx: ControlTransaction, { roles, ...user }: NewUser): Promise<User> =>
  USERS.insert(tx, { passwordHash: '', ...user, roles: JSON.stringify(roles) });

/** A user who gets a password signs in with it from then on, and not with a company account. */
export async function updateUser(
  tx: ControlTransaction,
  id: number,
  given: Partial<Pick<StoredUser, 'email' | 'name' | 'role' | 'roles' | 'passwordHash' | 'signedInAt'>>,
): Promise<void> {
  const { roles, ...change } = given;
  const set = {
    ...change,
    ...(roles && { roles: JSON.stringify(roles) }),
    ...(change.passwordHash !== undefined && { issuer: null, subject: null }),
  };
  await control.update(tx, 'console_user', { where: { id }, set });
}

/** Removes the sessions and passkeys of a user, and the invitations that the user made. */
export async function removeBelongings(tx: ControlTransaction, userId: number): Promise<void> {
  await removeInvitationsBy(tx, userId);
  await removeSessionsOf(tx, userId);
  await control.remove(tx, 'passkey', { userId });
}

/** Removes the roles in a deleted part from users and invitations. */
export async function removeRolesIn(tx: ControlTransaction, { type, id }: PartScope): Promise<void> {
  for (const table of ['console_user', 'invitation'] as const) {
    const rows = await tx.selectFrom(table).select(['id', 'roles']).where('roles', '!=', '[]').execute();
    for (const row of rows) {
      const left = readRoles(row).filter(({ scope }) => scope.type !== type || scope.id !== id);
      await control.update(tx, table, { where: { id: row.id }, set: { roles: JSON.stringify(left) } });
    }
  }
}

/** An offer to a person to become a user, which works once. */
export interface Invitation extends Roles {
  readonly id: number;
  readonly accountId: number;
  readonly email: string;
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly expiresAt: number;
}

/** Selects the unexpired invitations of an account. */
export interface InvitationSelection {
  readonly accountId: number;
  readonly now: number;
}

export const INVITATIONS = createStore<Invitation, InvitationSelection>({
  name: 'invitation',
  within: ({ accountId, now }) => sql`account_id = ${accountId} and expires_at > ${now}`,
  read: toInvitation,
  toColumns: ({ role, roles }) => ({ role, roles: JSON.stringify(roles) }),
});

function toInvitation({ hash: _, user_id: __, ...row }: Selectable<ControlSchema['invitation']>): Invitation {
  return { ...toCamel(row), roles: readRoles(row), createdBy: JSON.parse(row.created_by) };
}

/** Uses the index of the unique hash. @returns an unexpired invitation */
export async function findInvitation(rows: Rows, hash: SecretHash, now: number) {
  const query = rows.selectFrom('invitation').selectAll().where('hash', '=', hash);
  const row = await query.where('expires_at', '>', now).executeTakeFirst();
  return row && toInvitation(row);
}

export const insertInvitation = (
  tx: ControlTransaction,
  invitation: Omit<Invitation, 'id'> & { hash: SecretHash },
): Promise<Invitation> => {
  const { roles, createdBy } = invitation;
  const texts = { roles: JSON.stringify(roles), createdBy: JSON.stringify(createdBy) };
  const userId = createdBy.type === 'user' ? createdBy.id : null;
  return INVITATIONS.insert(tx, { ...invitation, ...texts, userId });
};

export const removeInvitationsTo = (
  tx: ControlTransaction,
  { accountId, email }: Pick<User, 'accountId' | 'email'>,
) => control.remove(tx, 'invitation', { accountId, email });

/** Removes the invitations by a user who can no longer invite people. */
export const removeInvitationsBy = (tx: ControlTransaction, userId: number) =>
  control.remove(tx, 'invitation', { userId });

/** @returns the account of the link; undefined if the link has expired */
export const findOwnerLink = (rows: Rows, hash: SecretHash, now: number) =>
  rows
    .selectFrom('owner_link')
    .select(['account_id as accountId', 'expires_at as expiresAt'])
    .where('hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst();

export const insertOwnerLink = (
  tx: ControlTransaction,
  link: { hash: SecretHash; accountId: number; expiresAt: number },
) => control.insert(tx, 'owner_link', link);

export const removeOwnerLinks = (tx: ControlTransaction, accountId: number) =>
  control.remove(tx, 'owner_link', { accountId });

/** The signed-in state of a user in one browser. */
export interface ConsoleSession {
  readonly id: number;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly expiresAt: number;
  /** The network address of the browser; null if an earlier version opened the session. */
  readonly address: string | null;
  /** The browser's own name; null if the browser sends none, or an earlier version opened the session. */
  readonly userAgent: string | null;
}

/** Selects the sessions of a user that have not ended. */
interface SessionSelection {
  readonly userId: number;
  readonly expiresAfter: number;
  readonly usedAfter: number;
}

export const SESSIONS = createStore<ConsoleSession, SessionSelection>({
  name: 'console_session',
  within: ({ userId, expiresAfter, usedAfter }) =>
    sql`user_id = ${userId} and expires_at > ${expiresAfter} and used_at > ${usedAfter}`,
  read: ({ hash: _, user_id: __, ...row }: Selectable<ControlSchema['console_session']>) => toCamel(row),
  toColumns: ({ usedAt }) => ({ usedAt }),
});

/** Uses the index of the unique hash. @returns the session with the present state of its user */
export async function findSession(
  rows: Rows,
  hash: SecretHash,
): Promise<{ session: Pick<ConsoleSession, 'id' | 'usedAt' | 'expiresAt'>; user: User } | undefined> {
  const row = await rows
    .selectFrom('console_session')
    .innerJoin('console_user', 'console_user.id', 'console_session.user_id')
    .select(['console_session.id as sessionId', 'used_at', 'expires_at', 'console_user.id', 'account_id'])
    .select(['email', 'name', 'role', 'roles', 'console_user.created_at', 'signed_in_at'])
    .select(['passkeys', 'issuer'])
    .where('hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const session = { id: row.sessionId, usedAt: row.used_at, expiresAt: row.expires_at };
  return { session, user: toUser(row) };
}

export const insertSession = (
  tx: ControlTransaction,
  session: Omit<ConsoleSession, 'id' | 'usedAt'> & { userId: number; hash: SecretHash },
): Promise<ConsoleSession> => SESSIONS.insert(tx, { ...session, usedAt: session.createdAt });

/** Never moves the instant back, because other processes write as well. */
export async function noteSessionUse(database: Database, id: number, usedAt: number): Promise<void> {
  const set = (tx: ControlTransaction) => tx.updateTable('console_session').set({ used_at: usedAt });
  await database.write('rows', (tx) => set(tx).where('id', '=', id).where('used_at', '<', usedAt).execute());
}

/** @returns whether the user had this session */
export async function removeSession(tx: ControlTransaction, { id, userId }: { id: number; userId: number }) {
  return (await control.remove(tx, 'console_session', { id, userId })) > 0;
}

/** Removes all sessions of the user except the current one. */
export async function removeOtherSessions(
  tx: ControlTransaction,
  { current, userId }: { current: number; userId: number },
): Promise<void> {
  await tx.deleteFrom('console_session').where('user_id', '=', userId).where('id', '!=', current).execute();
}

export const removeSessionByHash = (tx: ControlTransaction, hash: SecretHash) =>
  control.remove(tx, 'console_session', { hash });

/** Removes all sessions, including sign-ins that wait for a passkey. */
export async function removeSessionsOf(tx: ControlTransaction, userId: number): Promise<void> {
  for (const table of ['passkey_challenge', 'console_session'] as const)
    await control.remove(tx, table, { userId });
}

/** Removes expired sessions, links, challenges and counts, and sessions that were not used after `unusedSince`. */
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

/** The second factor of a user. Source: docs/interface §5.8. */
export type Passkey = Readonly<ReturnType<typeof toPasskey>>;

const toPasskey = (row: Selectable<ControlSchema['passkey']>) => ({
  ...toCamel(row),
  transports: JSON.parse(row.transports) as readonly string[],
});

/** @returns the user's passkeys, ordered by id */
export async function listPasskeys(rows: Rows, userId: number): Promise<Passkey[]> {
  const query = rows.selectFrom('passkey').selectAll().where('user_id', '=', userId).orderBy('id');
  return (await query.execute()).map(toPasskey);
}

/** Searches all accounts. */
export const hasCredential = async (rows: Rows, credentialId: string): Promise<boolean> =>
  (await control.find(rows, 'passkey', { credentialId })) !== undefined;

export async function insertPasskey(tx: ControlTransaction, passkey: Omit<Passkey, 'id' | 'usedAt'>) {
  const row = await control.insert(tx, 'passkey', {
    ...passkey,
    transports: JSON.stringify(passkey.transports),
  });
  await countPasskeys(tx, passkey.userId);
  return toPasskey(row);
}

/** @returns false if the passkey has changed since it was read, so that only one of two equal counts is accepted */
export async function notePasskeyUse(
  tx: ControlTransaction,
  { id, counter }: Pick<Passkey, 'id' | 'counter'>,
  used: { counter: number; usedAt: number },
): Promise<boolean> {
  const set = { counter: used.counter, usedAt: used.usedAt };
  return (await control.update(tx, 'passkey', { where: { id, counter }, set })) > 0;
}

/** Removes one passkey, or without `id` all passkeys of the user. @returns the removed passkeys */
export async function removePasskeys(tx: ControlTransaction, filter: { userId: number; id?: number }) {
  const deletion = tx.deleteFrom('passkey').where((is) => is.and(toSnake(filter)));
  const rows = await deletion.returningAll().execute();
  await countPasskeys(tx, filter.userId);
  return rows.map(toPasskey);
}

async function countPasskeys(tx: ControlTransaction, userId: number): Promise<void> {
  const count = sql`select count(*) from passkey where user_id = ${userId}`;
  await sql`update console_user set passkeys = (${count}) where id = ${userId}`.execute(tx);
}

export type Purpose = 'add' | 'sign-in';

interface Challenge {
  readonly hash: SecretHash;
  readonly userId: number;
  readonly purpose: Purpose;
  readonly expiresAt: number;
}

/** Removes the user's oldest challenges beyond the limit. */
export async function insertChallenge(tx: ControlTransaction, challenge: Challenge, most: number) {
  const { userId } = challenge;
  const newest = tx
    .selectFrom('passkey_challenge')
    .select('hash')
    .where('user_id', '=', userId)
    .orderBy('expires_at', 'desc')
    .limit(most - 1);
  const older = tx.deleteFrom('passkey_challenge').where('user_id', '=', userId);
  await older.where('hash', 'not in', newest).execute();
  await control.insert(tx, 'passkey_challenge', challenge);
}

/** Removes a challenge, so that it works once. @returns its user; undefined if it has ended */
export async function takeChallenge(
  tx: ControlTransaction,
  { now, ...challenge }: Pick<Challenge, 'hash' | 'purpose'> & { now: number },
): Promise<number | undefined> {
  const deletion = tx.deleteFrom('passkey_challenge').where((is) => is.and(challenge));
  return (await deletion.where('expires_at', '>', now).returning('user_id').executeTakeFirst())?.user_id;
}

/** The number of attempts counted in a window. */
export interface PasswordWindow {
  readonly key: string;
  readonly attempts: number;
  readonly endsAt: number;
}

const WINDOW = ['key', 'attempts', 'ends_at as endsAt'] as const;

/** @returns the current windows of these keys */
export const findWindows = (rows: Rows, keys: readonly string[], now: number): Promise<PasswordWindow[]> =>
  rows
    .selectFrom('password_window')
    .select(WINDOW)
    .where('key', 'in', padToPowerOfTwo(keys))
    .where('ends_at', '>', now)
    .execute();

/**
 * Counts an attempt for each key in one statement, so that simultaneous attempts are all counted. The first attempt
 * after a window has ended begins the next one.
 */
export async function countAttempt(
  database: Database,
  windows: readonly Pick<PasswordWindow, 'key' | 'endsAt'>[],
  now: number,
): Promise<PasswordWindow[]> {
  // All transactions use the same order, to avoid deadlocks.
  const sorted = windows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const isOver = sql`password_window.ends_at <= ${now}`;
  return database.write('rows', (tx) =>
    tx
      .insertInto('password_window')
      .values(sorted.map(({ key, endsAt }) => ({ key, attempts: 1, ends_at: endsAt })))
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet({
          attempts: sql<number>`case when ${isOver} then 1 else password_window.attempts + 1 end`,
          ends_at: sql<number>`case when ${isOver} then excluded.ends_at else password_window.ends_at end`,
        }),
      )
      .returning(WINDOW)
      .execute(),
  );
}

/** Subtracts an attempt from the `lowered` keys and removes the count of the `forgotten` key. */
export async function forgiveAttempt(
  database: Database,
  { forgotten, lowered }: { forgotten: string; lowered: readonly string[] },
): Promise<void> {
  await database.write('rows', async (tx) => {
    for (const key of [forgotten, ...lowered].sort()) {
      if (key === forgotten) await control.remove(tx, 'password_window', { key });
      else
        await sql`update password_window set attempts = attempts - 1
          where key = ${key} and attempts > 0`.execute(tx);
    }
  });
}
