import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import {
  closedObject,
  DoneAnswer,
  Id,
  Instant,
  ListQuery,
  Name,
  orNull,
  pageOf,
  successAnswer,
  titled,
} from '../../http/answers/answers.ts';
import { csrfTokenOf, type SessionCookie } from '../../http/guards/guards.ts';
import {
  answerAs,
  fieldsOf,
  inReach,
  type Routes,
  type RouteTools,
  serve,
  serveKind,
  serveOnce,
} from '../../http/server/server.ts';
import type { Caller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import { type Account, asWriter, WireActor, WirePartScope } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import type { OpenedSession, Visitor } from './console-session.ts';
import { NewPasskey, PasskeySignature } from './passkey-schemas.ts';
import { ALGORITHMS, type PasskeyChallenge } from './passkeys.ts';
import { consoleUrl, invitationUrl, originOf, type User, userOf } from './user.ts';
import type { ConsoleSession, Invitation } from './user-store.ts';

/** Mail servers accept 254 characters; only sending a mail shows whether an address exists. */
const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s\\u0000-\\u001f@]+@[^\\s\\u0000-\\u001f@]+$',
  description: 'upper and lower case are alike',
});
const Token = Type.String({ minLength: 1, maxLength: 255, description: 'the last part of the link' });
const RoleWord = Type.Union(
  [Type.Literal('owner'), Type.Literal('editor'), Type.Literal('viewer'), Type.Literal('none')],
  {
    description:
      'owner: everything; editor: everything but users and keys of the account; viewer: looks at everything; none: nothing outside of `roles`',
  },
);
/** More should be a group of their own, as each request of the user reads them. */
const PART_ROLES = 100;
const WirePartRole = closedObject({
  scope: WirePartScope,
  role: Type.Union([Type.Literal('editor'), Type.Literal('viewer')]),
});
const description = 'what the user may do in project groups and projects, whatever `role` is';
const PartRoles = Type.Array(WirePartRole, { description });
const NewPartRoles = Type.Array(WirePartRole, { maxItems: PART_ROLES, description });
/** An upper limit, so that no caller can make the service hash megabytes. */
const KnownPassword = Type.String({ minLength: 1, maxLength: 256 });
/** Source: docs/interface §5.6 rule 4. */
const NewPassword = Type.String({ minLength: 12, maxLength: 256 });

const UserParams = Type.Object({ id: Id });
const SignsInWith = Type.Union([Type.Literal('password'), Type.Literal('company-account')]);

const wireUserFields = {
  id: Type.Integer(),
  email: Type.String(),
  name: Type.String(),
  role: RoleWord,
  roles: PartRoles,
};
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
  usedAt: Type.Integer({ description: 'epoch milliseconds, to the minute' }),
  expiresAt: Instant,
  address: orNull(Type.String(), 'the network address that signed in; null: not known'),
  userAgent: orNull(Type.String(), 'how the browser names itself, at most 255 characters; null: not known'),
});

const WireUser = titled('User', {
  ...wireUserFields,
  createdAt: Instant,
  signedInAt: orNull(Instant, 'the last time'),
  signsInWith: SignsInWith,
  passkeys: Type.Integer({ description: 'how many' }),
});

const wireInvitationFields = {
  id: Type.Integer(),
  email: Type.String(),
  role: RoleWord,
  roles: PartRoles,
  createdAt: Instant,
  createdBy: WireActor,
  expiresAt: Instant,
};

const WireInvitation = titled('Invitation', wireInvitationFields);

const WireMadeInvitation = titled('NewInvitation', {
  ...wireInvitationFields,
  link: optional.text('to be passed on: shown once, so a repetition by Idempotency-Key has none'),
});

const toUser = fieldsOf(SignedInUser);
const toSession = fieldsOf(WireSession);
const toInvitation = fieldsOf(WireInvitation);

const Descriptors = Type.Array(
  Type.Object({ id: Type.String(), type: Type.Literal('public-key'), transports: Type.Array(Type.String()) }),
);
const Challenge = Type.String({ description: 'good once, for 5 minutes' });
const Timeout = Type.Integer({ description: 'milliseconds' });
const TIMEOUT_MS = 120_000;

/** As `PublicKeyCredentialRequestOptionsJSON` of Web Authentication. */
const PasskeyRequired = Type.Object(
  {
    passkey: Type.Object({
      challenge: Challenge,
      rpId: Type.String(),
      timeout: Timeout,
      userVerification: Type.Literal('discouraged'),
      allowCredentials: Descriptors,
    }),
  },
  { title: 'PasskeyWanted', description: 'the password was right, and a passkey is asked for as well' },
);

/** As `PublicKeyCredentialCreationOptionsJSON` of Web Authentication. */
const PasskeyOptions = titled('PasskeyOptions', {
  challenge: Challenge,
  rp: Type.Object({ id: Type.String(), name: Type.String() }),
  user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
  pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
  timeout: Timeout,
  attestation: Type.Literal('none'),
  authenticatorSelection: Type.Object({
    residentKey: Type.Literal('discouraged'),
    userVerification: Type.Literal('discouraged'),
  }),
  excludeCredentials: Descriptors,
});

const WirePasskey = titled('Passkey', {
  id: Type.Integer(),
  name: Type.String(),
  host: Type.String({ description: 'where it was added; browsers use it nowhere else' }),
  createdAt: Instant,
  usedAt: orNull(Instant, 'the last sign-in with it'),
});
const toWirePasskey = fieldsOf(WirePasskey);

const toSignedIn = ({ user, account }: { user: User; account: Account }, csrfToken: string) => ({
  user: toUser(user),
  account,
  csrfToken,
});

const describe = ({ passkeys }: PasskeyChallenge) =>
  passkeys.map(({ credentialId: id, transports }) => ({ id, type: 'public-key' as const, transports }));

const toPasskeyRequired = (begun: PasskeyChallenge) => ({
  passkey: {
    challenge: begun.challenge,
    rpId: begun.host,
    timeout: TIMEOUT_MS,
    userVerification: 'discouraged' as const,
    allowCredentials: describe(begun),
  },
});

const toOptions = (begun: PasskeyChallenge, { id, name }: { id: number; name: string }) => ({
  challenge: begun.challenge,
  rp: { id: begun.host, name: 'Relata' },
  user: { id: Buffer.from(`user ${id}`).toString('base64url'), name, displayName: name },
  pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
  timeout: TIMEOUT_MS,
  attestation: 'none' as const,
  authenticatorSelection: { residentKey: 'discouraged' as const, userVerification: 'discouraged' as const },
  excludeCredentials: describe(begun),
});

interface SessionRouteParts extends RouteTools {
  readonly access: Access;
  readonly cookie: SessionCookie;
  /** Holds the secret of an attempt until the browser comes back from the provider. */
  readonly attemptCookie: SessionCookie;
}

/** 16 KiB hold the longest value of each field, escaped; more would be memory that strangers can occupy. */
const open = { guard: 'sign-in', maxBodyMib: 1 / 64 } as const;
/** Every role may sign in and out. */
const own = { guard: 'session', role: 'viewer' } as const;
const tags = ['Sign in'];
const about = { config: own, tags };
/** How long a sign-in at the provider may take, with a second factor. */
const ATTEMPT_SECONDS = 600;

/** Source: docs/interface §5.6 to §5.8. */
export const sessionRoutes =
  (parts: SessionRouteParts): Routes =>
  (server) => {
    const { access, cookie, attemptCookie, findBaseUrl, answerOnce } = parts;
    const signIn = { config: open, tags, answer: { 200: SignedIn } };
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

    const opens = <Body extends TSchema>(
      call:
        | 'POST /management/session/passkey'
        | 'POST /management/owner'
        | 'POST /management/invitations/accept',
      {
        open,
        ...about
      }: { summary: string; body: Body; open(sent: Static<Body>, visitor: Visitor): Promise<OpenedSession> },
    ) =>
      serve(server, call, {
        ...signIn,
        ...about,
        handle: async (request, reply) =>
          answerOpened(parts, reply, await open(request.body, visitorOf(parts, request))),
      });
    opens('POST /management/session/passkey', {
      body: PasskeySignature,
      open: access.signInByPasskey,
      summary: 'Sign in with a passkey, after the password',
    });

    serve(server, 'POST /management/links/check', {
      ...signIn,
      body: closedObject({ token: Token }),
      answer: {
        200: Type.Object({
          type: Type.Union([Type.Literal('owner'), Type.Literal('invitation')]),
          role: RoleWord,
          expiresAt: Instant,
          email: optional.text('of an invitation'),
        }),
      },
      summary: 'What an owner link or an invitation is for',
      handle: ({ body }) => access.checkLink(body.token),
    });

    opens('POST /management/owner', {
      body: closedObject({ token: Token, email: Email, name: Name, password: NewPassword }),
      open: access.createOwner,
      summary: 'Become an owner by the link of the start or of `relata owner-link`',
    });

    opens('POST /management/invitations/accept', {
      body: closedObject({ token: Token, name: Name, password: NewPassword }),
      open: access.acceptInvitation,
      summary: 'Become a user by an invitation',
    });

    serve(server, 'GET /management/session', {
      ...about,
      summary: 'Who is signed in',
      answer: { 200: SignedIn },
      async handle(request) {
        const described = await access.describeUser(userOf(request.caller));
        return toSignedIn(described, csrfTokenOf(cookie.read(request) ?? ''));
      },
    });

    serve(server, 'POST /management/session/password', {
      ...about,
      body: closedObject({ current: KnownPassword, new: NewPassword }),
      answer: { 200: SignedIn },
      summary: 'Change the own password',
      description: 'All sessions of the user end. The answer brings a new one, with a new `csrfToken`.',
      async handle(request, reply) {
        const visitor = visitorOf(parts, request);
        const opened = await access.changePassword(userOf(request.caller), request.body, visitor);
        return answerOpened(parts, reply, opened);
      },
    });
    const company = { config: { ...open, maxBodyMib: 1 / 16 }, tags };

    serve(server, 'GET /management/session/ways', {
      ...company,
      answer: {
        200: titled('SignInWays', {
          companyAccount: orNull(
            Type.Object({ name: Type.String() }),
            'the provider of the company; null: people sign in with passwords alone',
          ),
        }),
      },
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
      answer: { 200: Type.Object({ url: Type.String({ description: 'where the browser goes' }) }) },
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
          // Long enough for what any provider returns.
          maxLength: 8_192,
          description: 'with which the browser came back to /console/, without the question mark',
        }),
      }),
      summary: 'Sign in with what the provider answered',
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
    serve(server, 'DELETE /management/session', {
      ...about,
      answer: {
        200: Type.Object({
          status: Type.Literal('success'),
          providerSignOutUrl: optional.text('where a user with a company account signs out there too'),
        }),
      },
      summary: 'Sign out here',
      async handle(request, reply) {
        const user = userOf(request.caller);
        await access.signOut(user);
        cookie.clear(reply);
        const url = await access.findProviderSignOut(user, consoleUrl(findBaseUrl()));
        return { ...successAnswer, ...(url !== undefined && { providerSignOutUrl: url }) };
      },
    });

    serve(server, 'DELETE /management/sessions', {
      ...about,
      query: Type.Object({ others: optional.flag('true: this session goes on') }),
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

    serve(server, 'GET /management/sessions', {
      ...about,
      summary: 'List your own sessions',
      query: ListQuery,
      answer: { 200: pageOf(WireSession) },
      async handle(request) {
        const user = userOf(request.caller);
        const { items, nextCursor } = await access.listSessions(user, request.query);
        const isCurrent = ({ id }: ConsoleSession) => id === user.sessionId;
        return { items: items.map((one) => toSession({ ...one, isCurrent: isCurrent(one) })), nextCursor };
      },
    });

    serve(server, 'DELETE /management/sessions/:id', {
      ...about,
      params: UserParams,
      answer: { 200: DoneAnswer },
      summary: 'End one of your own sessions',
      async handle(request, reply) {
        const user = userOf(request.caller);
        await access.endSession(user, request.params.id);
        if (request.params.id === user.sessionId) cookie.clear(reply);
        return successAnswer;
      },
    });
    serve(server, 'GET /management/session/passkeys', {
      ...about,
      summary: 'List your own passkeys',
      answer: { 200: Type.Object({ items: Type.Array(WirePasskey) }) },
      handle: async ({ caller }) => ({
        items: (await access.listPasskeys(userOf(caller))).map(toWirePasskey),
      }),
    });

    serve(server, 'POST /management/session/passkeys/start', {
      ...about,
      summary: 'Begin to add a passkey',
      answer: { 200: PasskeyOptions },
      async handle(request) {
        const user = userOf(request.caller);
        const begun = await access.beginPasskey(user, originOf(request.headers, findBaseUrl()));
        return toOptions(begun, { id: user.userId, name: user.userName });
      },
    });

    serve(server, 'POST /management/session/passkeys', {
      ...about,
      body: NewPasskey,
      answer: { 201: WirePasskey },
      summary: 'Add the passkey that the browser made',
      handle: async ({ caller, body, headers }) =>
        toWirePasskey(await access.addPasskey(userOf(caller), body, originOf(headers, findBaseUrl()))),
    });

    serve(server, 'DELETE /management/session/passkeys/:id', {
      ...about,
      params: UserParams,
      answer: { 200: DoneAnswer },
      summary: 'Remove one of your own passkeys',
      async handle({ caller, params }) {
        await access.removePasskey(userOf(caller), params.id);
        return successAnswer;
      },
    });

    serveOnce(server, 'DELETE /management/users/:id/passkeys', {
      config: { guard: 'management', access: 'manage', role: 'owner' },
      tags: ['Users'],
      summary: 'Remove the passkeys of a user who lost them',
      params: UserParams,
      answer: { 200: DoneAnswer },
      answerOnce,
      async handle({ caller, params }, record) {
        await access.removePasskeysOf(
          { ...asWriter(caller), beside: (tx) => record(tx, successAnswer) },
          params,
        );
        return successAnswer;
      },
    });
  };

/** Sets the session cookie. */
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

/** Answers to strangers say little about problems between the service and the provider; the log has them for the operator. */
const logProblem = (request: FastifyRequest) => (error: unknown) => {
  if (error instanceof ServiceError && error.facts.cause instanceof Error) {
    const problem = describeProblem(error.facts.cause);
    request.log.warn({ problem }, 'the sign-in provider refused or failed');
  }
  throw error;
};

/** Only messages: other properties of such an error may hold tokens. */
function describeProblem(error: Error): string {
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${describeProblem(cause)}` : message;
}

/** Source: docs/interface §14.6. */
export const userRoutes =
  ({ access, answerOnce, findBaseUrl }: RouteTools & { readonly access: Access }): Routes =>
  (server) => {
    const about = { ...inReach, config: { role: 'owner' }, tags: ['Users'], answerOnce } as const;
    const users = serveKind<User, Caller>(server, {
      ...about,
      path: '/management/users',
      answer: answerAs(WireUser, fieldsOf(WireUser)),
    });
    users.list({ summary: 'List the users of the account', list: access.listUsers });
    users.change({
      method: 'PATCH',
      summary: 'Change the role or the name of a user',
      body: Type.Partial(Type.Object({ name: Name, role: RoleWord, roles: NewPartRoles }), {
        additionalProperties: false,
      }),
      description: 'Holds at once, also in sessions that are open.',
      change: access.changeUser,
    });
    users.remove({
      summary: 'Delete a user',
      description: 'Their sessions end, and the invitations that they made.',
      remove: access.deleteUser,
    });

    const invitations = serveKind<Invitation, Caller>(server, {
      ...about,
      path: '/management/invitations',
      answer: answerAs(WireInvitation, toInvitation),
    });
    invitations.list({ summary: 'List the invitations that are open', list: access.listInvitations });
    invitations.create({
      summary: 'Invite a person',
      description:
        'The link is good once and for 7 days. A repetition by `Idempotency-Key` has no `link`; another invitation to the same address takes the place of this one.',
      body: closedObject({ email: Email, role: RoleWord, roles: Type.Optional(NewPartRoles) }),
      made: answerAs(WireMadeInvitation, (made: Invitation & { readonly token: string }) => ({
        ...toInvitation(made),
        link: invitationUrl(findBaseUrl(), made.token),
      })),
      create: access.invite,
    });
    invitations.remove({ summary: 'Withdraw an invitation', remove: access.deleteInvitation });
  };
