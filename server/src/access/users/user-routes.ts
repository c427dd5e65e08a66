import { answerAs, inReach, type Routes, type RouteTools, serveKind } from '../../http/server/server.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { Access } from '../access.ts';
import { invitationUrl, type User } from './user.ts';
import * as schemas from './user-schemas.ts';
import type { Invitation } from './user-store.ts';

/** Source: docs/interface.md §14.6. */
export const userRoutes =
  ({ access, answerOnce, findBaseUrl }: RouteTools & { readonly access: Access }): Routes =>
  (server) => {
    const about = { ...inReach, config: { role: 'owner' }, tags: ['Users'], answerOnce } as const;
    const users = serveKind<User, Caller>(server, {
      ...{ ...about, path: '/management/users', answer: answerAs(schemas.WireUser, schemas.toWireUser) },
    });
    users.list({ summary: 'List the users of the account', list: access.listUsers });
    users.change({
      ...{ method: 'PATCH', summary: 'Change the role or the name of a user', body: schemas.UserChange },
      description: 'Holds at once, also in sessions that are open.',
      change: ({ author, beside }, { id }, sent) => access.changeUser(author, { ...sent, id }, beside),
    });
    users.remove({
      summary: 'Delete a user',
      description: 'Their sessions end, and the invitations that they made.',
      remove: ({ author, beside }, { id }) => access.deleteUser(author, id, beside),
    });

    const invitations = serveKind<Invitation, Caller>(server, {
      ...{
        ...about,
        path: '/management/invitations',
        answer: answerAs(schemas.WireInvitation, schemas.toWireInvitation),
      },
    });
    invitations.list({ summary: 'List the invitations that are open', list: access.listInvitations });
    invitations.create({
      summary: 'Invite somebody',
      description:
        'The link is good once and for 7 days. A repetition by `Idempotency-Key` has no `link`; another invitation to the same address takes the place of this one.',
      body: schemas.NewInvitation,
      made: answerAs(schemas.WireMadeInvitation, (made: Invitation & { readonly token: string }) => ({
        ...schemas.toWireInvitation(made),
        link: invitationUrl(findBaseUrl(), made.token),
      })),
      create: ({ author, beside }, sent) => access.invite(author, sent, beside),
    });
    invitations.remove({
      summary: 'Withdraw an invitation',
      remove: ({ author, beside }, { id }) => access.deleteInvitation(author, id, beside),
    });
  };
