import type { PartRole, UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { describeChange } from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import {
  type CompanyAccount,
  createProvider,
  findRoles,
  makeAttempt,
  type ProviderSettings,
} from '../oidc/oidc.ts';
import { type OpenedSession, openSession, type Visitor } from './console-session.ts';
import { removeSessionsOf } from './console-session-store.ts';
import { removeInvitationsBy, removeInvitationsTo } from './invitation-store.ts';
import { type SignInParts, userChange, writeSessions } from './sign-in.ts';
import { normalizeEmail, type User } from './user.ts';
import { findUser, findUserByEmail, findUserByIdentity, insertUser, updateUser } from './user-store.ts';

/** Where a sign-in at the provider begins. */
export interface BegunSignIn {
  /** Where the browser goes. */
  readonly url: string;
  /** What the browser keeps until it comes back, and nobody else may know. */
  readonly attempt: string;
}

interface ReturnedSignIn {
  readonly attempt: string | undefined;
  /** The query with which the browser came back. */
  readonly query: string;
  readonly returnUrl: string;
}

/** Signing in with the company's account. Source: docs/interface.md §5.7. */
export interface CompanySignIn {
  /** What people call the provider; undefined: there is none. */
  readonly providerName: string | undefined;
  /** @throws company_sign_in_absent, provider_unavailable */
  beginCompanySignIn(returnUrl: string): Promise<BegunSignIn>;
  /**
   * Whoever signs in for the first time becomes a user; the groups decide the role each time.
   * @throws attempt_ended, provider_refused, provider_unavailable, no_role, email_taken
   */
  finishCompanySignIn(returned: ReturnedSignIn, visitor: Visitor): Promise<OpenedSession>;
  /** @returns where the browser signs out of the provider too; undefined: nowhere, also while the provider is away */
  findProviderSignOut(caller: UserCaller, returnUrl: string): Promise<string | undefined>;
}

export interface CompanySignInParts extends Omit<SignInParts, 'limit'> {
  readonly oidc: ProviderSettings | undefined;
}

/** Whoever comes back makes the service ask the provider: strangers could have it ask without end. */
const AT_ONCE = 16;
/** When to try again: a sign-in under way seldom takes longer. */
const RETRY_SECONDS = 5;

export function createCompanySignIn(parts: CompanySignInParts): CompanySignIn {
  const { database, clock, oidc } = parts;
  const provider = oidc && createProvider(oidc, clock);
  let underWay = 0;

  async function findAccount({ attempt, query, returnUrl }: ReturnedSignIn): Promise<CompanyAccount> {
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

  return {
    providerName: provider?.name,
    async beginCompanySignIn(returnUrl) {
      if (provider === undefined) throw new ServiceError('company_sign_in_absent');
      const attempt = makeAttempt();
      return { attempt, url: await provider.begin(attempt, returnUrl) };
    },
    async finishCompanySignIn(returned, visitor) {
      const account = await findAccount(returned);
      const found = findRoles(oidc?.roles ?? [], account.groups);
      const roles = await keepPresent(parts, found.roles);
      const hasRole = found.role !== 'none' || roles.length > 0;
      const opened = await writeSessions(parts, async (tx) => {
        const known = await findUserByIdentity(tx, account);
        if (!hasRole) {
          if (known !== undefined) await removeSessionsOf(tx, known.id);
          return undefined;
        }
        const wanted = { email: normalizeEmail(account.email), name: account.name, role: found.role, roles };
        const { user, what, details } =
          known === undefined
            ? await addUser(parts, { tx, account, wanted })
            : await followProvider(tx, known, wanted);
        const session = await openSession(tx, { user, now: clock.now(), visitor });
        await parts.projects.recordChange({ ...userChange(session.caller, what), details }, tx);
        return session;
      });
      if (opened !== undefined) return opened;
      throw new ServiceError('no_role', {
        details: ['none of your groups at the provider has a role: ask an owner which one you need'],
      });
    },
    async findProviderSignOut({ userId, accountId }, returnUrl) {
      const user = provider && (await findUser(database.read, { id: userId, accountId }));
      if (user?.signsInWith !== 'company-account') return undefined;
      // A provider that is away must not keep anybody from signing out here.
      return provider?.findSignOutUrl(returnUrl).catch(() => undefined);
    },
  };
}

/** A setting may name parts that are deleted since, or never were. */
async function keepPresent(
  { projects }: CompanySignInParts,
  roles: readonly PartRole[],
): Promise<PartRole[]> {
  const [first] = await projects.findAccounts();
  if (first === undefined) return [];
  const reach = { accountId: first.id, scope: { type: 'account' } } as const;
  const present = await Promise.all(roles.map(({ scope }) => projects.reachesScope(reach, scope)));
  return roles.filter((_, at) => present[at]);
}

type Wanted = Pick<User, 'email' | 'name' | 'role' | 'roles'>;

interface Entered {
  readonly user: User;
  readonly what: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** In the first account, as the first owner. */
async function addUser(
  { clock, projects }: CompanySignInParts,
  { tx, account, wanted }: { tx: ControlTransaction; account: CompanyAccount; wanted: Wanted },
): Promise<Entered> {
  const [first] = await projects.findAccounts(tx);
  if (first === undefined) throw new ServiceError('company_sign_in_absent');
  // Never that user: whoever may choose an address at the provider would take over their account here.
  if ((await findUserByEmail(tx, wanted.email)) !== undefined) {
    throw new ServiceError('email_taken', {
      details: ['it signs in with a password: an owner deletes that user first'],
    });
  }
  await removeInvitationsTo(tx, { accountId: first.id, email: wanted.email });
  const { issuer, subject } = account;
  const identity = { issuer, subject };
  const user = await insertUser(tx, {
    ...wanted,
    accountId: first.id,
    identity,
    createdAt: clock.now(),
  });
  const { email, role, roles } = wanted;
  const details = { email, role, ...(roles.length > 0 && { roles }), by: 'company account' };
  return { user, what: 'created', details };
}

/** Name, address and roles are those of the provider; an address that somebody else has here is left as it was. */
async function followProvider(tx: ControlTransaction, known: User, wanted: Wanted): Promise<Entered> {
  const other = await findUserByEmail(tx, wanted.email);
  const isFree = other === undefined || other.id === known.id;
  const after = { ...wanted, email: isFree ? wanted.email : known.email };
  const { email, name, role, roles } = known;
  const before = { email, name, role, roles };
  await updateUser(tx, { id: known.id, ...after });
  if (known.role === 'owner' && after.role !== 'owner') await removeInvitationsBy(tx, known.id);
  return { user: { ...known, ...after }, what: 'signed-in', details: describeChange(before, after) };
}
