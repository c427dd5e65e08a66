import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type AnswerOnce,
  csrfTokenOf,
  DoneAnswer,
  done,
  ListQuery,
  type Routes,
  type Server,
  type SessionCookie,
  serve,
  serveOnce,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Access } from '../access.ts';
import type { OpenedSession, Visitor } from './console-session.ts';
import { consoleUrl, originOf, userOf } from './user.ts';
import {
  CompanyReturn,
  CompanySignInStart,
  Credentials,
  FoundLink,
  InvitationAcceptance,
  LinkToken,
  NewOwner,
  NewPasskey,
  PasskeyList,
  PasskeyOptions,
  PasskeyRequired,
  PasskeySignature,
  PasswordChange,
  SessionPage,
  SignedIn,
  SignedOut,
  SignInWays,
  SignOutQuery,
  toOptions,
  toPasskeyRequired,
  toSignedIn,
  toWirePasskey,
  toWireSession,
  UserParams,
  WirePasskey,
} from './user-schemas.ts';

export interface SessionRouteParts {
  readonly access: Access;
  readonly cookie: SessionCookie;
  /** Holds what an attempt is recognised by, until the browser comes back from the provider. */
  readonly attemptCookie: SessionCookie;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
}

/** 16 KiB hold the longest of each field, escaped: more would be memory that anybody can have held. */
const open = { guard: 'sign-in', maxBodyMib: 1 / 64 } as const;
/** Signing in and out is for every role. */
const own = { guard: 'session', role: 'viewer' } as const;
const tags = ['Sign in'];
const answer = { 200: SignedIn };
/** As long as somebody may take to sign in at the provider, with a second factor. */
const ATTEMPT_SECONDS = 600;

/** Source: docs/interface.md §5.6. */
export const sessionRoutes =
  (parts: SessionRouteParts): Routes =>
  (server) => {
    serveSignIn(server, parts);
    servePasskey(server, parts);
    serveLinks(server, parts);
    serveSession(server, parts);
    serveCompanyAccount(server, parts);
  };

function serveSignIn(server: Server, parts: SessionRouteParts): void {
  const endpoint = {
    method: 'POST',
    path: '/management/session',
    config: open,
    ...{ tags, summary: 'Sign in to the console', body: Credentials },
    answer: { 200: Type.Union([SignedIn, PasskeyRequired]) },
  } as const;
  serve(server, endpoint, async (request, reply) => {
    const opened = await parts.access.signIn(request.body, visitorOf(parts, request));
    return 'challenge' in opened ? toPasskeyRequired(opened) : answerOpened(parts, reply, opened);
  });
}

function servePasskey(server: Server, parts: SessionRouteParts): void {
  const endpoint = {
    method: 'POST',
    path: '/management/session/passkey',
    config: open,
    ...{ tags, summary: 'Sign in with a passkey, after the password', body: PasskeySignature },
    answer: { 200: SignedIn },
  } as const;
  serve(server, endpoint, async (request, reply) => {
    const opened = await parts.access.signInByPasskey(request.body, visitorOf(parts, request));
    return answerOpened(parts, reply, opened);
  });
}

function serveLinks(server: Server, parts: SessionRouteParts): void {
  const check = {
    method: 'POST',
    path: '/management/links/check',
    ...{ config: open, tags },
    summary: 'What an owner link or an invitation is for',
    ...{ body: LinkToken, answer: { 200: FoundLink } },
  } as const;
  serve(server, check, ({ body }) => parts.access.checkLink(body.token));

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
    const described = await parts.access.describeUser(userOf(request.caller));
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
    const opened = await parts.access.changePassword(userOf(request.caller), { current, next }, visitor);
    return answerOpened(parts, reply, opened);
  });
}

function serveCompanyAccount(server: Server, parts: SessionRouteParts): void {
  const { access, attemptCookie, findBaseUrl } = parts;
  const about = { config: { ...open, maxBodyMib: 1 / 16 }, tags } as const;
  const ways = {
    ...about,
    method: 'GET',
    path: '/management/session/ways',
    summary: 'How people sign in here',
    answer: { 200: SignInWays },
  } as const;
  serve(server, ways, async () => {
    const { providerName: name } = access;
    return { companyAccount: name === undefined ? null : { name } };
  });

  const begin = {
    ...about,
    method: 'POST',
    path: '/management/session/company-account/start',
    summary: 'Begin to sign in with the company account',
    description: 'Sets a cookie for 10 minutes; the browser goes to the address that is answered.',
    answer: { 200: CompanySignInStart },
  } as const;
  serve(server, begin, async (request, reply) => {
    const { url, attempt } = await access
      .beginCompanySignIn(consoleUrl(findBaseUrl()))
      .catch(logProblem(request));
    attemptCookie.write(reply, attempt, ATTEMPT_SECONDS);
    return { url };
  });

  const finish = {
    ...about,
    method: 'POST',
    path: '/management/session/company-account',
    summary: 'Sign in with what the provider answered',
    ...{ body: CompanyReturn, answer: { 200: SignedIn } },
  } as const;
  serve(server, finish, async (request, reply) => {
    const attempt = attemptCookie.read(request);
    const returned = { attempt, query: request.body.query, returnUrl: consoleUrl(findBaseUrl()) };
    const opened = await access
      .finishCompanySignIn(returned, visitorOf(parts, request))
      .catch(logProblem(request));
    const answer = await answerOpened(parts, reply, opened);
    attemptCookie.clear(reply);
    return answer;
  });
}

/** Sets the cookie of the session. */
async function answerOpened(
  { access, cookie }: Pick<SessionRouteParts, 'access' | 'cookie'>,
  reply: FastifyReply,
  { value, maxAgeSeconds, caller }: OpenedSession,
) {
  const described = await access.describeUser(caller);
  cookie.write(reply, value, maxAgeSeconds);
  return toSignedIn(described, csrfTokenOf(value));
}

function visitorOf(
  parts: Pick<SessionRouteParts, 'cookie' | 'findBaseUrl'>,
  request: FastifyRequest,
): Visitor {
  return {
    origin: originOf(request.headers, parts.findBaseUrl()),
    address: request.ip,
    userAgent: request.headers['user-agent'],
    sessionValue: parts.cookie.read(request),
  };
}

/** Strangers are told little of what is wrong between the service and the provider; its operator reads it here. */
const logProblem = (request: FastifyRequest) => (error: unknown) => {
  if (error instanceof ServiceError && error.facts.cause instanceof Error) {
    request.log.warn(
      { problem: describeProblem(error.facts.cause) },
      'the sign-in provider refused or failed',
    );
  }
  throw error;
};

/** Texts alone: what else is in such an error may hold tokens. */
function describeProblem(error: Error): string {
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${describeProblem(cause)}` : message;
}

interface OwnSessionRouteParts {
  readonly access: Access;
  readonly cookie: SessionCookie;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
}

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

interface PasskeyRouteParts {
  readonly access: Access;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
  readonly answerOnce: AnswerOnce;
}

/** Source: docs/interface.md §5.8. */
export const passkeyRoutes =
  (parts: PasskeyRouteParts): Routes =>
  (server) => {
    serveOwnPasskeys(server, parts);
    serveRemoval(server, parts);
  };

function serveOwnPasskeys(server: Server, parts: PasskeyRouteParts): void {
  const { access, findBaseUrl } = parts;
  const about = { config: own, tags, path: '/management/session/passkeys' } as const;
  const list = {
    ...about,
    method: 'GET',
    ...{ summary: 'List your own passkeys', answer: { 200: PasskeyList } },
  } as const;
  serve(server, list, async ({ caller }) => ({
    items: (await access.listPasskeys(userOf(caller))).map(toWirePasskey),
  }));

  const begin = {
    ...about,
    method: 'POST',
    path: '/management/session/passkeys/start',
    ...{ summary: 'Begin to add a passkey', answer: { 200: PasskeyOptions } },
  } as const;
  serve(server, begin, async (request) => {
    const user = userOf(request.caller);
    const begun = await access.beginPasskey(user, originOf(request.headers, findBaseUrl()));
    return toOptions(begun, { id: user.userId, name: user.userName });
  });

  const add = {
    ...about,
    method: 'POST',
    ...{ summary: 'Add the passkey that the browser made', body: NewPasskey, answer: { 201: WirePasskey } },
  } as const;
  serve(server, add, async (request) => {
    const origin = originOf(request.headers, findBaseUrl());
    return toWirePasskey(await access.addPasskey(userOf(request.caller), request.body, origin));
  });

  const remove = {
    ...about,
    method: 'DELETE',
    path: '/management/session/passkeys/:id',
    ...{ summary: 'Remove one of your own passkeys', params: UserParams, answer: { 200: DoneAnswer } },
  } as const;
  serve(server, remove, async ({ caller, params }) => {
    await access.removePasskey(userOf(caller), params.id);
    return done;
  });
}

function serveRemoval(server: Server, { access, answerOnce }: PasskeyRouteParts): void {
  const endpoint = {
    method: 'DELETE',
    path: '/management/users/:id/passkeys',
    config: { guard: 'management', access: 'manage', role: 'owner' },
    ...{ tags: ['Users'], summary: 'Remove the passkeys of a user who lost them' },
    ...{ params: UserParams, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, ({ caller, params }, once) =>
    once(async (record) => {
      await access.removePasskeysOf(caller, params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}
