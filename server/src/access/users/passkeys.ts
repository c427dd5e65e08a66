import type { Caller, UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Beside } from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import { type OpenedSession, openSession, type Visitor } from './console-session.ts';
import {
  checkNewPasskey,
  checkSignature,
  hostOf,
  readChallenge,
  type SentPasskey,
  type SentSignature,
} from './passkey-check.ts';
import {
  hasCredential,
  insertPasskey,
  listPasskeys,
  notePasskeyUse,
  type Passkey,
  type Purpose,
  removePasskeys,
  takeChallenge,
} from './passkey-store.ts';
import { type PasskeyWish, wishPasskey } from './passkey-wish.ts';
import { type SignInParts, userChange, writeSessions } from './sign-in.ts';
import { hashSecret } from './user.ts';
import { getUser, refuseUnlessOwner } from './user-management.ts';
import { findUser, type StoredUser } from './user-store.ts';

/** The second factor of users with a password. Source: docs/interface.md §5.8. */
export interface Passkeys {
  listPasskeys(caller: UserCaller): Promise<Passkey[]>;
  /** @throws request_invalid for a user with a company account, and beyond the limit */
  beginPasskey(caller: UserCaller, origin: string): Promise<PasskeyWish>;
  /** @throws attempt_ended, passkey_refused, request_invalid */
  addPasskey(caller: UserCaller, given: SentPasskey & { name: string }, origin: string): Promise<Passkey>;
  /** @throws not_found */
  removePasskey(caller: UserCaller, id: number): Promise<void>;
  /** Of somebody who lost them. @throws not_found, role_refused */
  removePasskeysOf(author: Caller, userId: number, beside?: Beside<void>): Promise<void>;
  /** The second step of a sign-in. @throws attempt_ended, passkey_refused */
  signInByPasskey(given: SentSignature, visitor: Visitor): Promise<OpenedSession>;
}

/** Devices of one person, and one in a safe. */
const PASSKEYS = 10;

export function createPasskeys(parts: SignInParts): Passkeys {
  const { database, projects } = parts;
  return {
    listPasskeys: ({ userId }) => listPasskeys(database.read, userId),
    async beginPasskey(caller, origin) {
      const user = await getOwn(parts, caller);
      if (user.passwordHash === undefined) {
        throw invalid(
          'passkeys are asked for after a password: your provider asks for its own second factor',
        );
      }
      if (user.passkeys >= PASSKEYS)
        throw invalid(`a user has ${PASSKEYS} passkeys at most: remove one first`);
      return wishPasskey(parts, user, { purpose: 'add', origin });
    },
    addPasskey: (caller, given, origin) => addPasskey(parts, { caller, given, origin }),
    removePasskey: (caller, id) =>
      writeSessions(parts, async (tx) => {
        const [gone] = await removePasskeys(tx, { userId: caller.userId, id });
        if (gone === undefined) throw new ServiceError('not_found');
        const details = { passkey: gone.name };
        await projects.recordChange({ ...userChange(caller, 'passkey-removed'), details }, tx);
      }),
    async removePasskeysOf(author, userId, beside) {
      refuseUnlessOwner(author);
      await writeSessions(parts, async (tx) => {
        const { name } = await getUser(tx, author, userId);
        const gone = await removePasskeys(tx, { userId });
        const subject = { type: 'user', id: userId, name };
        const details = { passkeys: gone.map(({ name }) => name) };
        await projects.recordChange({ author, action: 'user.passkeys-removed', subject, details }, tx);
        await beside?.(tx);
      });
    },
    signInByPasskey: (given, visitor) => signInByPasskey(parts, given, visitor),
  };
}

async function getOwn({ database }: SignInParts, caller: UserCaller): Promise<StoredUser> {
  const user = await findUser(database.read, { id: caller.userId, accountId: caller.accountId });
  if (user === undefined) throw new ServiceError('not_signed_in');
  return user;
}

/** Before anything is checked: whatever was sent with a challenge, nothing else can be. @throws attempt_ended, passkey_refused */
async function takeAttempt(
  { database, clock }: SignInParts,
  clientDataJSON: string,
  purpose: Purpose,
): Promise<{ challenge: string; userId: number }> {
  const challenge = readChallenge(clientDataJSON);
  const hash = hashSecret(challenge);
  const userId = await database.write((tx) => takeChallenge(tx, { hash, purpose, now: clock.now() }));
  if (userId === undefined) throw new ServiceError('attempt_ended');
  return { challenge, userId };
}

interface PasskeyToAdd {
  readonly caller: UserCaller;
  readonly given: SentPasskey & { name: string };
  readonly origin: string;
}

async function addPasskey(parts: SignInParts, { caller, given, origin }: PasskeyToAdd): Promise<Passkey> {
  const { clock, projects } = parts;
  const { challenge, userId } = await takeAttempt(parts, given.clientDataJSON, 'add');
  if (userId !== caller.userId) throw new ServiceError('attempt_ended');
  const made = await checkNewPasskey(given, { challenge, origin });
  return writeSessions(parts, async (tx) => {
    if (await hasCredential(tx, made.credentialId)) throw invalid('this passkey is there already');
    const user = await findUser(tx, { id: userId, accountId: caller.accountId });
    if (user === undefined || user.passkeys >= PASSKEYS) throw new ServiceError('attempt_ended');
    const passkey = await insertPasskey(tx, {
      ...{ ...made, userId, name: given.name },
      ...{ host: hostOf(origin), createdAt: clock.now() },
    });
    const details = { passkey: passkey.name };
    await projects.recordChange({ ...userChange(caller, 'passkey-added'), details }, tx);
    return passkey;
  });
}

async function signInByPasskey(
  parts: SignInParts,
  given: SentSignature,
  visitor: Visitor,
): Promise<OpenedSession> {
  const { database, limit } = parts;
  const { challenge, userId } = await takeAttempt(parts, given.clientDataJSON, 'sign-in');
  const passkeys = await listPasskeys(database.read, userId);
  const passkey = passkeys.find(({ credentialId }) => credentialId === given.id);
  if (passkey === undefined) throw new ServiceError('passkey_refused');
  const counter = await checkSignature(given, { challenge, origin: visitor.origin }, passkey);
  const opened = await writeSessions(parts, (tx) => openBy(parts, { tx, passkey, counter, visitor }));
  await limit.forgive({ email: opened.user.email, address: visitor.address });
  return opened;
}

interface UsedPasskey {
  readonly tx: ControlTransaction;
  readonly passkey: Passkey;
  readonly counter: number;
  readonly visitor: Visitor;
}

async function openBy(
  { clock, projects }: SignInParts,
  { tx, passkey, counter, visitor }: UsedPasskey,
): Promise<OpenedSession> {
  const now = clock.now();
  // Removed, or used with the same count, since it was read.
  if (!(await notePasskeyUse(tx, passkey, { counter, at: now }))) throw new ServiceError('passkey_refused');
  const user = await findUser(tx, { id: passkey.userId });
  if (user === undefined) throw new ServiceError('passkey_refused');
  const session = await openSession(tx, { user, now, visitor });
  const details = { passkey: passkey.name };
  await projects.recordChange({ ...userChange(session.caller, 'signed-in'), details }, tx);
  return session;
}

const invalid = (detail: string) => new ServiceError('request_invalid', { details: [detail] });
