import type { UserCaller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { createShortCache } from '../../projects/projects.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import {
  dropSessions,
  findSession,
  insertSession,
  noteSessionUse,
  removeSessionByHash,
} from './console-session-store.ts';
import { hashSecret, makeSecret, type SecretHash, toUserCaller, type User } from './user.ts';
import { updateUser } from './user-store.ts';

const HOUR_MS = 3_600_000;
/** An idle session ends overnight, but not during lunch. Source: docs/interface.md §5.6 rule 6. */
const IDLE_MS = 12 * HOUR_MS;
/** Also for a session in use: it asks for the password once a week. */
const LIFETIME_MS = 7 * 24 * HOUR_MS;
/** A write for each request would cost a commit each; 12 hours need no seconds. */
const USE_NOTED_EVERY_MS = 60_000;
/** At some 500 bytes each; more people than these do not look at once. */
const REMEMBERED_SESSIONS = 5_000;

/** A session at the one moment at which its value is known. */
export interface OpenedSession {
  readonly value: string;
  readonly maxAgeSeconds: number;
  readonly caller: UserCaller;
  readonly user: User;
}

/** The browser: where it is, what it is, and its previous session. */
export interface Visitor {
  readonly address: string;
  /** Of its page. */
  readonly origin: string;
  readonly userAgent: string | undefined;
  /** The value of the session that its cookie holds, good or not. */
  readonly sessionValue: string | undefined;
}

interface SessionToOpen {
  readonly user: User;
  readonly now: number;
  /** The session that the browser had until now, if any, ends. */
  readonly visitor: Visitor;
}

/** Browsers need 200 characters at most; whoever sends more has it cut. */
const USER_AGENT_LENGTH = 255;

/** Always with a new value: against session fixation, one that came with the request is not used. */
export async function openSession(
  tx: ControlTransaction,
  { user, now, visitor }: SessionToOpen,
): Promise<OpenedSession> {
  const { sessionValue, address, userAgent } = visitor;
  if (sessionValue !== undefined) await removeSessionByHash(tx, hashSecret(sessionValue));
  const value = makeSecret();
  const id = await insertSession(tx, {
    userId: user.id,
    hash: hashSecret(value),
    createdAt: now,
    expiresAt: now + LIFETIME_MS,
    address,
    userAgent: userAgent?.slice(0, USER_AGENT_LENGTH) ?? null,
  });
  await updateUser(tx, { id: user.id, signedInAt: now });
  const signedIn = { ...user, signedInAt: now };
  const caller = toUserCaller(signedIn, id);
  return { value, maxAgeSeconds: LIFETIME_MS / 1000, caller, user: signedIn };
}

/** The sessions of a user that have not ended are those used after the one and ending after the other. */
export const openSessionsAt = (now: number) => ({ expiresAfter: now, usedAfter: now - IDLE_MS });

export interface SessionFinder {
  /** @throws not_signed_in when there is no such session, or it has ended */
  findUser(value: string): Promise<UserCaller>;
  /** To be called when a session or a user was written. */
  dropCache(): void;
  dropEnded(): Promise<void>;
}

interface FoundSession {
  readonly caller: UserCaller;
  readonly expiresAt: number;
  usedAt: number;
}

/** On the way of every request of the console: mostly answered from memory, which is a second old at most. */
export function createSessionFinder(database: Database, clock: Clock): SessionFinder {
  const sessions = createShortCache<SecretHash, FoundSession>(clock, REMEMBERED_SESSIONS);

  async function read(hash: SecretHash): Promise<FoundSession | undefined> {
    const found = await findSession(database.read, hash);
    if (found === undefined) return undefined;
    const { id, usedAt, expiresAt } = found.session;
    return { caller: toUserCaller(found.user, id), expiresAt, usedAt };
  }

  async function noteUse(found: FoundSession, now: number): Promise<void> {
    if (now - found.usedAt < USE_NOTED_EVERY_MS) return;
    found.usedAt = now;
    // A full disk must not keep anybody from looking; the next use a minute later tries again.
    await noteSessionUse(database, found.caller.sessionId, now).catch(() => {});
  }

  return {
    async findUser(value) {
      const hash = hashSecret(value);
      const found = await sessions.get(hash, () => read(hash));
      const now = clock.now();
      if (found === undefined || found.expiresAt <= now || found.usedAt + IDLE_MS <= now) {
        throw new ServiceError('not_signed_in');
      }
      await noteUse(found, now);
      return found.caller;
    },
    dropCache: () => sessions.drop(),
    dropEnded: () => {
      const now = clock.now();
      return dropSessions(database, { expiredAt: now, unusedSince: now - IDLE_MS });
    },
  };
}
