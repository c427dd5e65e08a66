import type { PartRole, UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { describeChange, type Projects } from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import { makeSecret } from '../keys/keys.ts';
import {
  type CompanyAccount,
  createProvider,
  findRoles,
  type Provider,
  type ProviderSettings,
} from '../oidc/oidc.ts';
import {
  type Entered,
  enter,
  type OpenedSession,
  type UserParts,
  type Visitor,
  writeSessions,
} from './console-session.ts';
import { normalizeEmail, type User } from './user.ts';
import {
  findUser,
  type Identity,
  insertUser,
  removeInvitationsBy,
  removeInvitationsTo,
  removeSessionsOf,
  updateUser,
} from './user-store.ts';

interface ReturnedSignIn {
  readonly attempt: string | undefined;
  /** The query with which the provider sent the browser back. */
  readonly query: string;
  readonly returnUrl: string;
}

export interface CompanySignInParts extends UserParts {
  /** The company's provider; undefined if people sign in with passwords only. */
  readonly oidc?: ProviderSettings | undefined;
}

/** Creates the sign-in with a company account. Source: docs/interface §5.7. */
export function createCompanySignIn(parts: CompanySignInParts) {
  const { database, clock, oidc } = parts;
  const provider = oidc && createProvider(oidc, clock);
  const finishAtProvider = limitCalls(provider);
  return {
    /** The name of the provider that people see; undefined if there is no provider. */
    providerName: provider?.name,

    /**
     * @returns the provider's sign-in address, and a secret that the browser stores until it returns
     * @throws company_sign_in_absent, provider_unavailable
     */
    async beginCompanySignIn(returnUrl: string): Promise<{ url: string; attempt: string }> {
      if (provider === undefined) throw new ServiceError('company_sign_in_absent');
      // The service stores nothing for an attempt, so strangers cannot fill the store.
      const attempt = makeSecret();
      return { attempt, url: await provider.begin(attempt, returnUrl) };
    },

    /**
     * The first sign-in creates the user. At each sign-in the groups determine the role.
     * @throws attempt_ended, provider_refused, provider_unavailable, no_role, email_taken
     */
    async finishCompanySignIn(returned: ReturnedSignIn, visitor: Visitor): Promise<OpenedSession> {
      return enterFromProvider(parts, await finishAtProvider(returned), visitor);
    },

    /**
     * @returns the address where the browser also signs out of the provider; undefined if there is none or the
     * provider is unreachable
     */
    async findProviderSignOut({ userId }: UserCaller, returnUrl: string): Promise<string | undefined> {
      const user = provider && (await findUser(database.read, { id: userId }));
      if (user?.signsInWith !== 'company-account') return undefined;
      // Signing out of the console must work while the provider is unreachable.
      return await provider?.findSignOutUrl(returnUrl).catch(() => undefined);
    },
  };
}

/** Each returning browser makes the service call the provider, so strangers could otherwise cause endless calls. */
const AT_ONCE = 16;
/** The delay before a retry. A sign-in in progress seldom takes longer. */
const RETRY_SECONDS = 5;

/**
 * @returns a function that finishes a limited number of sign-ins at a time; it throws company_sign_in_absent,
 * attempt_ended and not_ready
 */
function limitCalls(provider: Provider | undefined) {
  let underWay = 0;
  return async ({ attempt, query, returnUrl }: ReturnedSignIn): Promise<CompanyAccount> => {
    if (provider === undefined) throw new ServiceError('company_sign_in_absent');
    if (attempt === undefined) throw new ServiceError('attempt_ended');
    if (underWay >= AT_ONCE) throw new ServiceError('not_ready', { retryAfterSeconds: RETRY_SECONDS });
    underWay += 1;
    try {
      return await provider.finish({ attempt, query, returnUrl });
    } finally {
      underWay -= 1;
    }
  };
}

/** @throws no_role, email_taken */
async function enterFromProvider(
  parts: CompanySignInParts,
  { issuer, subject, email, name, groups }: CompanyAccount,
  visitor: Visitor,
): Promise<OpenedSession> {
  const identity = { issuer, subject };
  const { role, roles: named } = findRoles(parts.oidc?.roles ?? [], groups);
  const roles = await listPresent(parts.projects, named);
  if (role === 'none' && roles.length === 0) {
    await endSessions(parts, identity);
    throw new ServiceError(
      'no_role',
      'none of your groups at the provider has a role: ask an owner which one you need',
    );
  }
  const claimed = { email: normalizeEmail(email), name, role, roles };
  return await enter(parts, visitor, async (tx) => {
    const user = await findUser(tx, identity);
    return user === undefined ? addUser(tx, parts, { identity, claimed }) : followProvider(tx, user, claimed);
  });
}

/** @returns the roles whose project group or project exists */
async function listPresent(projects: Projects, roles: readonly PartRole[]): Promise<PartRole[]> {
  const [first] = await projects.findAccounts();
  if (first === undefined) return [];
  const reach = { accountId: first.id, scope: { type: 'account' } } as const;
  const present = await Promise.all(roles.map(({ scope }) => projects.reachesScope(reach, scope)));
  return roles.filter((_, index) => present[index]);
}

const endSessions = (parts: UserParts, identity: Identity): Promise<void> =>
  writeSessions(parts, async (tx) => {
    const user = await findUser(tx, identity);
    if (user !== undefined) await removeSessionsOf(tx, user.id);
  });

/** The properties of a person that the provider's claims and groups determine. */
type Claimed = Pick<User, 'email' | 'name' | 'role' | 'roles'>;

/** Adds the user to the first account, like the first owner. @throws company_sign_in_absent, email_taken */
async function addUser(
  tx: ControlTransaction,
  { clock, projects }: UserParts,
  { identity, claimed }: { readonly identity: Identity; readonly claimed: Claimed },
): Promise<Entered> {
  const [first] = await projects.findAccounts(tx);
  if (first === undefined) throw new ServiceError('company_sign_in_absent');
  const { email, role, roles } = claimed;
  // The existing user is not signed in: a person who chooses an address at the provider could take over that user.
  if ((await findUser(tx, { email })) !== undefined) {
    throw new ServiceError(
      'email_taken',
      'the user with this address signs in with a password: an owner must delete that user first',
    );
  }
  await removeInvitationsTo(tx, { accountId: first.id, email });
  const added = { ...claimed, accountId: first.id, ...identity, createdAt: clock.now() };
  const details = { email, role, ...(roles.length > 0 && { roles }), by: 'company account' };
  return { user: await insertUser(tx, added), what: 'created', details };
}

/** Takes name, address and roles from the provider. The address stays the same if another user has the new one. */
async function followProvider(tx: ControlTransaction, user: User, claimed: Claimed): Promise<Entered> {
  const addressOwner = await findUser(tx, { email: claimed.email });
  const isFree = addressOwner === undefined || addressOwner.id === user.id;
  const after = { ...claimed, email: isFree ? claimed.email : user.email };
  const { email, name, role, roles } = user;
  await updateUser(tx, user.id, after);
  if (user.role === 'owner' && after.role !== 'owner') await removeInvitationsBy(tx, user.id);
  const details = describeChange({ email, name, role, roles }, after);
  return { user: { ...user, ...after }, what: 'signed-in', details };
}
