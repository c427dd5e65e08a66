import type { Caller, PartRole, Role } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  actorOf,
  type Beside,
  type Change,
  commandAuthor,
  createResources,
  describeChange,
  type ListPage,
  type PageRequest,
} from '../../projects/projects.ts';
import type { ControlTransaction, Rows } from '../../storage/storage.ts';
import { refuseLimited } from '../keys/keys.ts';
import {
  type OpenedSession,
  openSession,
  type UserParts,
  userChange,
  type Visitor,
  writeSessions,
} from './console-session.ts';
import { hashPassword, refuseWeakPassword } from './password.ts';
import { removePasskeys, removeSessionsOf } from './sign-in-store.ts';
import { hashSecret, makeSecret, normalizeEmail, refuseUnfitRoles, type User } from './user.ts';
import { refuseUnlessOwner } from './user-management.ts';
import * as userStore from './user-store.ts';

/** Source: docs/interface.md §14.6 rule 4. */
const INVITATION_MS = 7 * 24 * 3_600_000;
/** Source: docs/interface.md §14.5 rule 3. */
const OWNER_LINK_MS = 3_600_000;

/** What a person who follows a link sends. */
interface Acceptance {
  readonly token: string;
  readonly name: string;
  readonly password: string;
}

/** Links by which people become users of the caller's account. Source: docs/interface.md §14.6. */
export function createInvitations(parts: UserParts) {
  const { database, clock, projects } = parts;
  const resources = createResources<userStore.Invitation, userStore.InvitationPlace>(
    { database, projects },
    {
      store: userStore.INVITATIONS,
      lockOf: () => 'all',
      audit: ({ id, email }) => ({ subject: { type: 'invitation', id, name: email } }),
      show: ({ role, roles }) => ({ role, roles }),
    },
  );
  const placeOf = ({ accountId }: Pick<Caller, 'accountId'>) => ({ accountId, now: clock.now() });

  /** @returns an invitation that can be accepted. @throws link_ended: used, replaced, withdrawn, expired and unknown are alike */
  async function getByToken(rows: Rows, hash: string): Promise<userStore.Invitation> {
    const invitation = await userStore.findInvitation(rows, hash, clock.now());
    if (invitation === undefined) throw new ServiceError('link_ended');
    return invitation;
  }

  return {
    /**
     * In the place of one to the same address.
     * @returns the invitation at the one moment at which its token is known
     * @throws email_taken for a user of the account, key_beyond_own
     */
    async invite(
      author: Caller,
      { role, roles = [], ...given }: { email: string; role: Role; roles?: readonly PartRole[] },
      beside?: Beside<userStore.Invitation>,
    ): Promise<userStore.Invitation & { readonly token: string }> {
      refuseUnlessOwner(author);
      await refuseUnfitRoles(projects, author, { role, roles });
      const [email, token, place] = [normalizeEmail(given.email), makeSecret(), placeOf(author)];
      const { accountId, now } = place;
      const invitation = await resources.create({ author, place, beside }, async (tx) => {
        await refuseLimited(tx, author);
        // Whether another account has such a user is not for this one to know; it turns out when the link is followed.
        if ((await userStore.findUserByEmail(tx, email))?.accountId === accountId)
          throw new ServiceError('email_taken');
        await userStore.removeInvitationsTo(tx, { accountId, email });
        const after = await userStore.insertInvitation(tx, {
          ...{ accountId, email, role, roles, hash: hashSecret(token) },
          ...{ createdAt: now, createdBy: actorOf(author), expiresAt: now + INVITATION_MS },
        });
        return { after, details: { email, role, roles, expiresAt: after.expiresAt } };
      });
      return { ...invitation, token };
    },

    async listInvitations(caller: Caller, page: PageRequest): Promise<ListPage<userStore.Invitation>> {
      refuseUnlessOwner(caller);
      return await resources.list(placeOf(caller), page);
    },

    /** The link ends. @throws not_found */
    async deleteInvitation(author: Caller, id: number, beside?: Beside<userStore.Invitation>): Promise<void> {
      refuseUnlessOwner(author);
      await resources.remove({ author, place: placeOf(author), beside }, { id }, async () => {});
    },

    /** Once. @throws link_ended, email_taken, request_invalid */
    async acceptInvitation({ token, name, password }: Acceptance, visitor: Visitor): Promise<OpenedSession> {
      const hash = hashSecret(token);
      // Before the password is hashed: a wrong token costs next to nothing.
      const { email } = await getByToken(database.read, hash);
      refuseWeakPassword('password', password, { email, name });
      const passwordHash = await hashPassword(password);
      return await writeSessions(parts, async (tx) => {
        const now = clock.now();
        const invitation = await getByToken(tx, hash);
        const { accountId, role, roles, createdBy } = invitation;
        if ((await userStore.findUserByEmail(tx, email)) !== undefined) throw new ServiceError('email_taken');
        await userStore.INVITATIONS.remove(tx, invitation);
        const added = { accountId, email, name, role, roles, passwordHash, createdAt: now };
        const opened = await openSession(tx, { user: await userStore.insertUser(tx, added), now, visitor });
        const details = { email, role, roles, invitedBy: createdBy };
        await projects.recordChange(userChange(opened.caller, 'created', details), tx);
        return opened;
      });
    },

    /** What a link is for, before anything is filled in. It stays good. @throws link_ended */
    async checkLink(token: string) {
      const hash = hashSecret(token);
      const owner = await userStore.findOwnerLink(database.read, hash, clock.now());
      if (owner) return { type: 'owner' as const, role: 'owner' as const, expiresAt: owner.expiresAt };
      const { role, expiresAt, email } = await getByToken(database.read, hash);
      return { type: 'invitation' as const, role, expiresAt, email };
    },
  };
}

/** Links by which the first owners come, and owners recover a lost password. Source: docs/interface.md §14.5. */
export function createOwnerLinks(parts: UserParts) {
  const { database, clock, projects } = parts;

  /** @throws link_ended: used, replaced, expired and unknown are alike */
  async function getLink(rows: Rows, hash: string) {
    const link = await userStore.findOwnerLink(rows, hash, clock.now());
    if (link === undefined) throw new ServiceError('link_ended');
    return link;
  }

  return {
    /** Whether any account has one. */
    hasOwner: async (): Promise<boolean> => (await userStore.countLocalOwners(database.read)) > 0,

    /** Good once and for an hour, beside others of the account. @returns the token */
    makeOwnerLink: (accountId: number, command: string): Promise<string> =>
      database.write('all', async (tx) => {
        const token = makeSecret();
        const expiresAt = clock.now() + OWNER_LINK_MS;
        await userStore.insertOwnerLink(tx, { hash: hashSecret(token), accountId, expiresAt });
        const author = commandAuthor(accountId, command);
        const subject = { type: 'owner-link' };
        const details = { expiresAt };
        await projects.recordChange({ author, action: 'owner-link.created', subject, details }, tx);
        return token;
      }),

    /**
     * Makes the user of the link: a new one, or the one of that address in the account, who gets the role and the new
     * password. All links of the account end. @throws link_ended, email_taken, request_invalid
     */
    async createOwner(
      given: Acceptance & { readonly email: string },
      visitor: Visitor,
    ): Promise<OpenedSession> {
      const { name, password } = given;
      const [hash, email] = [hashSecret(given.token), normalizeEmail(given.email)];
      // Before the password is hashed: a wrong token costs next to nothing.
      await getLink(database.read, hash);
      refuseWeakPassword('password', password, { email, name });
      const passwordHash = await hashPassword(password);
      return await writeSessions(parts, async (tx) => {
        const now = clock.now();
        const { accountId } = await getLink(tx, hash);
        await userStore.removeOwnerLinks(tx, accountId);
        const owner = { accountId, email, name, passwordHash, createdAt: now };
        const { user, what, details } = await makeOwner(tx, owner);
        const opened = await openSession(tx, { user, now, visitor });
        await projects.recordChange(userChange(opened.caller, what, details), tx);
        return opened;
      });
    },
  };
}

async function makeOwner(
  tx: ControlTransaction,
  given: Pick<User, 'accountId' | 'email' | 'name' | 'createdAt'> & { readonly passwordHash: string },
): Promise<{ user: User; what: string; details: Change['details'] }> {
  const { accountId, email, name, passwordHash } = given;
  const [role, roles] = ['owner', []] as const;
  await userStore.removeInvitationsTo(tx, { accountId, email });
  const known = await userStore.findUserByEmail(tx, email);
  if (known === undefined) {
    const user = await userStore.insertUser(tx, { ...given, role, roles });
    return { user, what: 'created', details: { email, role, by: 'owner link' } };
  }
  if (known.accountId !== accountId) throw new ServiceError('email_taken');
  await userStore.updateUser(tx, { id: known.id, name, role, roles, passwordHash });
  await removeSessionsOf(tx, known.id);
  await removePasskeys(tx, { userId: known.id });
  const details = describeChange({ name: known.name, role: known.role }, { name, role });
  return { user: { ...known, name, role, roles, passkeys: 0 }, what: 'recovered', details };
}
