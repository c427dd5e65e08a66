import type { UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Change, PageRequest, Projects } from '../../projects/projects.ts';
import { createShortCache, readPlace, toPage } from '../../projects/projects.ts';
import type { Base, ControlTransaction } from '../../storage/storage.ts';
import { hashSecret, makeSecret, type SecretHash } from '../keys/keys.ts';
import { toUserCaller, type User } from './user.ts';
import {
  findSession,
  insertSession,
  noteSessionUse,
  removeOtherSessions,
  removeSession,
  removeSessionByHash,
  removeSessionsOf,
  SESSIONS,
  updateUser,
} from './user-store.ts';

const HOUR_MS = 3_600_000;
/** An idle session ends overnight, but not over lunch. Source: docs/interface §5.6 rule 6. */
export const IDLE_MS = 12 * HOUR_MS;
/** A session in use ends as well, so that the password is required once a week. */
const LIFETIME_MS = 7 * 24 * HOUR_MS;
/** Storing each use would cost a commit per request, and a limit of 12 hours does not need exact seconds. */
const USE_NOTED_EVERY_MS = 60_000;
/** The number of cached sessions, at some 500 bytes each. Fewer people use the console at the same time. */
const CACHED_SESSIONS = 5_000;
/** Browsers need 200 characters at most; a longer value is truncated. */
const USER_AGENT_LENGTH = 255;

export interface UserParts extends Pick<Base, 'clock' | 'database'> {
  readonly projects: Projects;
  /** Runs after a session or a user was written. */
  readonly onWritten: () => void;
}

/** A new session with its value, which is known only when it is opened. */
export interface OpenedSession {
  readonly value: string;
  readonly maxAgeSeconds: number;
  readonly caller: UserCaller;
  readonly user: User;
}

/** The browser that signs in: its address, its name, and its previous session. */
export interface Visitor {
  readonly address: string;
  /** The origin of its page. */
  readonly origin: string;
  readonly userAgent: string | undefined;
  /** The session value of its cookie, valid or not. */
  readonly sessionValue: string | undefined;
}

/** Returns after the write is durable and this process has cleared its cached sessions. */
export async function writeSessions<Result>(
  { database, onWritten }: Pick<UserParts, 'database' | 'onWritten'>,
  work: (tx: ControlTransaction) => Promise<Result>,
): Promise<Result> {
  const written = await database.write('all', work);
  onWritten();
  return written;
}

/** A user who signs in, with the action and details for the audit log. */
export interface Entered {
  readonly user: User;
  readonly what: string;
  readonly details?: Change['details'];
}

/**
 * Opens a session of the user that `find` finds or creates. The session always has a new value and never one from
 * the request, to prevent session fixation. The browser's previous session ends.
 */
export const enter = (
  parts: UserParts,
  { sessionValue, address, userAgent }: Visitor,
  find: (tx: ControlTransaction) => Promise<Entered>,
): Promise<OpenedSession> =>
  writeSessions(parts, async (tx) => {
    const now = parts.clock.now();
    const { user: enteredUser, what, details } = await find(tx);
    const user = { ...enteredUser, signedInAt: now };
    if (sessionValue !== undefined) await removeSessionByHash(tx, hashSecret(sessionValue));
    const value = makeSecret();
    const { id } = await insertSession(tx, {
      userId: user.id,
      hash: hashSecret(value),
      createdAt: now,
      expiresAt: now + LIFETIME_MS,
      address,
      userAgent: userAgent?.slice(0, USER_AGENT_LENGTH) ?? null,
    });
    await updateUser(tx, user.id, { signedInAt: now });
    const caller = toUserCaller(user, id);
    await parts.projects.recordChange(userChange(caller, what, details), tx);
    return { value, maxAgeSeconds: LIFETIME_MS / 1000, caller, user };
  });

/** A change that a user made to their own account. */
export function userChange(caller: UserCaller, what: string, details?: Change['details']): Change {
  const subject = { type: 'user', id: caller.userId, name: caller.userName };
  return { author: caller, action: `user.${what}`, subject, ...(details && { details }) };
}

interface FoundSession {
  readonly caller: UserCaller;
  readonly expiresAt: number;
  usedAt: number;
}

/** Runs in every request of the console, and usually answers from a cache that is at most a second old. */
export function createSessionFinder({ database, clock }: Pick<UserParts, 'database' | 'clock'>) {
  const sessions = createShortCache<SecretHash, FoundSession>(clock, CACHED_SESSIONS);

  async function read(hash: SecretHash): Promise<FoundSession | undefined> {
    const stored = await findSession(database.read, hash);
    if (stored === undefined) return undefined;
    const { id, usedAt, expiresAt } = stored.session;
    return { caller: toUserCaller(stored.user, id), expiresAt, usedAt };
  }

  async function noteUse(session: FoundSession, now: number): Promise<void> {
    if (now - session.usedAt < USE_NOTED_EVERY_MS) return;
    session.usedAt = now;
    // Reading must work while the disk is full. The first use after a minute tries to write again.
    await noteSessionUse(database, session.caller.sessionId, now).catch(() => {});
  }

  return {
    /** @throws not_signed_in if the session does not exist or has ended */
    async findUser(value: string): Promise<UserCaller> {
      const hash = hashSecret(value);
      const session = await sessions.get(hash, () => read(hash));
      const now = clock.now();
      if (session === undefined || session.expiresAt <= now || session.usedAt + IDLE_MS <= now) {
        throw new ServiceError('not_signed_in');
      }
      await noteUse(session, now);
      return session.caller;
    },
    /** Call it after a session or a user was written. */
    dropCache: () => sessions.drop(),
  };
}

/**
 * Lists and ends a user's sessions. An ended session is refused as soon as the call returns.
 * Source: docs/interface §5.6.
 */
export function createOwnSessions(parts: UserParts) {
  const { database, clock, projects } = parts;
  const end = (change: Change, work: (tx: ControlTransaction) => Promise<unknown>): Promise<void> =>
    writeSessions(parts, async (tx) => {
      await work(tx);
      await projects.recordChange(change, tx);
    });
  return {
    /** Lists the sessions that have not ended, ordered by id. */
    async listSessions({ userId }: UserCaller, page: PageRequest) {
      const position = readPlace(page);
      const now = clock.now();
      const present = { userId, expiresAfter: now, usedAfter: now - IDLE_MS };
      return toPage(await SESSIONS.list(database.read, present, position), position);
    },
    /** Ends the caller's session. */
    signOut: (caller: UserCaller) =>
      end(userChange(caller, 'signed-out'), (tx) =>
        removeSession(tx, { id: caller.sessionId, userId: caller.userId }),
      ),
    /** @throws not_found for a session that has ended or belongs to another user */
    endSession: (caller: UserCaller, id: number) =>
      end(userChange(caller, 'session-ended', { session: id }), async (tx) => {
        if (!(await removeSession(tx, { id, userId: caller.userId }))) throw new ServiceError('not_found');
      }),
    endOtherSessions: (caller: UserCaller) =>
      end(userChange(caller, 'other-sessions-ended'), (tx) =>
        removeOtherSessions(tx, { current: caller.sessionId, userId: caller.userId }),
      ),
    signOutEverywhere: (caller: UserCaller) =>
      end(userChange(caller, 'signed-out-everywhere'), (tx) => removeSessionsOf(tx, caller.userId)),
  };
}
