import type { UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type ListPage, type PageWish, readPlace, toPage } from '../../projects/projects.ts';
import { openSessionsAt } from './console-session.ts';
import {
  type ConsoleSession,
  listSessions,
  removeOtherSessions,
  removeSession,
  removeSessionsOf,
} from './console-session-store.ts';
import { type SignInParts, userChange, writeSessions } from './sign-in.ts';

/** What a user sees and ends of their own; what ended is refused from the moment a call returns. Source: docs/interface.md §5.6. */
export interface OwnSessions {
  /** Those that have not ended, by id. */
  listSessions(caller: UserCaller, wish: PageWish): Promise<ListPage<ConsoleSession>>;
  /** The session of the caller. */
  signOut(caller: UserCaller): Promise<void>;
  /** @throws not_found for a session that has ended or belongs to somebody else */
  endSession(caller: UserCaller, id: number): Promise<void>;
  endOtherSessions(caller: UserCaller): Promise<void>;
  signOutEverywhere(caller: UserCaller): Promise<void>;
}

export function createOwnSessions(
  parts: Pick<SignInParts, 'database' | 'clock' | 'projects' | 'onWritten'>,
): OwnSessions {
  const { database, clock, projects } = parts;
  return {
    async listSessions({ userId }, wish) {
      const place = readPlace(wish);
      const filter = { userId, place, ...openSessionsAt(clock.now()) };
      return toPage(await listSessions(database.read, filter), place);
    },
    signOut: (caller) =>
      writeSessions(parts, async (tx) => {
        await removeSession(tx, { id: caller.sessionId, userId: caller.userId });
        await projects.recordChange(userChange(caller, 'signed-out'), tx);
      }),
    endSession: (caller, id) =>
      writeSessions(parts, async (tx) => {
        const wasThere = await removeSession(tx, { id, userId: caller.userId });
        if (!wasThere) throw new ServiceError('not_found');
        await projects.recordChange({ ...userChange(caller, 'session-ended'), details: { session: id } }, tx);
      }),
    endOtherSessions: (caller) =>
      writeSessions(parts, async (tx) => {
        await removeOtherSessions(tx, { kept: caller.sessionId, userId: caller.userId });
        await projects.recordChange(userChange(caller, 'other-sessions-ended'), tx);
      }),
    signOutEverywhere: (caller) =>
      writeSessions(parts, async (tx) => {
        await removeSessionsOf(tx, caller.userId);
        await projects.recordChange(userChange(caller, 'signed-out-everywhere'), tx);
      }),
  };
}
