import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import {
  closedObject,
  DoneAnswer,
  Instant,
  ListQuery,
  Name,
  orNull,
  pageOf,
  successAnswer,
  titled,
} from '../../http/answers/answers.ts';
import { csrfTokenOf, type SessionCookie } from '../../http/guards/guards.ts';
import { fieldsOf, type Routes, type RouteTools, type Server, serve } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import type { Account } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import type { OpenedSession, Visitor } from './console-session.ts';
import { PasskeyRequired, toPasskeyRequired } from './passkey-option-schemas.ts';
import { PasskeySignature } from './passkey-schemas.ts';
import { consoleUrl, originOf, type User, userOf } from './user.ts';
import { Email, IdParams, RoleWord, SignsInWith, wireUserFields } from './user-schemas.ts';
import type { ConsoleSession } from './user-store.ts';

const Token = Type.String({ minLength: 1, maxLength: 255, description: 'the last part of the link' });
/** An upper limit, so that no caller can make the service hash megabytes. */
const KnownPassword = Type.String({ minLength: 1, maxLength: 256 });
/** Source: docs/interface §5.6 rule 4. */
const NewPassword = Type.String({ minLength: 12, maxLength: 256 });

const SignedInUser = Type.Object({ ...wireUserFields, signsInWith: SignsInWith });

/** Source: docs/interface §5.6 rule 3. */
const SignedIn = titled('SignedIn', {
  user: SignedInUser,
  account: Type.Object({ id: Type.Integer(), name: Type.String() }),
  csrfToken: Type.String({ description: 'for the header `X-CSRF-Token`' }),
});

const WireSession = titled('ConsoleSession', {
  id: Type.Integer(),
  isCurrent: Type.Boolean({ description: 'the session of this request' }),
  createdAt: Instant,
  usedAt: Type.Integer({ description: 'epoch milliseconds, accurate to the minute' }),
  expiresAt: Instant,
  address: orNull(Type.String(), 'the network address of the browser; null if unknown'),
  userAgent: orNull(Type.String(), 'the name of the browser, at most 255 characters; null if unknown'),
});

const toUser = fieldsOf(SignedInUser);
const toSession = fieldsOf(WireSession);

const toSignedIn = ({ user, account }: { user: User; account: Account }, csrfToken: string) => ({
  user: toUser(user),
  account,
  csrfToken,
});

interface SessionRouteParts extends RouteTools {
  readonly access: Access;
  readonly cookie: SessionCookie;
  /** Stores the secret of an attempt until the browser returns from the provider. */
  readonly attemptCookie: SessionCookie;
}

/** Source: docs/interface §5.6 to §5.8, except the passkeys of a user. */
export const sessionRoutes =
  (parts: SessionRouteParts): Routes =>
  (server) => {
    servePasswordSignIn(server, parts);
    serveLinks(server, parts);
    serveSignedInUser(server, parts);
    serveCompanySignIn(server, parts);
    serveSignOut(server, parts);
    serveOwnSessions(server, parts);
  };

const tags = ['Sign in'];
/** 16 KiB are enough for the longest escaped value of each field. A higher limit would let strangers occupy memory. */
const open = { guard: 'sign-in', maxBodyMib: 1 / 64 } as const;
/** A route where a caller without a session signs in. */
const signIn = { config: open, tags, answer: { 200: SignedIn } };
/** A route of the user's own sessions, which every role can call. */
const own = { config: { guard: 'session', role: 'viewer' }, tags } as const;

function servePasswordSignIn(server: Server, parts: SessionRouteParts): void {
  const { access } = parts;
  serve(server, 'POST /management/session', {
    ...signIn,
    summary: 'Sign in to the console',
    body: closedObject({
      email: Type.String({ maxLength: 1000, pattern: '^[^\\u0000]*$' }),
      password: KnownPassword,
    }),
    answer: { 200: Type.Union([SignedIn, PasskeyRequired]) },
    async handle(request, reply) {
      const opened = await access.signIn(request.body, visitorOf(parts, request));
      return 'challenge' in opened ? toPasskeyRequired(opened) : answerOpened(parts, reply, opened);
    },
  });

  serveOpening(server, parts, {
    call: 'POST /management/session/passkey',
    body: PasskeySignature,
    open: access.signInByPasskey,
    summary: 'Sign in with a passkey, after the password',
  });
}

/** Serves the links through which people become users. */
function serveLinks(server: Server, parts: SessionRouteParts): void {
  const { access } = parts;
  serve(server, 'POST /management/links/check', {
    ...signIn,
    body: closedObject({ token: Token }),
    answer: {
      200: Type.Object({
        type: Type.Union([Type.Literal('owner'), Type.Literal('invitation')]),
        role: RoleWord,
        expiresAt: Instant,
        email: optional.text('only for an invitation'),
      }),
    },
    summary: 'Read what an owner link or an invitation is for',
    handle: ({ body }) => access.checkLink(body.token),
  });

  serveOpening(server, parts, {
    call: 'POST /management/owner',
    body: closedObject({ token: Token, email: Email, name: Name, password: NewPassword }),
    open: access.createOwner,
    summary: 'Become an owner with the link from a start of the service or from `relata owner-link`',
  });

  serveOpening(server, parts, {
    call: 'POST /management/invitations/accept',
    body: closedObject({ token: Token, name: Name, password: NewPassword }),
    open: access.acceptInvitation,
    summary: 'Become a user with an invitation',
  });
}

/** A route that opens a session with its body alone. */
interface Opening<Body extends TSchema> {
  readonly call: `POST ${string}`;
  readonly summary: string;
  readonly body: Body;
  open(sent: Static<Body>, visitor: Visitor): Promise<OpenedSession>;
}

function serveOpening<Body extends TSchema>(
  server: Server,
  parts: SessionRouteParts,
  { call, open, ...about }: Opening<Body>,
): void {
  serve(server, call, {
    ...signIn,
    ...about,
    handle: async (request, reply) =>
      answerOpened(parts, reply, await open(request.body, visitorOf(parts, request))),
  });
}

function serveSignedInUser(server: Server, parts: SessionRouteParts): void {
  const { access, cookie } = parts;
  serve(server, 'GET /management/session', {
    ...own,
    summary: 'Read who is signed in',
    answer: { 200: SignedIn },
    async handle(request) {
      const described = await access.describeUser(userOf(request.caller));
      return toSignedIn(described, csrfTokenOf(cookie.read(request) ?? ''));
    },
  });

  serve(server, 'POST /management/session/password', {
    ...own,
    body: closedObject({ current: KnownPassword, new: NewPassword }),
    answer: { 200: SignedIn },
    summary: 'Change your own password',
    description: 'Ends all sessions of the user and opens a new one with a new `csrfToken`.',
    async handle(request, reply) {
      const visitor = visitorOf(parts, request);
      const opened = await access.changePassword(userOf(request.caller), request.body, visitor);
      return answerOpened(parts, reply, opened);
    },
  });
}

/** The time limit of a sign-in at the provider, with a second factor. */
const ATTEMPT_SECONDS = 600;
/** A route of the sign-in with a company account. */
const company = { config: { ...open, maxBodyMib: 1 / 16 }, tags };

/** Source: docs/interface §5.7. */
function serveCompanySignIn(server: Server, parts: SessionRouteParts): void {
  const { access, attemptCookie, findBaseUrl } = parts;
  serve(server, 'GET /management/session/ways', {
    ...company,
    answer: {
      200: titled('SignInWays', {
        companyAccount: orNull(
          Type.Object({ name: Type.String() }),
          'the provider of the company; null if people sign in with passwords only',
        ),
      }),
    },
    summary: 'Read how people can sign in',
    async handle() {
      const { providerName: name } = access;
      return { companyAccount: name === undefined ? null : { name } };
    },
  });

  serve(server, 'POST /management/session/company-account/start', {
    ...company,
    summary: 'Begin to sign in with the company account',
    description: 'Sets a cookie for 10 minutes. Open the answered address in the browser.',
    answer: {
      200: Type.Object({
        url: Type.String({ description: 'the address of the sign-in page of the provider' }),
      }),
    },
    async handle(request, reply) {
      const begun = access.beginCompanySignIn(consoleUrl(findBaseUrl()));
      const { url, attempt } = await begun.catch(logProblem(request));
      attemptCookie.write(reply, attempt, ATTEMPT_SECONDS);
      return { url };
    },
  });

  serve(server, 'POST /management/session/company-account', {
    ...company,
    body: closedObject({
      query: Type.String({
        // Long enough for the query of any provider.
        maxLength: 8_192,
        description: 'the query with which the browser returned to /console/, without the question mark',
      }),
    }),
    summary: 'Sign in with the answer of the provider',
    answer: { 200: SignedIn },
    async handle(request, reply) {
      const attempt = attemptCookie.read(request);
      const returned = { attempt, query: request.body.query, returnUrl: consoleUrl(findBaseUrl()) };
      const opened = access.finishCompanySignIn(returned, visitorOf(parts, request));
      const answer = await answerOpened(parts, reply, await opened.catch(logProblem(request)));
      attemptCookie.clear(reply);
      return answer;
    },
  });
}

function serveSignOut(server: Server, { access, cookie, findBaseUrl }: SessionRouteParts): void {
  serve(server, 'DELETE /management/session', {
    ...own,
    answer: {
      200: Type.Object({
        status: Type.Literal('success'),
        providerSignOutUrl: optional.text(
          'where a user with a company account also signs out of the provider',
        ),
      }),
    },
    summary: 'Sign out in this browser',
    async handle(request, reply) {
      const user = userOf(request.caller);
      await access.signOut(user);
      cookie.clear(reply);
      const url = await access.findProviderSignOut(user, consoleUrl(findBaseUrl()));
      return { ...successAnswer, ...(url !== undefined && { providerSignOutUrl: url }) };
    },
  });

  serve(server, 'DELETE /management/sessions', {
    ...own,
    query: Type.Object({ others: optional.flag('true: this session continues') }),
    answer: { 200: DoneAnswer },
    summary: 'Sign out everywhere, or everywhere else',
    async handle({ caller, query }, reply) {
      if (query.others === true) await access.endOtherSessions(userOf(caller));
      else {
        await access.signOutEverywhere(userOf(caller));
        cookie.clear(reply);
      }
      return successAnswer;
    },
  });
}

function serveOwnSessions(server: Server, { access, cookie }: SessionRouteParts): void {
  serve(server, 'GET /management/sessions', {
    ...own,
    summary: 'List your own sessions',
    query: ListQuery,
    answer: { 200: pageOf(WireSession) },
    async handle(request) {
      const user = userOf(request.caller);
      const { items, nextCursor } = await access.listSessions(user, request.query);
      const toItem = (session: ConsoleSession) =>
        toSession({ ...session, isCurrent: session.id === user.sessionId });
      return { items: items.map(toItem), nextCursor };
    },
  });

  serve(server, 'DELETE /management/sessions/:id', {
    ...own,
    params: IdParams,
    answer: { 200: DoneAnswer },
    summary: 'End one of your own sessions',
    async handle(request, reply) {
      const user = userOf(request.caller);
      await access.endSession(user, request.params.id);
      if (request.params.id === user.sessionId) cookie.clear(reply);
      return successAnswer;
    },
  });
}

/** Sets the session cookie. @returns the answer */
async function answerOpened(
  { access, cookie }: SessionRouteParts,
  reply: FastifyReply,
  { value, maxAgeSeconds, caller }: OpenedSession,
) {
  const described = await access.describeUser(caller);
  cookie.write(reply, value, maxAgeSeconds);
  return toSignedIn(described, csrfTokenOf(value));
}

const visitorOf = ({ cookie, findBaseUrl }: SessionRouteParts, request: FastifyRequest): Visitor => ({
  origin: originOf(request.headers, findBaseUrl()),
  address: request.ip,
  userAgent: request.headers['user-agent'],
  sessionValue: cookie.read(request),
});

/** Logs a problem with the provider for the operator, because answers to strangers contain few details. */
const logProblem = (request: FastifyRequest) => (error: unknown) => {
  if (error instanceof ServiceError && error.facts.cause instanceof Error) {
    const problem = describeProblem(error.facts.cause);
    request.log.warn(
      { problem },
      'the sign-in provider refused a sign-in or failed; the person is not signed in',
    );
  }
  throw error;
};

/** Describes an error by messages alone, because other properties may contain tokens. */
function describeProblem(error: Error): string {
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${describeProblem(cause)}` : message;
}
