import type { Selectable } from 'kysely';
import type { PagePlace } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import { removeChallengesOf } from './passkey-store.ts';
import type { SecretHash, User } from './user.ts';
import { toUser } from './user-store.ts';

/** The signed-in state of a user in one browser. */
export interface ConsoleSession {
  readonly id: number;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly expiresAt: number;
  /** Of the browser that signed in; null: before this was kept. */
  readonly address: string | null;
  /** As the browser names itself; null: it does not, or this was not kept yet. */
  readonly userAgent: string | null;
}

type StoredSession = Selectable<ControlSchema['console_session']>;

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
    .values({
      user_id: session.userId,
      hash: session.hash,
      created_at: session.createdAt,
      used_at: session.createdAt,
      expires_at: session.expiresAt,
      address: session.address,
      user_agent: session.userAgent,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Never moves the instant back: other processes write too. */
export async function noteSessionUse(database: Database, id: number, at: number): Promise<void> {
  await database.write(
    (tx) =>
      tx
        .updateTable('console_session')
        .set({ used_at: at })
        .where('id', '=', id)
        .where('used_at', '<', at)
        .execute(),
    { of: 'rows' },
  );
}

/** @returns those that go on, by id. */
export async function listSessions(
  rows: Database['read'],
  filter: { userId: number; expiresAfter: number; usedAfter: number; place: PagePlace },
): Promise<ConsoleSession[]> {
  const found = await rows
    .selectFrom('console_session')
    .selectAll()
    .where('user_id', '=', filter.userId)
    .where('expires_at', '>', filter.expiresAfter)
    .where('used_at', '>', filter.usedAfter)
    .where('id', '>', filter.place.after ?? 0)
    .orderBy('id')
    .limit(filter.place.count)
    .execute();
  return found.map(toSession);
}

/** @returns whether the user had it */
export async function removeSession(
  tx: ControlTransaction,
  { id, userId }: { id: number; userId: number },
): Promise<boolean> {
  const removed = await tx
    .deleteFrom('console_session')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returning('id')
    .execute();
  return removed.length > 0;
}

/** All sessions of the user but one. */
export async function removeOtherSessions(
  tx: ControlTransaction,
  { kept, userId }: { kept: number; userId: number },
): Promise<void> {
  await tx.deleteFrom('console_session').where('user_id', '=', userId).where('id', '!=', kept).execute();
}

export async function removeSessionByHash(tx: ControlTransaction, hash: SecretHash): Promise<void> {
  await tx.deleteFrom('console_session').where('hash', '=', hash).execute();
}

/** Also those that wait for a passkey. */
export async function removeSessionsOf(tx: ControlTransaction, userId: number): Promise<void> {
  await removeChallengesOf(tx, userId);
  await tx.deleteFrom('console_session').where('user_id', '=', userId).execute();
}

export async function dropSessions(
  database: Database,
  ended: { expiredAt: number; unusedSince: number },
): Promise<void> {
  await database.write(
    (tx) =>
      tx
        .deleteFrom('console_session')
        .where(({ eb, or }) =>
          or([eb('expires_at', '<=', ended.expiredAt), eb('used_at', '<=', ended.unusedSince)]),
        )
        .execute(),
    { of: 'rows' },
  );
}

function toSession(row: StoredSession): ConsoleSession {
  return {
    id: row.id,
    createdAt: row.created_at,
    usedAt: row.used_at,
    expiresAt: row.expires_at,
    address: row.address,
    userAgent: row.user_agent,
  };
}
