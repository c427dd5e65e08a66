import { t } from '../languages/text.ts';

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

/** What the audit log says was done, `api-key.created`, in words; a deed that has none here as it is. Source: docs/interface.md §14.4. */
export function nameAction(action: string): string {
  const [subject = '', deed = ''] = action.split('.', 2);
  const say = (words: Readonly<Record<string, string>>, name: string) =>
    words[name] ?? name.replaceAll('-', ' ');
  return `${say(nameSubjects(), subject)} ${say(nameDeeds(), deed)}`;
}

export const nameActor = (type: string): string =>
  t('{type, select, user {user} key {key} other {command}}', { type });
