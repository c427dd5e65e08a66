import type { Selectable } from 'kysely';
import type { PartRole, Role } from '../../kernel/caller.ts';
import type { Actor, PagePlace } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import type { SecretHash } from './user.ts';
import { readRoles } from './user-store.ts';

type Rows = Database['read'] | ControlTransaction;

/** What somebody may become a user with, once. */
export interface Invitation {
  readonly id: number;
  readonly accountId: number;
  readonly email: string;
  readonly role: Role;
  readonly roles: readonly PartRole[];
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly expiresAt: number;
}

/** @returns one that has not expired */
export async function findInvitationByHash(
  rows: Rows,
  hash: SecretHash,
  now: number,
): Promise<Invitation | undefined> {
  const row = await rows
    .selectFrom('invitation')
    .selectAll()
    .where('hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row && toInvitation(row);
}

export async function findInvitation(
  rows: Rows,
  filter: { id: number; accountId: number; now: number },
): Promise<Invitation | undefined> {
  const row = await rows
    .selectFrom('invitation')
    .selectAll()
    .where('id', '=', filter.id)
    .where('account_id', '=', filter.accountId)
    .where('expires_at', '>', filter.now)
    .executeTakeFirst();
  return row && toInvitation(row);
}

/** @returns those that have not expired, by id. */
export async function listInvitations(
  rows: Rows,
  filter: { accountId: number; now: number; place: PagePlace },
): Promise<Invitation[]> {
  const found = await rows
    .selectFrom('invitation')
    .selectAll()
    .where('account_id', '=', filter.accountId)
    .where('expires_at', '>', filter.now)
    .where('id', '>', filter.place.after ?? 0)
    .orderBy('id')
    .limit(filter.place.count)
    .execute();
  return found.map(toInvitation);
}

export async function insertInvitation(
  tx: ControlTransaction,
  invitation: Omit<Invitation, 'id'> & { hash: SecretHash },
): Promise<Invitation> {
  const { createdBy } = invitation;
  const row = await tx
    .insertInto('invitation')
    .values({
      account_id: invitation.accountId,
      email: invitation.email,
      role: invitation.role,
      roles: JSON.stringify(invitation.roles),
      hash: invitation.hash,
      created_at: invitation.createdAt,
      created_by: JSON.stringify(createdBy),
      user_id: createdBy.type === 'user' ? createdBy.id : null,
      expires_at: invitation.expiresAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toInvitation(row);
}

export async function removeInvitation(tx: ControlTransaction, id: number): Promise<void> {
  await tx.deleteFrom('invitation').where('id', '=', id).execute();
}

export async function removeInvitationsTo(
  tx: ControlTransaction,
  filter: { accountId: number; email: string },
): Promise<void> {
  await tx
    .deleteFrom('invitation')
    .where('account_id', '=', filter.accountId)
    .where('email', '=', filter.email)
    .execute();
}

/** What somebody handed out who may invite no more. */
export async function removeInvitationsBy(tx: ControlTransaction, userId: number): Promise<void> {
  await tx.deleteFrom('invitation').where('user_id', '=', userId).execute();
}

export async function dropInvitationsUpTo(database: Database, at: number): Promise<void> {
  await database.write((tx) => tx.deleteFrom('invitation').where('expires_at', '<=', at).execute(), {
    of: 'rows',
  });
}

function toInvitation(row: Selectable<ControlSchema['invitation']>): Invitation {
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    role: row.role,
    roles: readRoles(row),
    createdAt: row.created_at,
    createdBy: JSON.parse(row.created_by) as Actor,
    expiresAt: row.expires_at,
  };
}
