import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type AnswerOnce, DoneAnswer, done, ListQuery } from '../../http/answers/answers.ts';
import { csrfTokenOf, type SessionCookie } from '../../http/guards/guards.ts';
import { type Routes, type Server, serve, serveOnce } from '../../http/server/server.ts';
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

interface SessionRouteParts {
  readonly access: Access;
  readonly cookie: SessionCookie;
  /** Holds what an attempt is recognised by, until the browser comes back from the provider. */
  readonly attemptCookie: SessionCookie;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
  readonly answerOnce: AnswerOnce;
}

/** 16 KiB hold the longest of each field, escaped: more would be memory that strangers can occupy. */
const open = { guard: 'sign-in', maxBodyMib: 1 / 64 } as const;
/** Signing in and out is for every role. */
const own = { guard: 'session', role: 'viewer' } as const;
const tags = ['Sign in'];
/** As long as a sign-in at the provider may take, with a second factor. */
const ATTEMPT_SECONDS = 600;

/** Source: docs/interface.md §5.6 to §5.8. */
export const sessionRoutes =
  (parts: SessionRouteParts): Routes =>
  (server) => {
    serveSignIn(server, parts);
    serveSession(server, parts);
    serveCompanyAccount(server, parts);
    serveOwnSessions(server, parts);
    servePasskeys(server, parts);
  };

/** Signing in with a password, by a link, and with a passkey after the password. */
function serveSignIn(server: Server, parts: SessionRouteParts): void {
  const { access } = parts;
  const about = { method: 'POST', config: open, tags, answer: { 200: SignedIn } } as const;
  serve(
    server,
    {
      ...{ ...about, path: '/management/session', summary: 'Sign in to the console', body: Credentials },
      answer: { 200: Type.Union([SignedIn, PasskeyRequired]) },
    },
    async (request, reply) => {
      const opened = await access.signIn(request.body, visitorOf(parts, request));
      return 'challenge' in opened ? toPasskeyRequired(opened) : answerOpened(parts, reply, opened);
    },
  );

  const passkey = {
    ...{ ...about, path: '/management/session/passkey', body: PasskeySignature },
    summary: 'Sign in with a passkey, after the password',
  };
  serve(server, passkey, async (request, reply) =>
    answerOpened(parts, reply, await access.signInByPasskey(request.body, visitorOf(parts, request))),
  );

  const check = {
    ...{ ...about, path: '/management/links/check', body: LinkToken, answer: { 200: FoundLink } },
    summary: 'What an owner link or an invitation is for',
  };
  serve(server, check, ({ body }) => access.checkLink(body.token));

  const owner = {
    ...{ ...about, path: '/management/owner', body: NewOwner },
    summary: 'Become an owner by the link of the start or of `relata owner-link`',
  };
  serve(server, owner, async (request, reply) =>
    answerOpened(parts, reply, await access.createOwner(request.body, visitorOf(parts, request))),
  );

  const accept = {
    ...{ ...about, path: '/management/invitations/accept', body: InvitationAcceptance },
    summary: 'Become a user by an invitation',
  };
  serve(server, accept, async (request, reply) =>
    answerOpened(parts, reply, await access.acceptInvitation(request.body, visitorOf(parts, request))),
  );
}

function serveSession(server: Server, parts: SessionRouteParts): void {
  const about = { config: own, tags, answer: { 200: SignedIn } };
  const read = { ...about, method: 'GET', path: '/management/session', summary: 'Who is signed in' } as const;
  serve(server, read, async (request) => {
    const described = await parts.access.describeUser(userOf(request.caller));
    return toSignedIn(described, csrfTokenOf(parts.cookie.read(request) ?? ''));
  });

  const password = {
    method: 'POST',
    ...{ ...about, path: '/management/session/password', body: PasswordChange },
    summary: 'Change the own password',
    description: 'All sessions of the user end. The answer brings a new one, with a new `csrfToken`.',
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
    method: 'GET',
    ...{ ...about, path: '/management/session/ways', answer: { 200: SignInWays } },
    summary: 'How people sign in here',
  } as const;
  serve(server, ways, async () => {
    const { providerName: name } = access;
    return { companyAccount: name === undefined ? null : { name } };
  });

  const begin = {
    method: 'POST',
    ...{ ...about, path: '/management/session/company-account/start' },
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
    method: 'POST',
    ...{ ...about, path: '/management/session/company-account', body: CompanyReturn },
    summary: 'Sign in with what the provider answered',
    answer: { 200: SignedIn },
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

/** The sessions of the caller, and how they end. */
function serveOwnSessions(server: Server, { access, cookie, findBaseUrl }: SessionRouteParts): void {
  const about = { config: own, tags };
  const here = {
    method: 'DELETE',
    ...{ ...about, path: '/management/session', answer: { 200: SignedOut } },
    summary: 'Sign out here',
  } as const;
  serve(server, here, async (request, reply) => {
    const user = userOf(request.caller);
    await access.signOut(user);
    cookie.clear(reply);
    const url = await access.findProviderSignOut(user, consoleUrl(findBaseUrl()));
    return { ...done, ...(url !== undefined && { providerSignOutUrl: url }) };
  });

  const everywhere = {
    method: 'DELETE',
    ...{ ...about, path: '/management/sessions' },
    ...{ query: SignOutQuery, answer: { 200: DoneAnswer } },
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

  const list = {
    method: 'GET',
    ...{ ...about, path: '/management/sessions' },
    ...{ summary: 'List your own sessions', query: ListQuery, answer: { 200: SessionPage } },
  } as const;
  serve(server, list, async (request) => {
    const user = userOf(request.caller);
    const { items, nextCursor } = await access.listSessions(user, request.query);
    return { items: items.map((one) => toWireSession(one, user.sessionId)), nextCursor };
  });

  const end = {
    method: 'DELETE',
    ...{ ...about, path: '/management/sessions/:id' },
    ...{ summary: 'End one of your own sessions', params: UserParams, answer: { 200: DoneAnswer } },
  } as const;
  serve(server, end, async (request, reply) => {
    const user = userOf(request.caller);
    await access.endSession(user, request.params.id);
    if (request.params.id === user.sessionId) cookie.clear(reply);
    return done;
  });
}

function servePasskeys(server: Server, { access, findBaseUrl, answerOnce }: SessionRouteParts): void {
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

  const removeAll = {
    method: 'DELETE',
    path: '/management/users/:id/passkeys',
    config: { guard: 'management', access: 'manage', role: 'owner' },
    ...{ tags: ['Users'], summary: 'Remove the passkeys of a user who lost them' },
    ...{ params: UserParams, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, removeAll, ({ caller, params }, once) =>
    once(async (record) => {
      await access.removePasskeysOf(caller, params.id, (tx) => record(tx, done));
      return done;
    }),
  );
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

/** Answers to strangers say little of what is wrong between the service and the provider; the operator reads it in the log. */
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
