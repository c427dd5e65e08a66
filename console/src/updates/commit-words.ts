import type { Commit } from '@relata/client';
import { t } from '../languages/text.ts';
import { formatAll } from '../rules/format.ts';

/** @returns such as `Full update` */
export const nameCommit = ({ kind }: Pick<Commit, 'kind'>): string =>
  kind === 'delete' ? t('Deletion of products') : t('Full update');

/** @returns such as `3 created, 1 deleted` */
export function sayCounts({
  created,
  changed,
  deleted,
}: Pick<Commit, 'created' | 'changed' | 'deleted'>): string {
  const parts = [
    created > 0 && t('{count, number} created', { count: created }),
    changed > 0 && t('{count, number} changed', { count: changed }),
    deleted > 0 && t('{count, number} deleted', { count: deleted }),
  ].filter((part) => part !== false);
  return parts.length === 0 ? t('no product changed') : formatAll(parts);
}

/** @returns who made it, as far as that is known */
export const sayAuthor = ({ author }: Pick<Commit, 'author'>): string =>
  author === null ? t('unknown') : author.name;

/** How far the undo log reaches. */
export function sayReach({
  keptCommits,
  keptDays,
}: {
  keptCommits: number;
  keptDays: number | null;
}): string {
  if (keptCommits === 0) return t('No commit is kept, so nothing can be undone.');
  const count = keptCommits;
  if (keptDays === null)
    return t(
      '{count, plural, one {The last commit or deletion is kept and can be undone.} other {The last # commits and deletions are kept and can be undone.}}',
      { count },
    );
  return t(
    '{count, plural, one {The last commit or deletion is kept} other {The last # commits and deletions are kept}} for {days, plural, one {# day} other {# days}} and can be undone.',
    { count, days: keptDays },
  );
}
