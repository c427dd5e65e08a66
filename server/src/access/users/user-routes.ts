import { type AnswerOnce, ErrorAnswer, ListQuery, type Routes, type Server } from '../../http/http.ts';
import type { Beside } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import { DoneAnswer } from '../keys/keys.ts';
import { invitationUrl } from './console-links.ts';
import type { Invitation } from './invitation-store.ts';
import type { User } from './user.ts';
import {
  InvitationPage,
  NewInvitation,
  toWireInvitation,
  toWireUser,
  UserChange,
  UserPage,
  UserParams,
  WireMadeInvitation,
  WireUser,
} from './user-schemas.ts';

export interface UserRouteParts {
  readonly access: Access;
  readonly answerOnce: AnswerOnce;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
}

const config = { guard: 'management', access: 'manage', role: 'owner' } as const;
const tags = ['Users'];
const failures = { '4xx': ErrorAnswer };
const done = { status: 'success' } as const;

/** Source: docs/interface.md §14.6. */
export const userRoutes =
  (parts: UserRouteParts): Routes =>
  (server) => {
    serveUsers(server, parts);
    serveInvitations(server, parts);
    serveInvitation(server, parts);
  };

function serveUsers(server: Server, { access, answerOnce }: UserRouteParts): void {
  const listSchema = {
    tags,
    summary: 'List the users of the account',
    querystring: ListQuery,
    response: { 200: UserPage, ...failures },
  };
  server.get('/management/users', { config, schema: listSchema }, async (request) => {
    const { items, nextCursor } = await access.listUsers(request.caller, request.query);
    return { items: items.map(toWireUser), nextCursor };
  });

  const changeSchema = {
    tags,
    summary: 'Change the role or the name of a user',
    description: 'Holds at once, also in sessions that are open.',
    params: UserParams,
    body: UserChange,
    response: { 200: WireUser, ...failures },
  };
  server.patch('/management/users/:id', { config, schema: changeSchema }, async (request) =>
    answerOnce(request, async (record) => {
      const beside: Beside<User> = (tx, user) => record(tx, toWireUser(user));
      const change = { ...request.body, id: request.params.id };
      return toWireUser(await access.changeUser(request.caller, change, beside));
    }),
  );

  const deleteSchema = {
    tags,
    summary: 'Delete a user',
    description: 'Their sessions end, and the invitations that they made.',
    params: UserParams,
    response: { 200: DoneAnswer, ...failures },
  };
  server.delete('/management/users/:id', { config, schema: deleteSchema }, async (request) =>
    answerOnce(request, async (record) => {
      await access.deleteUser(request.caller, request.params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}

function serveInvitations(server: Server, { access, answerOnce, findBaseUrl }: UserRouteParts): void {
  const listSchema = {
    tags,
    summary: 'List the invitations that are open',
    querystring: ListQuery,
    response: { 200: InvitationPage, ...failures },
  };
  server.get('/management/invitations', { config, schema: listSchema }, async (request) => {
    const { items, nextCursor } = await access.listInvitations(request.caller, request.query);
    return { items: items.map(toWireInvitation), nextCursor };
  });

  const createSchema = {
    tags,
    summary: 'Invite somebody',
    description:
      'The link is good once and for 7 days. A repetition by `Idempotency-Key` has no `link`; another invitation to the same address takes the place of this one.',
    body: NewInvitation,
    response: { 201: WireMadeInvitation, ...failures },
  };
  server.post('/management/invitations', { config, schema: createSchema }, async (request, reply) => {
    const answer = await answerOnce(request, async (record) => {
      // The answer kept for an idempotency key is stored, and tokens must not be.
      const beside: Beside<Invitation> = (tx, invitation) => record(tx, toWireInvitation(invitation));
      const made = await access.invite(request.caller, request.body, beside);
      return { ...toWireInvitation(made), link: invitationUrl(findBaseUrl(), made.token) };
    });
    return reply.code(201).send(answer);
  });
}

function serveInvitation(server: Server, { access, answerOnce }: UserRouteParts): void {
  const schema = {
    tags,
    summary: 'Withdraw an invitation',
    params: UserParams,
    response: { 200: DoneAnswer, ...failures },
  };
  server.delete('/management/invitations/:id', { config, schema }, async (request) =>
    answerOnce(request, async (record) => {
      await access.deleteInvitation(request.caller, request.params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}
