import type { UserCaller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Account, Change, Projects } from '../../projects/projects.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import { type OpenedSession, openSession, type Visitor } from './console-session.ts';
import { removeSessionsOf } from './console-session-store.ts';
import { type PasskeyWish, wishPasskey } from './passkey-wish.ts';
import { hashPassword, isPassword, refuseWeakPassword } from './password.ts';
import type { PasswordLimit } from './password-limit.ts';
import { normalizeEmail, type User } from './user.ts';
import { findUser, findUserByEmail, type StoredUser, updateUser } from './user-store.ts';

interface Credentials {
  readonly email: string;
  readonly password: string;
}

interface PasswordChange {
  readonly current: string;
  readonly next: string;
}

/** Signing in, each time in the audit log. Source: docs/interface.md §5.6. */
export interface SignIn {
  /** An unknown address and a wrong password are alike. @throws sign_in_refused, _limited, _unstored */
  signIn(given: Credentials, visitor: Visitor): Promise<OpenedSession | PasskeyWish>;
  /** @throws not_signed_in when the user was deleted a moment ago */
  describeUser(caller: UserCaller): Promise<{ user: User; account: Account }>;
  /**
   * Ends all sessions of the user, who may have changed it because somebody else has one, and opens a new one.
   * @throws password_wrong, sign_in_limited, request_invalid
   */
  changePassword(caller: UserCaller, given: PasswordChange, visitor: Visitor): Promise<OpenedSession>;
}

/** Somebody has to make room first. */
const FULL_RETRY_SECONDS = 60;

export interface SignInParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly projects: Projects;
  readonly limit: PasswordLimit;
  /** Runs after a session or a user was written. */
  readonly onWritten: () => void;
}

export function createSignIn(parts: SignInParts): SignIn {
  const { database, projects } = parts;
  return {
    signIn: (given, visitor) => signIn(parts, given, visitor).catch(refuseOnFullDisk),
    async describeUser(caller) {
      const user = await findUser(database.read, { id: caller.userId, accountId: caller.accountId });
      if (user === undefined) throw new ServiceError('not_signed_in');
      return { user, account: await projects.getAccount(user.accountId) };
    },
    changePassword: (caller, given, visitor) => changePassword(parts, { caller, given, visitor }),
  };
}

/** Neither attempts nor sessions can be stored, and without a count of attempts no password is checked. */
function refuseOnFullDisk(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== 'storage_full') throw error;
  throw new ServiceError('sign_in_unstored', { retryAfterSeconds: FULL_RETRY_SECONDS, cause: error });
}

/** Nothing is answered before the write is durable and this process has forgotten the sessions as they were. */
export async function writeSessions<Result>(
  { database, onWritten }: Pick<SignInParts, 'database' | 'onWritten'>,
  work: (tx: ControlTransaction) => Promise<Result>,
): Promise<Result> {
  const written = await database.write(work);
  onWritten();
  return written;
}

/** What a user did as themselves. */
export function userChange(caller: UserCaller, what: string): Change {
  const subject = { type: 'user', id: caller.userId, name: caller.userName };
  return { author: caller, action: `user.${what}`, subject };
}

async function signIn(
  parts: SignInParts,
  given: Credentials,
  visitor: Visitor,
): Promise<OpenedSession | PasskeyWish> {
  const { database, clock, projects, limit } = parts;
  const attempt = { email: normalizeEmail(given.email), address: visitor.address };
  await limit.count(attempt);
  const user = await findUserByEmail(database.read, attempt.email);
  const isRight = await isPassword(given.password, user?.passwordHash);
  if (user === undefined || !isRight) throw new ServiceError('sign_in_refused');
  // The attempt is forgiven with the passkey: who has only the password does not begin without end.
  if (user.passkeys > 0) return wishPasskey(parts, user, { purpose: 'sign-in', origin: visitor.origin });
  const opened = await writeSessions(parts, async (tx) => {
    const present = await getUnchanged(tx, user);
    const session = await openSession(tx, { user: present, now: clock.now(), visitor });
    await projects.recordChange(userChange(session.caller, 'signed-in'), tx);
    return session;
  });
  await limit.forgive(attempt);
  return opened;
}

/** A user who was deleted, or whose password changed, since the check cannot sign in with the old one. */
async function getUnchanged(tx: ControlTransaction, user: StoredUser): Promise<StoredUser> {
  const present = await findUser(tx, user);
  const hasFewerFactors = user.passkeys === 0 && present !== undefined && present.passkeys > 0;
  if (present === undefined || present.passwordHash !== user.passwordHash || hasFewerFactors)
    throw new ServiceError('sign_in_refused');
  return present;
}

async function changePassword(
  parts: SignInParts,
  { caller, given, visitor }: { caller: UserCaller; given: PasswordChange; visitor: Visitor },
): Promise<OpenedSession> {
  const { database, clock, projects, limit } = parts;
  const user = await findUser(database.read, { id: caller.userId, accountId: caller.accountId });
  if (user === undefined) throw new ServiceError('not_signed_in');
  refuseWeakPassword('new', given.next, user);
  const attempt = { email: user.email, address: visitor.address };
  await limit.count(attempt);
  if (!(await isPassword(given.current, user.passwordHash))) throw new ServiceError('password_wrong');
  const passwordHash = await hashPassword(given.next);
  const opened = await writeSessions(parts, async (tx) => {
    const present = await getUnchanged(tx, user);
    await updateUser(tx, { id: user.id, passwordHash });
    await removeSessionsOf(tx, user.id);
    const session = await openSession(tx, { user: present, now: clock.now(), visitor });
    await projects.recordChange(userChange(session.caller, 'password-changed'), tx);
    return session;
  });
  await limit.forgive(attempt);
  return opened;
}
