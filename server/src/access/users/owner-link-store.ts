import type { ControlTransaction, Database } from '../../storage/storage.ts';
import type { SecretHash } from './user.ts';

/** @returns the account that the link is for, unless it has expired */
export async function findOwnerLink(
  rows: Database['read'] | ControlTransaction,
  hash: SecretHash,
  now: number,
): Promise<{ accountId: number; expiresAt: number } | undefined> {
  return rows
    .selectFrom('owner_link')
    .select(['account_id as accountId', 'expires_at as expiresAt'])
    .where('hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst();
}

export async function insertOwnerLink(
  tx: ControlTransaction,
  link: { hash: SecretHash; accountId: number; expiresAt: number },
): Promise<void> {
  await tx
    .insertInto('owner_link')
    .values({ hash: link.hash, account_id: link.accountId, expires_at: link.expiresAt })
    .execute();
}

export async function removeOwnerLinks(tx: ControlTransaction, accountId: number): Promise<void> {
  await tx.deleteFrom('owner_link').where('account_id', '=', accountId).execute();
}

export async function dropOwnerLinksUpTo(database: Database, at: number): Promise<void> {
  await database.write((tx) => tx.deleteFrom('owner_link').where('expires_at', '<=', at).execute(), {
    of: 'rows',
  });
}
