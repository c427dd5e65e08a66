import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../storage/storage.ts';
import { hostOf } from './passkey-check.ts';
import { insertChallenge, listPasskeys, type Passkey, type Purpose } from './passkey-store.ts';
import { hashSecret, makeSecret, type User } from './user.ts';

/** What a browser asks an authenticator for. */
export interface PasskeyWish {
  /** Good once, for a few minutes. */
  readonly challenge: string;
  readonly host: string;
  readonly passkeys: readonly Pick<Passkey, 'credentialId' | 'transports'>[];
}

const CHALLENGE_MS = 5 * 60_000;
/** Windows in which one person signs in at the same time. */
const CHALLENGES = 5;

/** @returns what the browser of this user has to show as well */
export async function wishPasskey(
  { database, clock }: { database: Database; clock: Clock },
  { id: userId }: Pick<User, 'id'>,
  { purpose, origin }: { purpose: Purpose; origin: string },
): Promise<PasskeyWish> {
  const host = hostOf(origin);
  const challenge = makeSecret();
  const expiresAt = clock.now() + CHALLENGE_MS;
  await database.write((tx) =>
    insertChallenge(tx, { hash: hashSecret(challenge), userId, purpose, expiresAt }, CHALLENGES),
  );
  const passkeys = await listPasskeys(database.read, userId);
  return { challenge, host, passkeys };
}
