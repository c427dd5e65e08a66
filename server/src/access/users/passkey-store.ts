import type { Selectable } from 'kysely';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import type { SecretHash } from './user.ts';

type Rows = Database['read'] | ControlTransaction;

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
    .values({
      user_id: passkey.userId,
      name: passkey.name,
      credential_id: passkey.credentialId,
      public_key: passkey.publicKey,
      counter: passkey.counter,
      transports: JSON.stringify(passkey.transports),
      host: passkey.host,
      created_at: passkey.createdAt,
    })
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
    .where('id', '=', id)
    .where('counter', '=', counter)
    .returning('id')
    .execute();
  return changed.length > 0;
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
    .where('hash', '=', hash)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now)
    .returning('user_id')
    .executeTakeFirst();
  return taken?.user_id;
}

export async function removeChallengesOf(tx: ControlTransaction, userId: number): Promise<void> {
  await tx.deleteFrom('passkey_challenge').where('user_id', '=', userId).execute();
}

export async function dropChallengesUpTo(database: Database, at: number): Promise<void> {
  await database.write((tx) => tx.deleteFrom('passkey_challenge').where('expires_at', '<=', at).execute(), {
    of: 'rows',
  });
}

function toPasskey(row: Selectable<ControlSchema['passkey']>): Passkey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    credentialId: row.credential_id,
    publicKey: row.public_key,
    counter: row.counter,
    transports: JSON.parse(row.transports) as string[],
    host: row.host,
    createdAt: row.created_at,
    usedAt: row.used_at,
  };
}
