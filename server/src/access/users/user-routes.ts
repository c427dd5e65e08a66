import { Type } from 'typebox';
import { closedObject, Instant, Name, orNull, titled } from '../../http/answers/answers.ts';
import {
  answerAs,
  fieldsOf,
  inReach,
  type Routes,
  type RouteTools,
  type Server,
  serveKind,
} from '../../http/server/server.ts';
import type { Caller } from '../../kernel/caller.ts';
import { optional } from '../../kernel/optional.ts';
import { WireActor } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import { invitationUrl, type User } from './user.ts';
import { Email, NewPartRoles, PartRoles, RoleWord, SignsInWith, wireUserFields } from './user-schemas.ts';
import type { Invitation } from './user-store.ts';

const WireUser = titled('User', {
  ...wireUserFields,
  createdAt: Instant,
  signedInAt: orNull(Instant, 'the last sign-in'),
  signsInWith: SignsInWith,
  passkeys: Type.Integer({ description: 'the number of passkeys' }),
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
  link: optional.text(
    'to send to the person; shown once, so a repeated request with the same Idempotency-Key has none',
  ),
});

const toInvitation = fieldsOf(WireInvitation);

interface UserRouteParts extends RouteTools {
  readonly access: Access;
}

/** Source: docs/interface §14.6. */
export const userRoutes =
  (parts: UserRouteParts): Routes =>
  (server) => {
    serveUsers(server, parts);
    serveInvitations(server, parts);
  };

const managed = { ...inReach, config: { role: 'owner' }, tags: ['Users'] } as const;

function serveUsers(server: Server, { access, answerOnce }: UserRouteParts): void {
  const users = serveKind<User, Caller>(server, {
    ...managed,
    answerOnce,
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
    description: 'Takes effect immediately, also in open sessions.',
    change: access.changeUser,
  });
  users.remove({
    summary: 'Delete a user',
    description: 'Also ends the sessions of the user, and withdraws the invitations that the user made.',
    remove: access.deleteUser,
  });
}

function serveInvitations(server: Server, { access, answerOnce, findBaseUrl }: UserRouteParts): void {
  const invitations = serveKind<Invitation, Caller>(server, {
    ...managed,
    answerOnce,
    path: '/management/invitations',
    answer: answerAs(WireInvitation, toInvitation),
  });
  invitations.list({ summary: 'List open invitations', list: access.listInvitations });
  invitations.create({
    summary: 'Invite a person',
    description:
      'The link works once, within 7 days. A repeated request with the same `Idempotency-Key` has no `link`. A later invitation to the same address replaces this one.',
    body: closedObject({ email: Email, role: RoleWord, roles: Type.Optional(NewPartRoles) }),
    made: answerAs(WireMadeInvitation, (made: Invitation & { readonly token: string }) => ({
      ...toInvitation(made),
      link: invitationUrl(findBaseUrl(), made.token),
    })),
    create: access.invite,
  });
  invitations.remove({ summary: 'Withdraw an invitation', remove: access.deleteInvitation });
}
