import { Type } from 'typebox';
import { closedObject, Id } from '../../http/answers/answers.ts';
import { WirePartScope } from '../../projects/projects.ts';

/** Mail servers accept 254 characters; only sending a mail shows whether an address exists. */
export const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s\\u0000-\\u001f@]+@[^\\s\\u0000-\\u001f@]+$',
  description: 'upper and lower case are the same',
});

export const RoleWord = Type.Union(
  [Type.Literal('owner'), Type.Literal('editor'), Type.Literal('viewer'), Type.Literal('none')],
  {
    description:
      'owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles`',
  },
);

/** Each request of the user reads all roles. More projects should be put into a group. */
const PART_ROLES = 100;
const WirePartRole = closedObject({
  scope: WirePartScope,
  role: Type.Union([Type.Literal('editor'), Type.Literal('viewer')]),
});
const description = 'the roles in project groups and projects, in addition to `role`';
export const PartRoles = Type.Array(WirePartRole, { description });
export const NewPartRoles = Type.Array(WirePartRole, { maxItems: PART_ROLES, description });

/** The `id` of a path. */
export const IdParams = Type.Object({ id: Id });
export const SignsInWith = Type.Union([Type.Literal('password'), Type.Literal('company-account')]);

export const wireUserFields = {
  id: Type.Integer(),
  email: Type.String(),
  name: Type.String(),
  role: RoleWord,
  roles: PartRoles,
};
