import type { User } from '@relata/client';
import { t } from '../languages/text.ts';

type Roles = Pick<User, 'role' | 'roles'>;

/** Whether the user may change a group and the projects in it. */
export const changesGroup = ({ role, roles }: Roles, groupId: number): boolean =>
  changesAll(role) ||
  roles.some(
    (grant) => grant.role === 'editor' && grant.scope.type === 'project-group' && grant.scope.id === groupId,
  );

/** Whether the user may change what is in a project. */
export const changesProject = (user: Roles, { id, projectGroupId }: { id: number; projectGroupId: number }) =>
  changesGroup(user, projectGroupId) ||
  user.roles.some(
    (grant) => grant.role === 'editor' && grant.scope.type === 'project' && grant.scope.id === id,
  );

/** Whether the user may change any group. */
export const changesSome = ({ role, roles }: Roles): boolean =>
  changesAll(role) || roles.some((grant) => grant.role === 'editor' && grant.scope.type === 'project-group');

const changesAll = (role: Roles['role']) => role === 'owner' || role === 'editor';

export const nameRole = (role: string): string =>
  t('{role, select, owner {owner} editor {editor} viewer {viewer} other {user of parts}}', { role });

/** The access of a key, in words. */
export const nameAccess = (access: string): string =>
  t('{access, select, page {page} read {read} write {write} other {manage}}', { access });

const nameSubjects = (): Readonly<Record<string, string>> => ({
  account: t('account'),
  'api-key': t('api key'),
  channel: t('channel'),
  invitation: t('invitation'),
  ontology: t('attributes'),
  'owner-link': t('owner link'),
  pipeline: t('pipeline'),
  products: t('products'),
  project: t('project'),
  'project-group': t('project group'),
  relation: t('relation'),
  user: t('user'),
  'webhook-endpoint': t('webhook endpoint'),
});

const nameDeeds = (): Readonly<Record<string, string>> => ({
  accepted: t('accepted'),
  built: t('built'),
  changed: t('changed'),
  created: t('created'),
  deleted: t('deleted'),
  imported: t('imported'),
  'other-sessions-ended': t('other sessions ended'),
  'passkey-added': t('passkey added'),
  'passkey-removed': t('passkey removed'),
  'passkeys-removed': t('passkeys removed'),
  'password-changed': t('password changed'),
  replaced: t('replaced'),
  restored: t('restored'),
  rotated: t('rotated'),
  run: t('run'),
  'secret-rotated': t('secret rotated'),
  'url-rotated': t('url rotated'),
  'session-ended': t('session ended'),
  'signed-in': t('signed in'),
  'signed-out': t('signed out'),
});

/** An action of the audit log, `api-key.created`, in words, if known. Source: docs/interface §14.4. */
export function nameAction(action: string): string {
  const [subject = '', deed = ''] = action.split('.', 2);
  const wordOf = (words: Readonly<Record<string, string>>, name: string) =>
    words[name] ?? name.replaceAll('-', ' ');
  return `${wordOf(nameSubjects(), subject)} ${wordOf(nameDeeds(), deed)}`;
}

export const nameActor = (type: string): string =>
  t('{type, select, user {user} key {key} other {command}}', { type });
