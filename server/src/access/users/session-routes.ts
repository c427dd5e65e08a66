import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { DoneAnswer, done, ListQuery } from '../../http/answers/answers.ts';
import { csrfTokenOf, type SessionCookie } from '../../http/guards/guards.ts';
import { type Routes, type RouteTools, serve, serveOnce } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Access } from '../access.ts';
import type { OpenedSession, Visitor } from './console-session.ts';
import { consoleUrl, originOf, userOf } from './user.ts';
import * as schemas from './user-schemas.ts';

interface SessionRouteParts extends RouteTools {
  readonly access: Access;
  readonly cookie: SessionCookie;
  /** Holds what an attempt is recognised by, until the browser comes back from the provider. */
  readonly attemptCookie: SessionCookie;
}

/** 16 KiB hold the longest of each field, escaped: more would be memory that strangers can occupy. */
const open = { guard: 'sign-in', maxBodyMib: 1 / 64 } as const;
/** Signing in and out is for every role. */
const own = { guard: 'session', role: 'viewer' } as const;
const tags = ['Sign in'];
const about = { config: own, tags };
/** As long as a sign-in at the provider may take, with a second factor. */
const ATTEMPT_SECONDS = 600;

/** Source: docs/interface.md §5.6 to §5.8. */
export const sessionRoutes =
  (parts: SessionRouteParts): Routes =>
  (server) => {
    const { access, cookie, attemptCookie, findBaseUrl, answerOnce } = parts;
    const signIn = { config: open, tags, answer: { 200: schemas.SignedIn } };
    serve(server, 'POST /management/session', {
      ...{ ...signIn, summary: 'Sign in to the console', body: schemas.Credentials },
      answer: { 200: Type.Union([schemas.SignedIn, schemas.PasskeyRequired]) },
      async handle(request, reply) {
        const opened = await access.signIn(request.body, visitorOf(parts, request));
        return 'challenge' in opened ? schemas.toPasskeyRequired(opened) : answerOpened(parts, reply, opened);
      },
    });

    serve(server, 'POST /management/session/passkey', {
      ...{ ...signIn, body: schemas.PasskeySignature },
      summary: 'Sign in with a passkey, after the password',
      handle: async (request, reply) =>
        answerOpened(parts, reply, await access.signInByPasskey(request.body, visitorOf(parts, request))),
    });

    serve(server, 'POST /management/links/check', {
      ...{ ...signIn, body: schemas.LinkToken, answer: { 200: schemas.FoundLink } },
      summary: 'What an owner link or an invitation is for',
      handle: ({ body }) => access.checkLink(body.token),
    });

    serve(server, 'POST /management/owner', {
      ...{ ...signIn, body: schemas.NewOwner },
      summary: 'Become an owner by the link of the start or of `relata owner-link`',
      handle: async (request, reply) =>
        answerOpened(parts, reply, await access.createOwner(request.body, visitorOf(parts, request))),
    });

    serve(server, 'POST /management/invitations/accept', {
      ...{ ...signIn, body: schemas.InvitationAcceptance },
      summary: 'Become a user by an invitation',
      handle: async (request, reply) =>
        answerOpened(parts, reply, await access.acceptInvitation(request.body, visitorOf(parts, request))),
    });
    serve(server, 'GET /management/session', {
      ...{ ...about, summary: 'Who is signed in', answer: { 200: schemas.SignedIn } },
      async handle(request) {
        const described = await access.describeUser(userOf(request.caller));
        return schemas.toSignedIn(described, csrfTokenOf(cookie.read(request) ?? ''));
      },
    });

    serve(server, 'POST /management/session/password', {
      ...{ ...about, body: schemas.PasswordChange, answer: { 200: schemas.SignedIn } },
      summary: 'Change the own password',
      description: 'All sessions of the user end. The answer brings a new one, with a new `csrfToken`.',
      async handle(request, reply) {
        const { current, new: next } = request.body;
        const visitor = visitorOf(parts, request);
        const opened = await access.changePassword(userOf(request.caller), { current, next }, visitor);
        return answerOpened(parts, reply, opened);
      },
    });
    const company = { config: { ...open, maxBodyMib: 1 / 16 }, tags };

    serve(server, 'GET /management/session/ways', {
      ...{ ...company, answer: { 200: schemas.SignInWays } },
      summary: 'How people sign in here',
      async handle() {
        const { providerName: name } = access;
        return { companyAccount: name === undefined ? null : { name } };
      },
    });

    serve(server, 'POST /management/session/company-account/start', {
      ...company,
      summary: 'Begin to sign in with the company account',
      description: 'Sets a cookie for 10 minutes; the browser goes to the address that is answered.',
      answer: { 200: schemas.CompanySignInStart },
      async handle(request, reply) {
        const { url, attempt } = await access
          .beginCompanySignIn(consoleUrl(findBaseUrl()))
          .catch(logProblem(request));
        attemptCookie.write(reply, attempt, ATTEMPT_SECONDS);
        return { url };
      },
    });

    serve(server, 'POST /management/session/company-account', {
      ...{ ...company, body: schemas.CompanyReturn },
      summary: 'Sign in with what the provider answered',
      answer: { 200: schemas.SignedIn },
      async handle(request, reply) {
        const attempt = attemptCookie.read(request);
        const returned = { attempt, query: request.body.query, returnUrl: consoleUrl(findBaseUrl()) };
        const opened = await access
          .finishCompanySignIn(returned, visitorOf(parts, request))
          .catch(logProblem(request));
        const answer = await answerOpened(parts, reply, opened);
        attemptCookie.clear(reply);
        return answer;
      },
    });
    serve(server, 'DELETE /management/session', {
      ...{ ...about, answer: { 200: schemas.SignedOut } },
      summary: 'Sign out here',
      async handle(request, reply) {
        const user = userOf(request.caller);
        await access.signOut(user);
        cookie.clear(reply);
        const url = await access.findProviderSignOut(user, consoleUrl(findBaseUrl()));
        return { ...done, ...(url !== undefined && { providerSignOutUrl: url }) };
      },
    });

    serve(server, 'DELETE /management/sessions', {
      ...{ ...about, query: schemas.SignOutQuery, answer: { 200: DoneAnswer } },
      summary: 'Sign out everywhere, or everywhere else',
      async handle(request, reply) {
        const user = userOf(request.caller);
        if (request.query.others === true) {
          await access.endOtherSessions(user);
          return done;
        }
        await access.signOutEverywhere(user);
        cookie.clear(reply);
        return done;
      },
    });

    serve(server, 'GET /management/sessions', {
      ...about,
      ...{ summary: 'List your own sessions', query: ListQuery, answer: { 200: schemas.SessionPage } },
      async handle(request) {
        const user = userOf(request.caller);
        const { items, nextCursor } = await access.listSessions(user, request.query);
        return { items: items.map((one) => schemas.toWireSession(one, user.sessionId)), nextCursor };
      },
    });

    serve(server, 'DELETE /management/sessions/:id', {
      ...about,
      ...{ summary: 'End one of your own sessions', params: schemas.UserParams, answer: { 200: DoneAnswer } },
      async handle(request, reply) {
        const user = userOf(request.caller);
        await access.endSession(user, request.params.id);
        if (request.params.id === user.sessionId) cookie.clear(reply);
        return done;
      },
    });
    serve(server, 'GET /management/session/passkeys', {
      ...about,
      ...{ summary: 'List your own passkeys', answer: { 200: schemas.PasskeyList } },
      handle: async ({ caller }) => ({
        items: (await access.listPasskeys(userOf(caller))).map(schemas.toWirePasskey),
      }),
    });

    serve(server, 'POST /management/session/passkeys/start', {
      ...about,
      ...{ summary: 'Begin to add a passkey', answer: { 200: schemas.PasskeyOptions } },
      async handle(request) {
        const user = userOf(request.caller);
        const begun = await access.beginPasskey(user, originOf(request.headers, findBaseUrl()));
        return schemas.toOptions(begun, { id: user.userId, name: user.userName });
      },
    });

    serve(server, 'POST /management/session/passkeys', {
      ...about,
      ...{
        summary: 'Add the passkey that the browser made',
        body: schemas.NewPasskey,
        answer: { 201: schemas.WirePasskey },
      },
      async handle(request) {
        const origin = originOf(request.headers, findBaseUrl());
        return schemas.toWirePasskey(await access.addPasskey(userOf(request.caller), request.body, origin));
      },
    });

    serve(server, 'DELETE /management/session/passkeys/:id', {
      ...about,
      ...{
        summary: 'Remove one of your own passkeys',
        params: schemas.UserParams,
        answer: { 200: DoneAnswer },
      },
      async handle({ caller, params }) {
        await access.removePasskey(userOf(caller), params.id);
        return done;
      },
    });

    serveOnce(server, 'DELETE /management/users/:id/passkeys', {
      config: { guard: 'management', access: 'manage', role: 'owner' },
      ...{ tags: ['Users'], summary: 'Remove the passkeys of a user who lost them' },
      ...{ params: schemas.UserParams, answer: { 200: DoneAnswer }, answerOnce },
      async handle({ caller, params }, record) {
        await access.removePasskeysOf(caller, params.id, (tx) => record(tx, done));
        return done;
      },
    });
  };

/** Sets the cookie of the session. */
async function answerOpened(
  { access, cookie }: Pick<SessionRouteParts, 'access' | 'cookie'>,
  reply: FastifyReply,
  { value, maxAgeSeconds, caller }: OpenedSession,
) {
  const described = await access.describeUser(caller);
  cookie.write(reply, value, maxAgeSeconds);
  return schemas.toSignedIn(described, csrfTokenOf(value));
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
