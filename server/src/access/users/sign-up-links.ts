import type { PartRole, Role } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author, PageRequest, Writer } from '../../projects/projects.ts';
import { actorOf, commandAuthor, describeChange, Resources } from '../../projects/projects.ts';
import type { Chosen, ControlTransaction, Rows } from '../../storage/storage.ts';
import { hashSecret, makeSecret, refuseLimited, type SecretHash } from '../keys/keys.ts';
import { type Entered, enter, type OpenedSession, type UserParts, type Visitor } from './console-session.ts';
import { hashPassword, refuseWeakPassword } from './password.ts';
import { normalizeEmail, refuseUnfitRoles, type User } from './user.ts';
import { ownerRights, refuseUnlessOwner } from './user-management.ts';
import {
  countLocalOwners,
  findInvitation,
  findOwnerLink,
  findUser,
  INVITATIONS,
  type Invitation,
  type InvitationSelection,
  insertInvitation,
  insertOwnerLink,
  insertUser,
  removeInvitationsTo,
  removeOwnerLinks,
  removePasskeys,
  removeSessionsOf,
  updateUser,
} from './user-store.ts';

/** Source: docs/interface §14.6 rule 4. */
const INVITATION_MS = 7 * 24 * 3_600_000;
/** Source: docs/interface §14.5 rule 3. */
const OWNER_LINK_MS = 3_600_000;

/** The values that a person submits after opening a link. */
interface Acceptance {
  readonly token: string;
  readonly name: string;
  readonly password: string;
}

/** @throws link_ended for a link that is used, replaced, withdrawn, expired or unknown */
async function getLink<Link>(
  rows: Rows,
  { token, clock }: { readonly token: string; readonly clock: Clock },
  find: (rows: Rows, hash: string, now: number) => Promise<Link | undefined>,
): Promise<Link> {
  const link = await find(rows, hashSecret(token), clock.now());
  if (link === undefined) throw new ServiceError('link_ended');
  return link;
}

/** Describes a link without using it, before the person fills in the form. @throws link_ended */
export async function checkLink({ database, clock }: Pick<UserParts, 'database' | 'clock'>, token: string) {
  const owner = await findOwnerLink(database.read, hashSecret(token), clock.now());
  if (owner) return { type: 'owner' as const, role: 'owner' as const, expiresAt: owner.expiresAt };
  const { role, expiresAt, email } = await getLink(database.read, { token, clock }, findInvitation);
  return { type: 'invitation' as const, role, expiresAt, email };
}

type InvitationWriter = Writer<Invitation, Author>;

interface NewInvitation {
  readonly email: string;
  readonly role: Role;
  readonly roles?: readonly PartRole[];
}

/** Creates the links through which people become users of the caller's account. Source: docs/interface §14.6. */
export function createInvitations(parts: UserParts) {
  const invitations = new Resources<Invitation, Author & InvitationSelection>(parts, {
    store: INVITATIONS,
    ...ownerRights,
    audit: ({ id, email }) => ({ subject: { type: 'invitation', id, name: email } }),
    show: ({ role, roles }) => ({ role, roles }),
  });
  const presentIn = (author: Author) => ({ ...author, now: parts.clock.now() });

  return {
    /**
     * Replaces an earlier invitation to the same address.
     * @returns the invitation with its token, which is known only at creation
     * @throws email_taken for a user of the account, key_beyond_own
     */
    async invite(
      writer: InvitationWriter,
      { role, roles = [], ...given }: NewInvitation,
    ): Promise<Invitation & { readonly token: string }> {
      const { author } = writer;
      refuseUnlessOwner(author);
      await refuseUnfitRoles(parts.projects, author, { role, roles });
      const [email, token, place] = [normalizeEmail(given.email), makeSecret(), presentIn(author)];
      const added = { email, role, roles, hash: hashSecret(token), createdAt: place.now };
      const invitation = await invitations.create({ ...writer, place }, (tx) => insertNew(tx, author, added));
      return { ...invitation, token };
    },

    listInvitations: (caller: Author, page: PageRequest) => invitations.list(presentIn(caller), page),

    /** Deletes an invitation, so that its link is refused. @throws not_found */
    deleteInvitation: (writer: InvitationWriter, chosen: Chosen): Promise<void> =>
      invitations.remove({ ...writer, place: presentIn(writer.place) }, chosen),

    /** Creates the user and deletes the invitation. @throws link_ended, email_taken, request_invalid */
    acceptInvitation: (given: Acceptance, visitor: Visitor): Promise<OpenedSession> =>
      acceptInvitation(parts, given, visitor),
  };
}

async function insertNew(
  tx: ControlTransaction,
  author: Author,
  added: Required<NewInvitation> & { readonly hash: SecretHash; readonly createdAt: number },
) {
  const { accountId } = author;
  const { email, role, roles, createdAt } = added;
  await refuseLimited(tx, author);
  // This account must not learn that another account has such a user. Only the person who opens the link does.
  if ((await findUser(tx, { email }))?.accountId === accountId) throw new ServiceError('email_taken');
  await removeInvitationsTo(tx, { accountId, email });
  const expiresAt = createdAt + INVITATION_MS;
  const after = await insertInvitation(tx, { ...added, accountId, createdBy: actorOf(author), expiresAt });
  return { after, details: { email, role, roles, expiresAt: after.expiresAt } };
}

async function acceptInvitation(
  parts: UserParts,
  { token, name, password }: Acceptance,
  visitor: Visitor,
): Promise<OpenedSession> {
  const { database, clock } = parts;
  // Checks the token before hashing the password, so that a wrong token costs little time.
  const { email } = await getLink(database.read, { token, clock }, findInvitation);
  refuseWeakPassword('password', password, { email, name });
  const passwordHash = await hashPassword(password);
  return await enter(parts, visitor, async (tx) => {
    const invitation = await getLink(tx, { token, clock }, findInvitation);
    const { accountId, role, roles, createdBy } = invitation;
    if ((await findUser(tx, { email })) !== undefined) throw new ServiceError('email_taken');
    await INVITATIONS.remove(tx, invitation);
    const added = { accountId, email, name, role, roles, passwordHash, createdAt: clock.now() };
    const details = { email, role, roles, invitedBy: createdBy };
    return { user: await insertUser(tx, added), what: 'created', details };
  });
}

/** Creates the links through which people become owners or recover a lost password. Source: docs/interface §14.5. */
export function createOwnerLinks(parts: UserParts) {
  const { database, clock, projects } = parts;
  return {
    hasOwner: async (): Promise<boolean> => (await countLocalOwners(database.read)) > 0,

    /** The link works once and for an hour; other links of the account stay valid. @returns the token */
    makeOwnerLink: (accountId: number, command: string): Promise<string> =>
      database.write('all', async (tx) => {
        const token = makeSecret();
        const expiresAt = clock.now() + OWNER_LINK_MS;
        await insertOwnerLink(tx, { hash: hashSecret(token), accountId, expiresAt });
        const author = commandAuthor(accountId, command);
        const subject = { type: 'owner-link' };
        const details = { expiresAt };
        await projects.recordChange({ author, action: 'owner-link.created', subject, details }, tx);
        return token;
      }),

    /**
     * Creates the owner. If the account has a user with that address, this user gets the role and the new password.
     * All owner links of the account end.
     * @throws link_ended, email_taken, request_invalid
     */
    async createOwner(
      { token, name, password, ...given }: Acceptance & { readonly email: string },
      visitor: Visitor,
    ): Promise<OpenedSession> {
      const email = normalizeEmail(given.email);
      // Checks the token before hashing the password, as for an invitation.
      await getLink(database.read, { token, clock }, findOwnerLink);
      refuseWeakPassword('password', password, { email, name });
      const passwordHash = await hashPassword(password);
      return await enter(parts, visitor, async (tx) => {
        const { accountId } = await getLink(tx, { token, clock }, findOwnerLink);
        await removeOwnerLinks(tx, accountId);
        return makeOwner(tx, { accountId, email, name, passwordHash, createdAt: clock.now() });
      });
    },
  };
}

async function makeOwner(
  tx: ControlTransaction,
  given: Pick<User, 'accountId' | 'email' | 'name' | 'createdAt'> & { readonly passwordHash: string },
): Promise<Entered> {
  const { accountId, email, name, passwordHash } = given;
  const [role, roles] = ['owner', []] as const;
  await removeInvitationsTo(tx, given);
  const existingUser = await findUser(tx, { email });
  if (existingUser === undefined) {
    const user = await insertUser(tx, { ...given, role, roles });
    return { user, what: 'created', details: { email, role, by: 'owner link' } };
  }
  if (existingUser.accountId !== accountId) throw new ServiceError('email_taken');
  await updateUser(tx, existingUser.id, { name, role, roles, passwordHash });
  await removeSessionsOf(tx, existingUser.id);
  await removePasskeys(tx, { userId: existingUser.id });
  const details = describeChange({ name: existingUser.name, role: existingUser.role }, { name, role });
  return { user: { ...existingUser, name, role, roles, passkeys: 0 }, what: 'recovered', details };
}
