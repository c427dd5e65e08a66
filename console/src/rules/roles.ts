import type { User } from '@relata/client';
import { t } from '../languages/text.ts';

type Roles = Pick<User, 'role' | 'roles'>;

/** Whether the user may change a group and the projects in it. */
export const changesGroup = ({ role, roles }: Roles, groupId: number): boolean =>
  changesAll(role) ||
  roles.some(
    (one) => one.role === 'editor' && one.scope.type === 'project-group' && one.scope.id === groupId,
  );

/** Whether the user may change what is in a project. */
export const changesProject = (user: Roles, { id, projectGroupId }: { id: number; projectGroupId: number }) =>
  changesGroup(user, projectGroupId) ||
  user.roles.some((one) => one.role === 'editor' && one.scope.type === 'project' && one.scope.id === id);

/** Whether the user may change any group. */
export const changesSome = ({ role, roles }: Roles): boolean =>
  changesAll(role) || roles.some((one) => one.role === 'editor' && one.scope.type === 'project-group');

const changesAll = (role: Roles['role']) => role === 'owner' || role === 'editor';

export const nameRole = (role: string): string =>
  t('{role, select, owner {owner} editor {editor} viewer {viewer} other {user of parts}}', { role });

/** What a key may do. */
export const nameAccess = (access: string): string =>
  t('{access, select, page {page} read {read} write {write} other {manage}}', { access });
