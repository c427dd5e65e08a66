import type { Commit, CommitChange } from '@relata/client';
import { t } from '../languages/text.ts';
import { type ComparedProduct, type Difference, listDifferences } from '../rules/differences.ts';
import { formatAll } from '../rules/format.ts';
import { Table } from './show.tsx';

const nameField = ({ field, isAttribute }: Difference): string => {
  const own: Readonly<Record<string, string>> = {
    name: t('Name'),
    groupIdentifier: t('Group'),
    productUrl: t('Link'),
    categories: t('Categories'),
    images: t('Pictures'),
    settings: t('Settings'),
  };
  return isAttribute ? field : (own[field] ?? field);
};

interface ProductDifferenceShape {
  change: Pick<CommitChange, 'before' | 'after' | 'changedSince'>;
}

/** The differences of a product before and after, side by side. */
export function ProductDifference({ change }: ProductDifferenceShape) {
  const { before, after, changedSince } = change;
  const differences = listDifferences(before as ComparedProduct | null, after as ComparedProduct | null);
  if (differences.length === 0)
    return (
      <p className="soft">{t('Its values are read in another way. The uploaded data has not changed.')}</p>
    );
  return (
    <>
      {changedSince && (
        <p className="soft small">
          {t(
            'A later update changed it again. "After" shows it before the next full update or deletion, or as it is now.',
          )}
        </p>
      )}
      <Table
        rows={differences}
        keyOf={(difference) => `${difference.isAttribute} ${difference.field}`}
        columns={[
          [t('Field'), nameField],
          [t('Before'), ({ before: lines }) => <Side lines={lines} look="gone" />],
          [t('After'), ({ after: lines }) => <Side lines={lines} look="come" />],
        ]}
      />
    </>
  );
}

function Side({ lines, look }: { lines: readonly string[]; look: 'gone' | 'come' }) {
  if (lines.length === 0) return <span className="soft">{t('nothing')}</span>;
  return lines.map((line, index) => (
    <div key={`${index} ${line}`} className={`mono ${look}`}>
      {line}
    </div>
  ));
}

const listKinds = () =>
  ({
    created: ['good', t('created')],
    changed: ['busy', t('changed')],
    deleted: ['bad', t('deleted')],
  }) as const;

export function ChangeKind({ kind }: { kind: CommitChange['kind'] }) {
  const [look, words] = listKinds()[kind];
  return <span className={`badge ${look}`}>{words}</span>;
}

/** @returns for example `Full update` */
export const nameCommit = ({ kind }: Pick<Commit, 'kind'>): string =>
  kind === 'delete' ? t('Deletion of products') : t('Full update');

/** @returns for example `3 created, 1 deleted` */
export function describeCounts({
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

/** @returns its author, if known */
export const describeAuthor = ({ author }: Pick<Commit, 'author'>): string =>
  author === null ? t('unknown') : author.name;

interface SayReachShape {
  keptCommits: number;
  keptDays: number | null;
}

/** Shows how far back changes can be undone. */
export function describeReach({ keptCommits, keptDays }: SayReachShape): string {
  if (keptCommits === 0) return t('Nothing can be undone, because the settings do not keep any changes.');
  const count = keptCommits;
  if (keptDays === null)
    return t(
      '{count, plural, one {The last full update or deletion can be undone.} other {The last # full updates and deletions can be undone.}}',
      { count },
    );
  return t(
    '{count, plural, one {The last full update or deletion} other {The last # full updates and deletions}} can be undone for {days, plural, one {# day} other {# days}}.',
    { count, days: keptDays },
  );
}
