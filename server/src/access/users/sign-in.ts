import type { UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Account } from '../../projects/projects.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import { enter, type OpenedSession, type UserParts, type Visitor } from './console-session.ts';
import { challengePasskey } from './passkeys.ts';
import { hashPassword, isPassword, type PasswordLimit, refuseWeakPassword } from './password.ts';
import { normalizeEmail, type User } from './user.ts';
import { findUser, removeSessionsOf, type StoredUser, updateUser } from './user-store.ts';

/** The delay before a retry. It is long, because an operator has to free space first. */
const FULL_RETRY_SECONDS = 60;

interface SignInParts extends UserParts {
  readonly limit: PasswordLimit;
}

/** Creates the sign-in with a password. The audit log records each sign-in. Source: docs/interface §5.6. */
export function createSignIn(parts: SignInParts) {
  const { database, projects } = parts;
  return {
    /** Refuses an unknown address like a wrong password. @throws sign_in_refused, sign_in_limited, sign_in_unstored */
    signIn: (given: Credentials, visitor: Visitor) => signIn(parts, given, visitor).catch(refuseOnFullDisk),

    /** @throws not_signed_in if the user was just deleted */
    async describeUser(caller: UserCaller): Promise<{ user: User; account: Account }> {
      return { user: await getOwn(database, caller), account: await projects.getAccount(caller.accountId) };
    },

    /**
     * Ends all sessions of the user, because another person may have one, and opens a new session.
     * @throws password_wrong, sign_in_limited, request_invalid
     */
    async changePassword(
      caller: UserCaller,
      given: { readonly current: string; readonly new: string },
      visitor: Visitor,
    ): Promise<OpenedSession> {
      const user = await getOwn(database, caller);
      refuseWeakPassword('new', given.new, user);
      const attempt = { email: user.email, address: visitor.address };
      await parts.limit.count(attempt);
      if (!(await isPassword(given.current, user.passwordHash))) throw new ServiceError('password_wrong');
      const passwordHash = await hashPassword(given.new);
      const opened = await enter(parts, visitor, async (tx) => {
        const present = await getUnchanged(tx, user);
        await updateUser(tx, user.id, { passwordHash });
        await removeSessionsOf(tx, user.id);
        return { user: present, what: 'password-changed' };
      });
      await parts.limit.forgive(attempt);
      return opened;
    },
  };
}

interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** @returns a session, or a challenge if the user has passkeys */
async function signIn(parts: SignInParts, given: Credentials, visitor: Visitor) {
  const { database, limit } = parts;
  const attempt = { email: normalizeEmail(given.email), address: visitor.address };
  await limit.count(attempt);
  const user = await findUser(database.read, { email: attempt.email });
  const isRight = await isPassword(given.password, user?.passwordHash);
  if (user === undefined || !isRight) throw new ServiceError('sign_in_refused');
  // Only the passkey cancels the counted attempt: a correct password alone must not allow unlimited attempts.
  if (user.passkeys > 0) return challengePasskey(parts, user, { purpose: 'sign-in', origin: visitor.origin });
  const opened = await enter(parts, visitor, async (tx) => ({
    user: await getUnchanged(tx, user),
    what: 'signed-in',
  }));
  await limit.forgive(attempt);
  return opened;
}

async function getOwn(database: Database, { userId }: UserCaller): Promise<StoredUser> {
  const user = await findUser(database.read, { id: userId });
  if (user === undefined) throw new ServiceError('not_signed_in');
  return user;
}

/** On a full disk the service cannot count attempts, and it checks a password only after counting the attempt. */
function refuseOnFullDisk(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== 'storage_full') throw error;
  throw new ServiceError('sign_in_unstored', { retryAfterSeconds: FULL_RETRY_SECONDS, cause: error });
}

/** Refuses a user who was deleted, changed the password or added a first passkey since the password was checked. */
async function getUnchanged(tx: ControlTransaction, user: StoredUser): Promise<User> {
  const present = await findUser(tx, { id: user.id });
  const hasFewerFactors = user.passkeys === 0 && present !== undefined && present.passkeys > 0;
  if (present === undefined || present.passwordHash !== user.passwordHash || hasFewerFactors)
    throw new ServiceError('sign_in_refused');
  return present;
}
