import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  csrfTokenOf,
  ListQuery,
  type Routes,
  type Server,
  type SessionCookie,
  serve,
} from '../../http/http.ts';
import { isUser, type UserCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Access } from '../access.ts';
import { DoneAnswer } from '../keys/keys.ts';
import type { OpenedSession, Visitor } from './console-session.ts';
import {
  Credentials,
  InvitationAcceptance,
  NewOwner,
  PasswordChange,
  SessionPage,
  SignedIn,
  SignOutQuery,
  toSignedIn,
  toWireSession,
  UserParams,
} from './user-schemas.ts';

export interface SessionRouteParts {
  readonly access: Access;
  readonly cookie: SessionCookie;
}

/** 16 KiB hold the longest of each field, escaped: more would be memory that anybody can have held. */
const open = { guard: 'sign-in', maxBodyMib: 1 / 64 } as const;
/** Signing in and out is for every role. */
const own = { guard: 'session', role: 'viewer' } as const;
const tags = ['Sign in'];
const done = { status: 'success' } as const;
const answer = { 200: SignedIn };

/** Source: docs/interface.md §5.6. */
export const sessionRoutes =
  (parts: SessionRouteParts): Routes =>
  (server) => {
    serveSignIn(server, parts);
    serveLinks(server, parts);
    serveSession(server, parts);
    serveSignOut(server, parts);
    serveOwnSessions(server, parts);
  };

function serveSignIn(server: Server, parts: SessionRouteParts): void {
  const endpoint = {
    method: 'POST',
    path: '/management/session',
    config: open,
    ...{ tags, summary: 'Sign in to the console', body: Credentials, answer },
  } as const;
  serve(server, endpoint, async (request, reply) => {
    const opened = await parts.access.signIn(request.body, visitorOf(parts, request));
    return answerOpened(parts, reply, opened);
  });
}

function serveLinks(server: Server, parts: SessionRouteParts): void {
  const about = { config: open, tags, answer };
  const owner = {
    ...about,
    method: 'POST',
    path: '/management/owner',
    summary: 'Become an owner by the link of the start or of `relata owner-link`',
    body: NewOwner,
  } as const;
  serve(server, owner, async (request, reply) => {
    const opened = await parts.access.createOwner(request.body, visitorOf(parts, request));
    return answerOpened(parts, reply, opened);
  });

  const accept = {
    ...about,
    method: 'POST',
    path: '/management/invitations/accept',
    summary: 'Become a user by an invitation',
    body: InvitationAcceptance,
  } as const;
  serve(server, accept, async (request, reply) => {
    const opened = await parts.access.acceptInvitation(request.body, visitorOf(parts, request));
    return answerOpened(parts, reply, opened);
  });
}

function serveSession(server: Server, parts: SessionRouteParts): void {
  const about = { config: own, tags, answer };
  const read = { ...about, method: 'GET', path: '/management/session', summary: 'Who is signed in' } as const;
  serve(server, read, async (request) => {
    const described = await parts.access.describeUser(userOf(request));
    return toSignedIn(described, csrfTokenOf(parts.cookie.read(request) ?? ''));
  });

  const password = {
    ...about,
    method: 'POST',
    path: '/management/session/password',
    summary: 'Change the own password',
    description: 'All sessions of the user end. The answer brings a new one, with a new `csrfToken`.',
    body: PasswordChange,
  } as const;
  serve(server, password, async (request, reply) => {
    const { current, new: next } = request.body;
    const visitor = visitorOf(parts, request);
    const opened = await parts.access.changePassword(userOf(request), { current, next }, visitor);
    return answerOpened(parts, reply, opened);
  });
}

function serveSignOut(server: Server, { access, cookie }: SessionRouteParts): void {
  const about = { config: own, tags, answer: { 200: DoneAnswer } };
  const here = {
    ...about,
    method: 'DELETE',
    ...{ path: '/management/session', summary: 'Sign out here' },
  } as const;
  serve(server, here, async (request, reply) => {
    await access.signOut(userOf(request));
    cookie.clear(reply);
    return done;
  });

  const everywhere = {
    ...about,
    method: 'DELETE',
    ...{ path: '/management/sessions', query: SignOutQuery },
    summary: 'Sign out everywhere, or everywhere else',
  } as const;
  serve(server, everywhere, async (request, reply) => {
    const user = userOf(request);
    if (request.query.others === true) {
      await access.endOtherSessions(user);
      return done;
    }
    await access.signOutEverywhere(user);
    cookie.clear(reply);
    return done;
  });
}

function serveOwnSessions(server: Server, { access, cookie }: SessionRouteParts): void {
  const about = { config: own, tags };
  const list = {
    ...about,
    method: 'GET',
    path: '/management/sessions',
    summary: 'List your own sessions',
    ...{ query: ListQuery, answer: { 200: SessionPage } },
  } as const;
  serve(server, list, async (request) => {
    const user = userOf(request);
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
    const user = userOf(request);
    await access.endSession(user, request.params.id);
    if (request.params.id === user.sessionId) cookie.clear(reply);
    return done;
  });
}

async function answerOpened(
  { access, cookie }: SessionRouteParts,
  reply: FastifyReply,
  { value, maxAgeSeconds, caller }: OpenedSession,
) {
  const described = await access.describeUser(caller);
  cookie.write(reply, value, maxAgeSeconds);
  return toSignedIn(described, csrfTokenOf(value));
}

function visitorOf({ cookie }: SessionRouteParts, request: FastifyRequest): Visitor {
  return {
    address: request.ip,
    userAgent: request.headers['user-agent'],
    sessionValue: cookie.read(request),
  };
}

/** The guard admits only sessions here. */
function userOf({ caller }: FastifyRequest): UserCaller {
  if (!isUser(caller)) throw new ServiceError('not_signed_in');
  return caller;
}
