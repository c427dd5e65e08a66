import type { ControlTransaction, Database } from '../../storage/storage.ts';
import type { SecretHash, User } from './user.ts';
import { toUser } from './user-store.ts';

/** The signed-in state of a user in one browser. */
export interface ConsoleSession {
  readonly id: number;
  readonly usedAt: number;
  readonly expiresAt: number;
}

/** By the index of the unique hash. @returns the session with the user as they are now */
export async function findSession(
  rows: Database['read'],
  hash: SecretHash,
): Promise<{ session: ConsoleSession; user: User } | undefined> {
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
      'console_user.created_at',
      'signed_in_at',
    ])
    .where('hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const session = { id: row.sessionId, usedAt: row.used_at, expiresAt: row.expires_at };
  return { session, user: toUser(row) };
}

export async function insertSession(
  tx: ControlTransaction,
  session: { userId: number; hash: SecretHash; createdAt: number; expiresAt: number },
): Promise<number> {
  const { id } = await tx
    .insertInto('console_session')
    .values({
      user_id: session.userId,
      hash: session.hash,
      created_at: session.createdAt,
      used_at: session.createdAt,
      expires_at: session.expiresAt,
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

export async function removeSession(tx: ControlTransaction, id: number): Promise<void> {
  await tx.deleteFrom('console_session').where('id', '=', id).execute();
}

export async function removeSessionByHash(tx: ControlTransaction, hash: SecretHash): Promise<void> {
  await tx.deleteFrom('console_session').where('hash', '=', hash).execute();
}

export async function removeSessionsOf(tx: ControlTransaction, userId: number): Promise<void> {
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
