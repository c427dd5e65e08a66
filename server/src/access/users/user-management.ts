import { isDeepStrictEqual } from 'node:util';
import { includesRole, type PartRole, type Role } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author, PageRequest, Writer } from '../../projects/projects.ts';
import { actorOf, commandAuthor, createResources, describeChange } from '../../projects/projects.ts';
import type { Chosen, ControlTransaction, Rows } from '../../storage/storage.ts';
import { hashSecret, makeSecret, refuseLimited } from '../keys/keys.ts';
import { type Entered, enter, type OpenedSession, type UserParts, type Visitor } from './console-session.ts';
import { hashPassword, refuseWeakPassword } from './password.ts';
import { normalizeEmail, type Roles, refuseUnfitRoles, type User } from './user.ts';
import {
  countLocalOwners,
  findInvitation,
  findOwnerLink,
  findUser,
  INVITATIONS,
  type Invitation,
  type InvitationPlace,
  insertInvitation,
  insertOwnerLink,
  insertUser,
  removeBelongings,
  removeInvitationsBy,
  removeInvitationsTo,
  removeOwnerLinks,
  removePasskeys,
  removeSessionsOf,
  USERS,
  updateUser,
} from './user-store.ts';

/** Source: docs/interface §14.6 rule 4. */
const INVITATION_MS = 7 * 24 * 3_600_000;
/** Source: docs/interface §14.5 rule 3. */
const OWNER_LINK_MS = 3_600_000;

type UserChange = Partial<Pick<User, 'name' | 'role' | 'roles'>>;
type UserWriter = Writer<User, Author>;
type InvitationWriter = Writer<Invitation, Author>;

/**
 * The users of the caller's account; those of another are not_found. Owners and account keys that may manage
 * may call this; others are refused. Source: docs/interface §14.6.
 */
export function createUserManagement(parts: UserParts) {
  const users = createResources<User, Author>(parts, {
    store: USERS,
    ...rights,
    audit: ({ id, name }) => ({ subject: { type: 'user', id, name } }),
    show: ({ name, role, roles }) => ({ name, role, roles }),
    showDeleted: ({ email, role, roles }) => ({ email, role, roles }),
  });

  /** @throws role_of_groups, last_owner, key_beyond_own, request_invalid, scope_refused */
  async function checkRoles(
    tx: ControlTransaction,
    author: Author,
    { before, after }: { readonly before: User; readonly after: Roles },
  ): Promise<void> {
    // The next sign-in would restore those of the groups.
    if (before.signsInWith === 'company-account')
      throw new ServiceError('role_of_groups', 'change the groups at the provider');
    await refuseUnfitRoles(parts.projects, author, after);
    if (gainsRoles(before, after)) await refuseLimited(tx, author);
    if (before.role !== 'owner') return;
    await refuseLastOwner(tx, before);
    await removeInvitationsBy(tx, before.id);
  }

  return {
    listUsers: users.list,
    /** Takes effect with the next request. @throws not_found, last_owner, key_beyond_own, request_invalid, scope_refused */
    changeUser: (writer: UserWriter, chosen: Chosen, change: UserChange): Promise<User> =>
      users.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
        const after = { ...before, ...(change.role === 'owner' && { roles: [] }), ...change };
        const hasOtherRoles = before.role !== after.role || !isDeepStrictEqual(before.roles, after.roles);
        if (hasOtherRoles) await checkRoles(tx, writer.author, { before, after });
        return { after };
      }),
    /** Removes their sessions and the invitations that they made, too. @throws not_found, last_owner */
    deleteUser: (writer: UserWriter, chosen: Chosen): Promise<void> =>
      users.remove(writer, chosen, async (tx, user) => {
        if (user.role === 'owner') await refuseLastOwner(tx, user);
        await removeBelongings(tx, user.id);
      }),
    /** For a user who lost their passkeys. @throws not_found */
    removePasskeysOf: (writer: UserWriter, chosen: Chosen): Promise<User> =>
      users.change(writer, { ...chosen, what: 'passkeys-removed' }, async (tx, after) => {
        const gone = await removePasskeys(tx, { userId: after.id });
        return { after, details: { passkeys: gone.map(({ name }) => name) } };
      }),
  };
}

/** The guard checks sessions as well; this is for keys. @throws scope_refused, role_refused */
function refuseUnlessOwner(author: Author): void {
  if ('userId' in author) {
    if (!includesRole(author.role, 'owner')) throw new ServiceError('role_refused');
    return;
  }
  if (author.scope.type !== 'account' || author.access !== 'manage') throw new ServiceError('scope_refused');
}

/** An owner at the time of the request may no longer be one. @throws role_refused */
async function refuseFormerOwner(tx: ControlTransaction, author: Author): Promise<void> {
  if (!('userId' in author)) return;
  const user = await findUser(tx, { id: author.userId });
  if (user?.role !== 'owner') throw new ServiceError('role_refused');
}

const rights = { refuse: refuseUnlessOwner, refuseFormer: refuseFormerOwner };

const gainsRoles = (before: Roles, after: Roles) =>
  !includesRole(before.role, after.role) ||
  after.roles.some((one) => !before.roles.some((held) => isDeepStrictEqual(held, one)));

/** @throws last_owner */
async function refuseLastOwner(tx: ControlTransaction, { accountId, signsInWith }: User): Promise<void> {
  if (signsInWith === 'company-account' || (await countLocalOwners(tx, accountId)) > 1) return;
  throw new ServiceError('last_owner', 'make another user who signs in with a password an owner first');
}

/** What a person who follows a link submits. */
interface Acceptance {
  readonly token: string;
  readonly name: string;
  readonly password: string;
}

/** Links by which people become users of the caller's account, or recover a lost password. Source: docs/interface §14.5, §14.6. */
export function createLinks(parts: UserParts) {
  const { database, clock, projects } = parts;
  const invitations = createResources<Invitation, Author & InvitationPlace>(parts, {
    store: INVITATIONS,
    ...rights,
    audit: ({ id, email }) => ({ subject: { type: 'invitation', id, name: email } }),
    show: ({ role, roles }) => ({ role, roles }),
  });
  const presentIn = (author: Author) => ({ ...author, now: clock.now() });

  /** @throws link_ended for a used, replaced, withdrawn, expired or unknown link alike */
  async function getLink<Link>(
    rows: Rows,
    token: string,
    find: (rows: Rows, hash: string, now: number) => Promise<Link | undefined>,
  ): Promise<Link> {
    const link = await find(rows, hashSecret(token), clock.now());
    if (link === undefined) throw new ServiceError('link_ended');
    return link;
  }

  return {
    /**
     * Replaces an earlier invitation to the same address.
     * @returns the invitation at the only moment when its token is known
     * @throws email_taken for a user of the account, key_beyond_own
     */
    async invite(
      writer: InvitationWriter,
      { role, roles = [], ...given }: { email: string; role: Role; roles?: readonly PartRole[] },
    ): Promise<Invitation & { readonly token: string }> {
      const { author } = writer;
      refuseUnlessOwner(author);
      await refuseUnfitRoles(projects, author, { role, roles });
      const [email, token, place] = [normalizeEmail(given.email), makeSecret(), presentIn(author)];
      const { accountId, now } = place;
      const invitation = await invitations.create({ ...writer, place }, async (tx) => {
        await refuseLimited(tx, author);
        // Whether another account has such a user must not be revealed to this one; it shows when the link is followed.
        if ((await findUser(tx, { email }))?.accountId === accountId) throw new ServiceError('email_taken');
        await removeInvitationsTo(tx, { accountId, email });
        const after = await insertInvitation(tx, {
          accountId,
          email,
          role,
          roles,
          hash: hashSecret(token),
          createdAt: now,
          createdBy: actorOf(author),
          expiresAt: now + INVITATION_MS,
        });
        return { after, details: { email, role, roles, expiresAt: after.expiresAt } };
      });
      return { ...invitation, token };
    },

    listInvitations: (caller: Author, page: PageRequest) => invitations.list(presentIn(caller), page),

    /** The link ends. @throws not_found */
    deleteInvitation: (writer: InvitationWriter, chosen: Chosen): Promise<void> =>
      invitations.remove({ ...writer, place: presentIn(writer.place) }, chosen),

    /** A link works once. @throws link_ended, email_taken, request_invalid */
    async acceptInvitation({ token, name, password }: Acceptance, visitor: Visitor): Promise<OpenedSession> {
      // Before the password is hashed, so that a wrong token costs next to nothing.
      const { email } = await getLink(database.read, token, findInvitation);
      refuseWeakPassword('password', password, { email, name });
      const passwordHash = await hashPassword(password);
      return await enter(parts, visitor, async (tx) => {
        const invitation = await getLink(tx, token, findInvitation);
        const { accountId, role, roles, createdBy } = invitation;
        if ((await findUser(tx, { email })) !== undefined) throw new ServiceError('email_taken');
        await INVITATIONS.remove(tx, invitation);
        const added = { accountId, email, name, role, roles, passwordHash, createdAt: clock.now() };
        const details = { email, role, roles, invitedBy: createdBy };
        return { user: await insertUser(tx, added), what: 'created', details };
      });
    },

    /** Tells what a link is for, before anything is filled in, and leaves it valid. @throws link_ended */
    async checkLink(token: string) {
      const owner = await findOwnerLink(database.read, hashSecret(token), clock.now());
      if (owner) return { type: 'owner' as const, role: 'owner' as const, expiresAt: owner.expiresAt };
      const { role, expiresAt, email } = await getLink(database.read, token, findInvitation);
      return { type: 'invitation' as const, role, expiresAt, email };
    },

    hasOwner: async (): Promise<boolean> => (await countLocalOwners(database.read)) > 0,

    /** Valid once and for an hour, beside other links of the account. @returns the token */
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
     * Creates the user of the link, or gives the one with that address in the account the role and the new
     * password. All links of the account end. @throws link_ended, email_taken, request_invalid
     */
    async createOwner(
      { token, name, password, ...given }: Acceptance & { readonly email: string },
      visitor: Visitor,
    ): Promise<OpenedSession> {
      const email = normalizeEmail(given.email);
      // Before the password is hashed, as above.
      await getLink(database.read, token, findOwnerLink);
      refuseWeakPassword('password', password, { email, name });
      const passwordHash = await hashPassword(password);
      return await enter(parts, visitor, async (tx) => {
        const { accountId } = await getLink(tx, token, findOwnerLink);
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
  const known = await findUser(tx, { email });
  if (known === undefined) {
    const user = await insertUser(tx, { ...given, role, roles });
    return { user, what: 'created', details: { email, role, by: 'owner link' } };
  }
  if (known.accountId !== accountId) throw new ServiceError('email_taken');
  await updateUser(tx, known.id, { name, role, roles, passwordHash });
  await removeSessionsOf(tx, known.id);
  await removePasskeys(tx, { userId: known.id });
  const details = describeChange({ name: known.name, role: known.role }, { name, role });
  return { user: { ...known, name, role, roles, passkeys: 0 }, what: 'recovered', details };
}
