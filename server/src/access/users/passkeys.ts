import { isIP } from 'node:net';
import type { Static } from 'typebox';
import type { UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { hashSecret, makeSecret } from '../keys/keys.ts';
import {
  enter,
  type OpenedSession,
  type UserParts,
  userChange,
  type Visitor,
  writeSessions,
} from './console-session.ts';
import type { NewPasskey, PasskeySignature } from './passkey-schemas.ts';
import type { PasswordLimit } from './password.ts';
import { invalid, type User } from './user.ts';
import {
  findUser,
  hasCredential,
  insertChallenge,
  insertPasskey,
  listPasskeys,
  notePasskeyUse,
  type Passkey,
  type Purpose,
  removePasskeys,
  takeChallenge,
} from './user-store.ts';

/** Enough for the devices of a person and a spare passkey. */
const PASSKEYS = 10;
const CHALLENGE_MS = 5 * 60_000;
/** The number of browser windows in which a person can sign in at the same time. */
const CHALLENGES = 5;

/** What the browser needs to use or make a passkey. */
export interface PasskeyChallenge {
  /** Works once, within a few minutes. */
  readonly challenge: string;
  readonly host: string;
  readonly passkeys: readonly Pick<Passkey, 'credentialId' | 'transports'>[];
}

/** Creates a challenge for the user's browser to add or use a passkey. @throws request_invalid for an IP address */
export async function challengePasskey(
  { database, clock }: Pick<UserParts, 'database' | 'clock'>,
  { id: userId }: Pick<User, 'id'>,
  { purpose, origin }: { purpose: Purpose; origin: string },
): Promise<PasskeyChallenge> {
  const host = hostOf(origin);
  const challenge = makeSecret();
  const expiresAt = clock.now() + CHALLENGE_MS;
  await database.write('all', (tx) =>
    insertChallenge(tx, { hash: hashSecret(challenge), userId, purpose, expiresAt }, CHALLENGES),
  );
  return { challenge, host, passkeys: await listPasskeys(database.read, userId) };
}

interface PasskeyParts extends UserParts {
  readonly limit: PasswordLimit;
}

/** The second factor of users with a password. Source: docs/interface §5.8. */
export function createPasskeys(parts: PasskeyParts) {
  const { database, projects } = parts;
  return {
    listPasskeys: ({ userId }: UserCaller): Promise<Passkey[]> => listPasskeys(database.read, userId),

    /** @throws request_invalid for a user with a company account, or with the maximum number of passkeys */
    async beginPasskey({ userId }: UserCaller, origin: string): Promise<PasskeyChallenge> {
      const user = await findUser(database.read, { id: userId });
      if (user === undefined) throw new ServiceError('not_signed_in');
      if (user.passwordHash === undefined)
        throw invalid('passkeys are only for users with a password: use the second factor of your provider');
      if (user.passkeys >= PASSKEYS)
        throw invalid(`a user can have at most ${PASSKEYS} passkeys: remove one first`);
      return await challengePasskey(parts, user, { purpose: 'add', origin });
    },

    /** @throws attempt_ended, passkey_refused, request_invalid */
    addPasskey: (caller: UserCaller, given: Static<typeof NewPasskey>, origin: string) =>
      addPasskey(parts, caller, { given, origin }),

    /** @throws not_found */
    removePasskey: (caller: UserCaller, id: number): Promise<void> =>
      writeSessions(parts, async (tx) => {
        const [removed] = await removePasskeys(tx, { userId: caller.userId, id });
        if (removed === undefined) throw new ServiceError('not_found');
        await projects.recordChange(userChange(caller, 'passkey-removed', { passkey: removed.name }), tx);
      }),

    /** The second step of a sign-in. @throws attempt_ended, passkey_refused */
    signInByPasskey: (given: Static<typeof PasskeySignature>, visitor: Visitor): Promise<OpenedSession> =>
      signInByPasskey(parts, given, visitor),
  };
}

async function addPasskey(
  parts: PasskeyParts,
  caller: UserCaller,
  { given, origin }: { readonly given: Static<typeof NewPasskey>; readonly origin: string },
): Promise<Passkey> {
  const { clock, projects } = parts;
  const { challenge, userId } = await takeAttempt(parts, given.clientDataJSON, 'add');
  if (userId !== caller.userId) throw new ServiceError('attempt_ended');
  const made = await checkNewPasskey(given, { challenge, origin });
  return await writeSessions(parts, async (tx) => {
    if (await hasCredential(tx, made.credentialId)) throw invalid('this passkey is already registered');
    const user = await findUser(tx, { id: userId });
    if (user === undefined || user.passkeys >= PASSKEYS) throw new ServiceError('attempt_ended');
    const passkey = await insertPasskey(tx, {
      ...made,
      userId,
      name: given.name,
      host: hostOf(origin),
      createdAt: clock.now(),
    });
    await projects.recordChange(userChange(caller, 'passkey-added', { passkey: passkey.name }), tx);
    return passkey;
  });
}

async function signInByPasskey(
  parts: PasskeyParts,
  given: Static<typeof PasskeySignature>,
  visitor: Visitor,
): Promise<OpenedSession> {
  const { database, clock, limit } = parts;
  const { challenge, userId } = await takeAttempt(parts, given.clientDataJSON, 'sign-in');
  const passkeys = await listPasskeys(database.read, userId);
  const passkey = passkeys.find(({ credentialId }) => credentialId === given.id);
  if (passkey === undefined) throw new ServiceError('passkey_refused');
  const counter = await checkSignature(given, { challenge, origin: visitor.origin }, passkey);
  const opened = await enter(parts, visitor, async (tx) => {
    const user = await findUser(tx, { id: userId });
    // Refuses a passkey that was removed, or used with the same count, since it was read.
    const isNoted = await notePasskeyUse(tx, passkey, { counter, usedAt: clock.now() });
    if (!isNoted || user === undefined) throw new ServiceError('passkey_refused');
    return { user, what: 'signed-in', details: { passkey: passkey.name } };
  });
  await limit.forgive({ email: opened.user.email, address: visitor.address });
  return opened;
}

/**
 * Removes the challenge before anything is checked, so that it allows one attempt.
 * @throws attempt_ended, passkey_refused
 */
async function takeAttempt(
  { database, clock }: Pick<UserParts, 'database' | 'clock'>,
  clientDataJSON: string,
  purpose: Purpose,
) {
  const challenge = readChallenge(clientDataJSON);
  const hash = hashSecret(challenge);
  const userId = await database.write('all', (tx) => takeChallenge(tx, { hash, purpose, now: clock.now() }));
  if (userId === undefined) throw new ServiceError('attempt_ended');
  return { challenge, userId };
}

/** ES256, EdDSA and RS256; every authenticator supports one of them. Source: IANA COSE Algorithms. */
export const ALGORITHMS = [-7, -8, -257];

/** @returns the host to which browsers bind passkeys. @throws request_invalid for an IP address, which they refuse */
function hostOf(origin: string): string {
  const { hostname } = new URL(origin);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) return hostname;
  throw invalid(
    'browsers do not support passkeys at an IP address: open the console at a host name, such as localhost',
  );
}

/** @returns the challenge of the attempt, which is not verified yet. @throws passkey_refused */
function readChallenge(clientDataJSON: string): string {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString());
    if (typeof challenge === 'string') return challenge;
  } catch {
    // The statement after this block refuses invalid JSON.
  }
  throw new ServiceError('passkey_refused');
}

interface Expected {
  readonly challenge: string;
  readonly origin: string;
}

const common = ({ challenge, origin }: Expected) => ({
  expectedChallenge: challenge,
  expectedOrigin: origin,
  expectedRPID: hostOf(origin),
  // The password has identified the user; the passkey only has to be present.
  requireUserVerification: false,
});

const describeResponse = <Response>(id: string, response: Response) => ({
  id,
  rawId: id,
  type: 'public-key' as const,
  clientExtensionResults: {},
  response,
});

/** @throws passkey_refused */
async function checkNewPasskey(
  { id, clientDataJSON, attestationObject, transports = [] }: Static<typeof NewPasskey>,
  expected: Expected,
): Promise<Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports'>> {
  return refuseUnfit(async () => {
    // Loaded with the first passkey, because few processes need these 24 packages.
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
    const statement = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('attStmt');
    // Certificates were not requested. To verify them, the package would fetch the URLs in them.
    if (statement.get('x5c') !== undefined || statement.get('ver') !== undefined)
      throw new Error('certified');
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      ...common(expected),
      response: describeResponse(id, { clientDataJSON, attestationObject }),
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) throw new Error('not verified');
    const { credential } = registrationInfo;
    const publicKey = Buffer.from(credential.publicKey).toString('base64url');
    return { credentialId: credential.id, publicKey, counter: credential.counter, transports };
  });
}

/**
 * @returns the new count of signatures
 * @throws passkey_refused if the signature is wrong or the count did not increase
 */
async function checkSignature(
  { id, clientDataJSON, authenticatorData, signature }: Static<typeof PasskeySignature>,
  expected: Expected,
  { publicKey, counter }: Passkey,
): Promise<number> {
  return refuseUnfit(async () => {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...common(expected),
      response: describeResponse(id, { clientDataJSON, authenticatorData, signature }),
      credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter },
    });
    if (!verified) throw new Error('the signature is wrong');
    return authenticationInfo.newCounter;
  });
}

/** Turns every error that the package throws for invalid input into a refusal. */
async function refuseUnfit<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('passkey_refused', { cause: error });
  }
}
