import {
  DoneAnswer,
  done,
  ListQuery,
  type Routes,
  type Server,
  type SessionCookie,
  serve,
} from '../../http/http.ts';
import type { Access } from '../access.ts';
import { consoleUrl } from './console-links.ts';
import { userOf } from './user.ts';
import { SessionPage, SignedOut, SignOutQuery, toWireSession, UserParams } from './user-schemas.ts';

export interface OwnSessionRouteParts {
  readonly access: Access;
  readonly cookie: SessionCookie;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
}

/** For every role. */
const own = { guard: 'session', role: 'viewer' } as const;
const tags = ['Sign in'];

/** What users see of their sessions, and how they end them. Source: docs/interface.md §5.6. */
export const ownSessionRoutes =
  (parts: OwnSessionRouteParts): Routes =>
  (server) => {
    serveSignOut(server, parts);
    serveOwnSessions(server, parts);
  };

function serveSignOut(server: Server, { access, cookie, findBaseUrl }: OwnSessionRouteParts): void {
  const about = { config: own, tags };
  const here = {
    ...about,
    answer: { 200: SignedOut },
    method: 'DELETE',
    ...{ path: '/management/session', summary: 'Sign out here' },
  } as const;
  serve(server, here, async (request, reply) => {
    const user = userOf(request.caller);
    await access.signOut(user);
    cookie.clear(reply);
    const url = await access.findProviderSignOut(user, consoleUrl(findBaseUrl()));
    return { ...done, ...(url !== undefined && { providerSignOutUrl: url }) };
  });

  const everywhere = {
    ...about,
    method: 'DELETE',
    ...{ path: '/management/sessions', query: SignOutQuery, answer: { 200: DoneAnswer } },
    summary: 'Sign out everywhere, or everywhere else',
  } as const;
  serve(server, everywhere, async (request, reply) => {
    const user = userOf(request.caller);
    if (request.query.others === true) {
      await access.endOtherSessions(user);
      return done;
    }
    await access.signOutEverywhere(user);
    cookie.clear(reply);
    return done;
  });
}

function serveOwnSessions(server: Server, { access, cookie }: OwnSessionRouteParts): void {
  const about = { config: own, tags };
  const list = {
    ...about,
    method: 'GET',
    path: '/management/sessions',
    summary: 'List your own sessions',
    ...{ query: ListQuery, answer: { 200: SessionPage } },
  } as const;
  serve(server, list, async (request) => {
    const user = userOf(request.caller);
    const { items, nextCursor } = await access.listSessions(user, request.query);
    return { items: items.map((one) => toWireSession(one, user.sessionId)), nextCursor };
  });

  const end = {
    ...about,
    method: 'DELETE',
    path: '/management/sessions/:id',
    summary: 'End one of your own sessions',
    ...{ params: UserParams, answer: { 200: DoneAnswer } },
  } as const;
  serve(server, end, async (request, reply) => {
    const user = userOf(request.caller);
    await access.endSession(user, request.params.id);
    if (request.params.id === user.sessionId) cookie.clear(reply);
    return done;
  });
}
