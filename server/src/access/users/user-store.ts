import type { Selectable } from 'kysely';
import type { PartRole, PartScope, Role } from '../../kernel/caller.ts';
import type { PagePlace } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import type { User } from './user.ts';

type Rows = Database['read'] | ControlTransaction;

export interface StoredUser extends User {
  /** undefined: they sign in with the company's account. */
  readonly passwordHash: string | undefined;
}

/** Who somebody is at the company's provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** By the index of the unique address. */
export async function findUserByEmail(rows: Rows, email: string): Promise<StoredUser | undefined> {
  const row = await rows.selectFrom('console_user').selectAll().where('email', '=', email).executeTakeFirst();
  return row && toStoredUser(row);
}

/** In any account, by the index of the identity. */
export async function findUserByIdentity(
  rows: Rows,
  { issuer, subject }: Identity,
): Promise<StoredUser | undefined> {
  const row = await rows
    .selectFrom('console_user')
    .selectAll()
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return row && toStoredUser(row);
}

export async function findUser(
  rows: Rows,
  filter: { id: number; accountId?: number },
): Promise<StoredUser | undefined> {
  const row = await rows
    .selectFrom('console_user')
    .selectAll()
    .where('id', '=', filter.id)
    .$if(filter.accountId !== undefined, (query) => query.where('account_id', '=', filter.accountId ?? 0))
    .executeTakeFirst();
  return row && toStoredUser(row);
}

/** @returns the users of an account, by id. */
export async function listUsers(rows: Rows, accountId: number, place: PagePlace): Promise<User[]> {
  const found = await rows
    .selectFrom('console_user')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '>', place.after ?? 0)
    .orderBy('id')
    .limit(place.count)
    .execute();
  return found.map(toUser);
}

/** Those who sign in with a password: no provider and no change of its groups can take them away. */
export async function countLocalOwners(rows: Rows, accountId: number): Promise<number> {
  const { count } = await rows
    .selectFrom('console_user')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('role', '=', 'owner')
    .where('issuer', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** In any account, with a password. */
export async function hasAnyOwner(rows: Rows): Promise<boolean> {
  const found = await rows
    .selectFrom('console_user')
    .select('id')
    .where('role', '=', 'owner')
    .where('issuer', 'is', null)
    .limit(1)
    .execute();
  return found.length > 0;
}

export async function insertUser(
  tx: ControlTransaction,
  user: {
    accountId: number;
    email: string;
    name: string;
    role: Role;
    roles: readonly PartRole[];
    createdAt: number;
  } & ({ passwordHash: string } | { identity: Identity }),
): Promise<User> {
  const row = await tx
    .insertInto('console_user')
    .values({
      account_id: user.accountId,
      email: user.email,
      name: user.name,
      role: user.role,
      roles: JSON.stringify(user.roles),
      created_at: user.createdAt,
      ...('identity' in user
        ? { ...user.identity, password_hash: '' }
        : { password_hash: user.passwordHash }),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toUser(row);
}

export async function updateUser(
  tx: ControlTransaction,
  change: Partial<Pick<User, 'email' | 'name' | 'role' | 'roles'>> & {
    id: number;
    /** Whoever has one signs in with it from now on. */
    passwordHash?: string;
    signedInAt?: number;
  },
): Promise<void> {
  await tx
    .updateTable('console_user')
    .set({
      ...(change.email !== undefined && { email: change.email }),
      ...(change.name !== undefined && { name: change.name }),
      ...(change.role !== undefined && { role: change.role }),
      ...(change.roles !== undefined && { roles: JSON.stringify(change.roles) }),
      ...(change.passwordHash !== undefined && {
        ...{ password_hash: change.passwordHash, issuer: null, subject: null },
      }),
      ...(change.signedInAt !== undefined && { signed_in_at: change.signedInAt }),
    })
    .where('id', '=', change.id)
    .execute();
}

/** Delete their sessions first. */
export async function removeUser(tx: ControlTransaction, id: number): Promise<void> {
  await tx.deleteFrom('passkey').where('user_id', '=', id).execute();
  await tx.deleteFrom('console_user').where('id', '=', id).execute();
}

/** What users have, and are invited to have, in a part that is gone. */
export async function removeRolesIn(tx: ControlTransaction, { type, id }: PartScope): Promise<void> {
  for (const table of ['console_user', 'invitation'] as const) {
    const found = await tx.selectFrom(table).select(['id', 'roles']).where('roles', '!=', '[]').execute();
    for (const row of found) {
      const kept = readRoles(row).filter(({ scope }) => scope.type !== type || scope.id !== id);
      await tx
        .updateTable(table)
        .set({ roles: JSON.stringify(kept) })
        .where('id', '=', row.id)
        .execute();
    }
  }
}

export const readRoles = ({ roles }: { roles: string }) => JSON.parse(roles) as PartRole[];

export function toUser(
  row: Omit<Selectable<ControlSchema['console_user']>, 'password_hash' | 'subject'>,
): User {
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    name: row.name,
    role: row.role,
    roles: readRoles(row),
    createdAt: row.created_at,
    signedInAt: row.signed_in_at,
    passkeys: row.passkeys,
    signsInWith: row.issuer === null ? 'password' : 'company-account',
  };
}

function toStoredUser(row: Selectable<ControlSchema['console_user']>): StoredUser {
  return { ...toUser(row), passwordHash: row.password_hash || undefined };
}
