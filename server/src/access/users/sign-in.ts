import type { PartRole, UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type Account, describeChange } from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import { makeSecret } from '../keys/keys.ts';
import { createProvider, findRoles, type ProviderSettings } from '../oidc/oidc.ts';
import type { Entered, OpenedSession, UserParts, Visitor } from './console-session.ts';
import { enter, writeSessions } from './console-session.ts';
import { challengePasskey } from './passkeys.ts';
import { hashPassword, isPassword, type PasswordLimit, refuseWeakPassword } from './password.ts';
import { normalizeEmail, type User } from './user.ts';
import {
  findUser,
  type Identity,
  insertUser,
  removeInvitationsBy,
  removeInvitationsTo,
  removeSessionsOf,
  type StoredUser,
  updateUser,
} from './user-store.ts';

/** Until an operator has freed space. */
const FULL_RETRY_SECONDS = 60;

/** Sign-ins, each recorded in the audit log. Source: docs/interface §5.6. */
export function createSignIn(parts: UserParts & { readonly limit: PasswordLimit }) {
  const { database, projects, limit } = parts;

  async function signIn(given: { readonly email: string; readonly password: string }, visitor: Visitor) {
    const attempt = { email: normalizeEmail(given.email), address: visitor.address };
    await limit.count(attempt);
    const user = await findUser(database.read, { email: attempt.email });
    const isRight = await isPassword(given.password, user?.passwordHash);
    if (user === undefined || !isRight) throw new ServiceError('sign_in_refused');
    // The attempt is forgiven only with the passkey: the password alone must not allow unlimited attempts.
    if (user.passkeys > 0)
      return challengePasskey(parts, user, { purpose: 'sign-in', origin: visitor.origin });
    const opened = await enter(parts, visitor, async (tx) => ({
      user: await getUnchanged(tx, user),
      what: 'signed-in',
    }));
    await limit.forgive(attempt);
    return opened;
  }

  async function getOwn({ userId }: UserCaller): Promise<StoredUser> {
    const user = await findUser(database.read, { id: userId });
    if (user === undefined) throw new ServiceError('not_signed_in');
    return user;
  }

  return {
    /** An unknown address is refused like a wrong password. @throws sign_in_refused, _limited, _unstored */
    signIn: (...given: Parameters<typeof signIn>) => signIn(...given).catch(refuseOnFullDisk),

    /** @throws not_signed_in when the user was deleted a moment ago */
    async describeUser(caller: UserCaller): Promise<{ user: User; account: Account }> {
      return { user: await getOwn(caller), account: await projects.getAccount(caller.accountId) };
    },

    /**
     * Ends all sessions of the user, who may have changed it because another person has one, and opens a new one.
     * @throws password_wrong, sign_in_limited, request_invalid
     */
    async changePassword(
      caller: UserCaller,
      given: { readonly current: string; readonly new: string },
      visitor: Visitor,
    ): Promise<OpenedSession> {
      const user = await getOwn(caller);
      refuseWeakPassword('new', given.new, user);
      const attempt = { email: user.email, address: visitor.address };
      await limit.count(attempt);
      if (!(await isPassword(given.current, user.passwordHash))) throw new ServiceError('password_wrong');
      const passwordHash = await hashPassword(given.new);
      const opened = await enter(parts, visitor, async (tx) => {
        const present = await getUnchanged(tx, user);
        await updateUser(tx, user.id, { passwordHash });
        await removeSessionsOf(tx, user.id);
        return { user: present, what: 'password-changed' };
      });
      await limit.forgive(attempt);
      return opened;
    },
  };
}

/** Neither attempts nor sessions can be stored, and without counting attempts no password is checked. */
function refuseOnFullDisk(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== 'storage_full') throw error;
  throw new ServiceError('sign_in_unstored', { retryAfterSeconds: FULL_RETRY_SECONDS, cause: error });
}

/** A user who was deleted, or changed the password, since the check cannot sign in with the old one. */
async function getUnchanged(tx: ControlTransaction, user: StoredUser): Promise<User> {
  const present = await findUser(tx, { id: user.id });
  const hasFewerFactors = user.passkeys === 0 && present !== undefined && present.passkeys > 0;
  if (present === undefined || present.passwordHash !== user.passwordHash || hasFewerFactors)
    throw new ServiceError('sign_in_refused');
  return present;
}

interface ReturnedSignIn {
  readonly attempt: string | undefined;
  /** The query that the browser came back with. */
  readonly query: string;
  readonly returnUrl: string;
}

export interface CompanySignInParts extends UserParts {
  /** The company's provider; undefined: people sign in with passwords only. */
  readonly oidc?: ProviderSettings | undefined;
}

/** A returning browser makes the service call the provider; without a limit strangers could cause endless calls. */
const AT_ONCE = 16;
/** When to retry: a sign-in in progress seldom takes longer. */
const RETRY_SECONDS = 5;

/** Signing in with a company account. Source: docs/interface §5.7. */
export function createCompanySignIn(parts: CompanySignInParts) {
  const { database, clock, oidc, projects } = parts;
  const provider = oidc && createProvider(oidc, clock);
  let underWay = 0;

  async function findAccount({ attempt, query, returnUrl }: ReturnedSignIn) {
    if (provider === undefined) throw new ServiceError('company_sign_in_absent');
    if (attempt === undefined) throw new ServiceError('attempt_ended');
    if (underWay >= AT_ONCE) throw new ServiceError('not_ready', { retryAfterSeconds: RETRY_SECONDS });
    underWay += 1;
    try {
      return await provider.finish({ attempt, query, returnUrl });
    } finally {
      underWay -= 1;
    }
  }

  /** @returns the roles without those in parts that have been deleted or never existed */
  async function keepPresent(roles: readonly PartRole[]): Promise<PartRole[]> {
    const [first] = await projects.findAccounts();
    if (first === undefined) return [];
    const reach = { accountId: first.id, scope: { type: 'account' } } as const;
    const present = await Promise.all(roles.map(({ scope }) => projects.reachesScope(reach, scope)));
    return roles.filter((_, at) => present[at]);
  }

  /** Adds the user to the first account, as for the first owner. */
  async function addUser(tx: ControlTransaction, identity: Identity, claimed: Claimed) {
    const [first] = await projects.findAccounts(tx);
    if (first === undefined) throw new ServiceError('company_sign_in_absent');
    const { email, role, roles } = claimed;
    // Never as that user: a person who can choose an address at the provider could take over their account here.
    if ((await findUser(tx, { email })) !== undefined) {
      throw new ServiceError('email_taken', 'it signs in with a password: an owner deletes that user first');
    }
    await removeInvitationsTo(tx, { accountId: first.id, email });
    const added = { ...claimed, accountId: first.id, ...identity, createdAt: clock.now() };
    const details = { email, role, ...(roles.length > 0 && { roles }), by: 'company account' };
    return { user: await insertUser(tx, added), what: 'created', details };
  }

  return {
    /** The name of the provider, as shown to people; undefined if there is none. */
    providerName: provider?.name,

    /**
     * @returns where the browser goes, and a secret that it keeps until it comes back
     * @throws company_sign_in_absent, provider_unavailable
     */
    async beginCompanySignIn(returnUrl: string): Promise<{ url: string; attempt: string }> {
      if (provider === undefined) throw new ServiceError('company_sign_in_absent');
      // Nothing has to be stored here, so strangers cannot fill the store.
      const attempt = makeSecret();
      return { attempt, url: await provider.begin(attempt, returnUrl) };
    },

    /**
     * The first sign-in creates the user; the groups determine the role each time.
     * @throws attempt_ended, provider_refused, provider_unavailable, no_role, email_taken
     */
    async finishCompanySignIn(returned: ReturnedSignIn, visitor: Visitor): Promise<OpenedSession> {
      const { issuer, subject, email, name, groups } = await findAccount(returned);
      const identity = { issuer, subject };
      const { role, roles: named } = findRoles(oidc?.roles ?? [], groups);
      const roles = await keepPresent(named);
      if (role === 'none' && roles.length === 0) {
        await writeSessions(parts, async (tx) => {
          const known = await findUser(tx, identity);
          if (known !== undefined) await removeSessionsOf(tx, known.id);
        });
        throw new ServiceError(
          'no_role',
          'none of your groups at the provider has a role: ask an owner which one you need',
        );
      }
      const claimed = { email: normalizeEmail(email), name, role, roles };
      return await enter(parts, visitor, async (tx) => {
        const known = await findUser(tx, identity);
        return known === undefined ? addUser(tx, identity, claimed) : followProvider(tx, known, claimed);
      });
    },

    /** @returns where the browser signs out of the provider too; undefined: nowhere, or the provider is unreachable */
    async findProviderSignOut({ userId }: UserCaller, returnUrl: string): Promise<string | undefined> {
      const user = provider && (await findUser(database.read, { id: userId }));
      if (user?.signsInWith !== 'company-account') return undefined;
      // Signing out here must work while the provider is unreachable.
      return await provider?.findSignOutUrl(returnUrl).catch(() => undefined);
    },
  };
}

/** What the provider and its groups say about a person. */
type Claimed = Pick<User, 'email' | 'name' | 'role' | 'roles'>;

/** Takes name, address and roles from the provider; an address that another user has here is not changed. */
async function followProvider(tx: ControlTransaction, known: User, claimed: Claimed): Promise<Entered> {
  const other = await findUser(tx, { email: claimed.email });
  const isFree = other === undefined || other.id === known.id;
  const after = { ...claimed, email: isFree ? claimed.email : known.email };
  const { email, name, role, roles } = known;
  await updateUser(tx, known.id, after);
  if (known.role === 'owner' && after.role !== 'owner') await removeInvitationsBy(tx, known.id);
  const details = describeChange({ email, name, role, roles }, after);
  return { user: { ...known, ...after }, what: 'signed-in', details };
}
