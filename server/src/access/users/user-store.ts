import { type Selectable, sql } from 'kysely';
import type { PartRole, PartScope } from '../../kernel/caller.ts';
import { type Actor, createStore, type PagePlace } from '../../projects/projects.ts';
import {
  type ControlSchema,
  type ControlTransaction,
  type Rows,
  toCamel,
  toSnake,
} from '../../storage/storage.ts';
import type { Roles, SecretHash, User } from './user.ts';

export interface StoredUser extends User {
  /** undefined: they sign in with the company's account. */
  readonly passwordHash: string | undefined;
}

/** A person at the company's provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

const selectUsers = (rows: Rows) => rows.selectFrom('console_user').selectAll();

/** By the index of the unique address. */
export const findUserByEmail = (rows: Rows, email: string) =>
  findOne(selectUsers(rows).where('email', '=', email));

/** In any account, by the index of the identity. */
export const findUserByIdentity = (rows: Rows, { issuer, subject }: Identity) =>
  findOne(selectUsers(rows).where('issuer', '=', issuer).where('subject', '=', subject));

/** In any account, if none is given. */
export const findUser = (rows: Rows, { id, accountId }: { id: number; accountId?: number }) =>
  findOne(
    selectUsers(rows)
      .where('id', '=', id)
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? 0)),
  );

async function findOne(query: {
  executeTakeFirst(): Promise<Selectable<ControlSchema['console_user']> | undefined>;
}): Promise<StoredUser | undefined> {
  const row = await query.executeTakeFirst();
  return row && { ...toUser(row), passwordHash: row.password_hash || undefined };
}

/** @returns the users of an account, by id. */
export async function listUsers(rows: Rows, accountId: number, place: PagePlace): Promise<User[]> {
  const found = await selectUsers(rows)
    .where('account_id', '=', accountId)
    .where('id', '>', place.after ?? 0)
    .orderBy('id')
    .limit(place.count)
    .execute();
  return found.map(toUser);
}

/**
 * Counts owners who sign in with a password: no provider and no change of its groups can take them away. Of all accounts, if
 * none is given.
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

export async function insertUser(
  tx: ControlTransaction,
  user: Pick<User, 'accountId' | 'email' | 'name' | 'role' | 'roles' | 'createdAt'> &
    ({ passwordHash: string } | { identity: Identity }),
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
    /** From now on the user signs in with it. */
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
      const roles = readRoles(row).filter(({ scope }) => scope.type !== type || scope.id !== id);
      await tx
        .updateTable(table)
        .set({ roles: JSON.stringify(roles) })
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

/** With it a person becomes a user, once. */
export interface Invitation extends Roles {
  readonly id: number;
  readonly accountId: number;
  readonly email: string;
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly expiresAt: number;
}

/** An account's that have not expired. */
export interface InvitationPlace {
  readonly accountId: number;
  readonly now: number;
}

export const INVITATIONS = createStore<Invitation, InvitationPlace>({
  name: 'invitation',
  keyOf: ({ id }) => ({ id }),
  within: ({ accountId, now }) => sql`account_id = ${accountId} and expires_at > ${now}`,
  read: toInvitation,
  toColumns: ({ role, roles }) => ({ role, roles: JSON.stringify(roles) }),
});

/** @returns one that has not expired, by the index of the unique hash */
export async function findInvitation(
  rows: Rows,
  hash: SecretHash,
  now: number,
): Promise<Invitation | undefined> {
  const found = rows.selectFrom('invitation').selectAll().where('hash', '=', hash);
  const row = await found.where('expires_at', '>', now).executeTakeFirst();
  return row && toInvitation(row);
}

export const insertInvitation = (
  tx: ControlTransaction,
  invitation: Omit<Invitation, 'id'> & { hash: SecretHash },
): Promise<Invitation> => {
  const { roles, createdBy } = invitation;
  const texts = { roles: JSON.stringify(roles), createdBy: JSON.stringify(createdBy) };
  const user_id = createdBy.type === 'user' ? createdBy.id : null;
  return INVITATIONS.insert(tx, { ...toSnake({ ...invitation, ...texts }), user_id });
};

export async function removeInvitationsTo(
  tx: ControlTransaction,
  filter: { accountId: number; email: string },
): Promise<void> {
  await tx
    .deleteFrom('invitation')
    .where((is) => is.and({ account_id: filter.accountId, email: filter.email }))
    .execute();
}

/** Those of a user who may no longer invite. */
export async function removeInvitationsBy(tx: ControlTransaction, userId: number): Promise<void> {
  await tx.deleteFrom('invitation').where('user_id', '=', userId).execute();
}

function toInvitation({
  hash: _,
  user_id: _id,
  ...row
}: Selectable<ControlSchema['invitation']>): Invitation {
  return { ...toCamel(row), roles: readRoles(row), createdBy: JSON.parse(row.created_by) };
}

/** @returns the account that the link is for, unless it has expired */
export async function findOwnerLink(
  rows: Rows,
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
