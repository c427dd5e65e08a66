import { type AnswerOnce, DoneAnswer, done, ListQuery } from '../../http/answers/answers.ts';
import { type Routes, type Server, serve, serveOnce } from '../../http/server/server.ts';
import type { Beside } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import { invitationUrl, type User } from './user.ts';
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
import type { Invitation } from './user-store.ts';

export interface UserRouteParts {
  readonly access: Access;
  readonly answerOnce: AnswerOnce;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
}

const config = { guard: 'management', access: 'manage', role: 'owner' } as const;
const tags = ['Users'];

/** Source: docs/interface.md §14.6. */
export const userRoutes =
  (parts: UserRouteParts): Routes =>
  (server) => {
    serveUsers(server, parts);
    serveInvitations(server, parts);
    serveInvitation(server, parts);
  };

function serveUsers(server: Server, { access, answerOnce }: UserRouteParts): void {
  const about = { config, tags };
  const list = {
    ...about,
    method: 'GET',
    path: '/management/users',
    summary: 'List the users of the account',
    ...{ query: ListQuery, answer: { 200: UserPage } },
  } as const;
  serve(server, list, async ({ caller, query }) => {
    const { items, nextCursor } = await access.listUsers(caller, query);
    return { items: items.map(toWireUser), nextCursor };
  });

  const aboutOne = { ...about, path: '/management/users/:id', params: UserParams, answerOnce };
  const change = {
    ...aboutOne,
    method: 'PATCH',
    summary: 'Change the role or the name of a user',
    description: 'Holds at once, also in sessions that are open.',
    ...{ body: UserChange, answer: { 200: WireUser } },
  } as const;
  serveOnce(server, change, ({ caller, params, body }, once) =>
    once(async (record) => {
      const beside: Beside<User> = (tx, user) => record(tx, toWireUser(user));
      return toWireUser(await access.changeUser(caller, { ...body, id: params.id }, beside));
    }),
  );

  const remove = {
    ...aboutOne,
    method: 'DELETE',
    summary: 'Delete a user',
    description: 'Their sessions end, and the invitations that they made.',
    answer: { 200: DoneAnswer },
  } as const;
  serveOnce(server, remove, ({ caller, params }, once) =>
    once(async (record) => {
      await access.deleteUser(caller, params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}

function serveInvitations(server: Server, { access, answerOnce, findBaseUrl }: UserRouteParts): void {
  const about = { path: '/management/invitations', config, tags };
  const list = {
    ...about,
    method: 'GET',
    summary: 'List the invitations that are open',
    ...{ query: ListQuery, answer: { 200: InvitationPage } },
  } as const;
  serve(server, list, async ({ caller, query }) => {
    const { items, nextCursor } = await access.listInvitations(caller, query);
    return { items: items.map(toWireInvitation), nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    summary: 'Invite somebody',
    description:
      'The link is good once and for 7 days. A repetition by `Idempotency-Key` has no `link`; another invitation to the same address takes the place of this one.',
    ...{ body: NewInvitation, answer: { 201: WireMadeInvitation }, answerOnce },
  } as const;
  serveOnce(server, create, ({ caller, body }, once) =>
    once(async (record) => {
      // The answer for an idempotency key is stored, and tokens must not be.
      const beside: Beside<Invitation> = (tx, invitation) => record(tx, toWireInvitation(invitation));
      const made = await access.invite(caller, body, beside);
      return { ...toWireInvitation(made), link: invitationUrl(findBaseUrl(), made.token) };
    }),
  );
}

function serveInvitation(server: Server, { access, answerOnce }: UserRouteParts): void {
  const endpoint = {
    method: 'DELETE',
    path: '/management/invitations/:id',
    ...{ config, tags, summary: 'Withdraw an invitation' },
    ...{ params: UserParams, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, ({ caller, params }, once) =>
    once(async (record) => {
      await access.deleteInvitation(caller, params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}
