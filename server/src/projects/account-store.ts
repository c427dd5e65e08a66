import type { ControlTransaction, Database } from '../storage/storage.ts';

export interface Account {
  readonly id: number;
  readonly name: string;
}

export async function findAccounts(rows: Database['read'] | ControlTransaction): Promise<Account[]> {
  const found = await rows.selectFrom('account').select(['id', 'name']).orderBy('id').execute();
  return found.map(({ id, name }) => ({ id, name }));
}

export async function findAccount(rows: Database['read'], id: number): Promise<Account | undefined> {
  return rows.selectFrom('account').select(['id', 'name']).where('id', '=', id).executeTakeFirst();
}

export async function insertAccount(
  tx: ControlTransaction,
  account: { name: string; createdAt: number },
): Promise<Account> {
  return tx
    .insertInto('account')
    .values({ name: account.name, created_at: account.createdAt })
    .returning(['id', 'name'])
    .executeTakeFirstOrThrow();
}
