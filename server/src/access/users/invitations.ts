import type { Caller, PartRole, Role } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type Author,
  actorOf,
  type Beside,
  type Change,
  type ListPage,
  type PageWish,
  readPlace,
  toPage,
} from '../../projects/projects.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import { refuseLimited } from '../keys/keys.ts';
import { type OpenedSession, openSession, type Visitor } from './console-session.ts';
import {
  findInvitation,
  findInvitationByHash,
  type Invitation,
  insertInvitation,
  listInvitations,
  removeInvitation,
  removeInvitationsTo,
} from './invitation-store.ts';
import { type Roles, refuseUnfitRoles } from './part-roles.ts';
import { hashPassword, refuseWeakPassword } from './password.ts';
import { userChange, writeSessions } from './sign-in.ts';
import { hashSecret, makeSecret, normalizeEmail } from './user.ts';
import { refuseUnlessOwner, type UserManagementParts } from './user-management.ts';
import { findUserByEmail, insertUser } from './user-store.ts';

/** Source: docs/interface.md §14.6 rule 4. */
const INVITATION_MS = 7 * 24 * 3_600_000;

/** An invitation at the one moment at which its token is known. */
export interface MadeInvitation extends Invitation {
  readonly token: string;
}

interface Acceptance {
  readonly token: string;
  readonly name: string;
  readonly password: string;
}

/** Links by which people become users of the caller's account. Source: docs/interface.md §14.6. */
export interface Invitations {
  /** In the place of one to the same address. @throws email_taken for a user of the account, key_beyond_own */
  invite(
    author: Caller,
    given: { email: string; role: Role; roles?: readonly PartRole[] },
    beside?: Beside<Invitation>,
  ): Promise<MadeInvitation>;
  listInvitations(caller: Caller, wish: PageWish): Promise<ListPage<Invitation>>;
  /** The link ends. @throws not_found */
  deleteInvitation(author: Caller, id: number, beside?: Beside<Invitation>): Promise<void>;
  /** Once. @throws link_ended, email_taken, request_invalid */
  acceptInvitation(given: Acceptance, visitor: Visitor): Promise<OpenedSession>;
}

export function createInvitations(parts: UserManagementParts): Invitations {
  const { database, clock, projects } = parts;
  return {
    async invite(author, { roles = [], ...who }, beside) {
      refuseUnlessOwner(author);
      const given = { ...who, roles };
      await refuseUnfitRoles(projects, author, given);
      return database.write(async (tx) => {
        await refuseLimited(tx, author);
        const { token, ...invitation } = await insertMade(parts, { tx, author, given });
        const { email, role, expiresAt } = invitation;
        const details = { email, role, roles, expiresAt };
        await projects.recordChange({ ...describeChangeOf(author, 'created', invitation), details }, tx);
        await beside?.(tx, invitation);
        return { ...invitation, token };
      });
    },
    async listInvitations(caller, wish) {
      refuseUnlessOwner(caller);
      const place = readPlace(wish);
      const filter = { accountId: caller.accountId, now: clock.now(), place };
      return toPage(await listInvitations(database.read, filter), place);
    },
    async deleteInvitation(author, id, beside) {
      refuseUnlessOwner(author);
      await database.write(async (tx) => {
        const filter = { id, accountId: author.accountId, now: clock.now() };
        const invitation = await findInvitation(tx, filter);
        if (invitation === undefined) throw new ServiceError('not_found');
        await removeInvitation(tx, id);
        await projects.recordChange(describeChangeOf(author, 'deleted', invitation), tx);
        await beside?.(tx, invitation);
      });
    },
    acceptInvitation: (given, visitor) => accept(parts, given, visitor),
  };
}

async function insertMade(
  { clock }: UserManagementParts,
  { tx, author, given }: { tx: ControlTransaction; author: Caller; given: { email: string } & Roles },
): Promise<MadeInvitation> {
  const { accountId } = author;
  const email = normalizeEmail(given.email);
  const known = await findUserByEmail(tx, email);
  // Whether another account has such a user is not for this one to know; it turns out when the link is followed.
  if (known?.accountId === accountId) throw new ServiceError('email_taken');
  await removeInvitationsTo(tx, { accountId, email });
  const token = makeSecret();
  const now = clock.now();
  const invitation = await insertInvitation(tx, {
    accountId,
    email,
    role: given.role,
    roles: given.roles,
    hash: hashSecret(token),
    createdAt: now,
    createdBy: actorOf(author),
    expiresAt: now + INVITATION_MS,
  });
  return { ...invitation, token };
}

async function accept(
  parts: UserManagementParts,
  { token, name, password }: Acceptance,
  visitor: Visitor,
): Promise<OpenedSession> {
  const { database, clock, projects } = parts;
  const hash = hashSecret(token);
  // Before the password is hashed: who has no link costs next to nothing.
  const { email } = await getByToken(database.read, hash, clock.now());
  refuseWeakPassword('password', password, { email, name });
  const passwordHash = await hashPassword(password);
  return writeSessions(parts, async (tx) => {
    const now = clock.now();
    const { id, accountId, role, roles, createdBy } = await getByToken(tx, hash, now);
    if ((await findUserByEmail(tx, email)) !== undefined) throw new ServiceError('email_taken');
    await removeInvitation(tx, id);
    const user = await insertUser(tx, {
      ...{ accountId, email, name, role, roles },
      ...{ passwordHash, createdAt: now },
    });
    const opened = await openSession(tx, { user, now, visitor });
    const details = { email, role, roles, invitedBy: createdBy };
    await projects.recordChange({ ...userChange(opened.caller, 'created'), details }, tx);
    return opened;
  });
}

/** Used, replaced, withdrawn, expired and unknown are alike. @throws link_ended */
async function getByToken(
  rows: Database['read'] | ControlTransaction,
  hash: string,
  now: number,
): Promise<Invitation> {
  const invitation = await findInvitationByHash(rows, hash, now);
  if (invitation === undefined) throw new ServiceError('link_ended');
  return invitation;
}

function describeChangeOf(author: Author, what: string, { id, email }: Invitation): Change {
  return { author, action: `invitation.${what}`, subject: { type: 'invitation', id, name: email } };
}
