import type { Commit, CommitChange } from '@relata/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { Answer } from '../parts/page.tsx';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { ChangeKind, ProductDifference } from './product-difference.tsx';

const listKinds = () =>
  [
    ['', t('All')],
    ['created', t('Created')],
    ['changed', t('Changed')],
    ['deleted', t('Deleted')],
  ] as const;

type Kind = CommitChange['kind'];

/** The products that a commit changed, each opened to its old and new side. */
export function CommitChanges({ commit }: { commit: Commit }) {
  const [kind, setKind] = useState('');
  const changes = useCommitChanges(commit.id, { kind: kind as Kind | '', limit: 20 });
  return (
    <div className="stack">
      <div className="filters">
        <SelectField
          label={t('Show')}
          choices={listKinds()}
          value={kind}
          onChange={(event) => setKind(event.target.value)}
        />
      </div>
      <Answer of={changes}>
        {({ pages }) => (
          <>
            {pages
              .flatMap(({ items }) => items)
              .map((change) => (
                <Change key={change.productId} change={change} />
              ))}
            {pages[0]?.items.length === 0 && <p className="soft">{t('None')}</p>}
            {changes.hasNextPage && (
              <div>
                <Button busy={changes.isFetchingNextPage} onClick={() => void changes.fetchNextPage()}>
                  {t('Show more')}
                </Button>
              </div>
            )}
          </>
        )}
      </Answer>
    </div>
  );
}

export function useCommitChanges(
  commitId: number,
  { kind = '', limit, enabled = true }: { kind?: Kind | ''; limit: number; enabled?: boolean },
) {
  const relata = useRelata();
  const project = useProject();
  return useInfiniteQuery({
    queryKey: ['commits', project.id, 'changes', commitId, kind, limit],
    queryFn: ({ pageParam, signal }) =>
      relata.commits.changes(
        { projectId: project.id, commitId },
        { limit, signal, ...(kind && { kind }), ...(pageParam !== undefined && { cursor: pageParam }) },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    enabled,
  });
}

function Change({ change }: { change: CommitChange }) {
  const project = useProject();
  const [isOpen, setOpen] = useState(false);
  const { identifier, kind } = change;
  return (
    <details className="change" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <ChangeKind kind={kind} /> <span className="mono">{identifier}</span> {nameOf(change)}
      </summary>
      {isOpen && (
        <div className="stack">
          <ProductDifference change={change} />
          {kind !== 'deleted' && (
            <a href={linkTo('projects', project.id, 'products', identifier)}>{t('Open the product')}</a>
          )}
        </div>
      )}
    </details>
  );
}

/** @returns the name of the product, as it is after the commit */
export const nameOf = ({ before, after }: Pick<CommitChange, 'before' | 'after'>): string =>
  ((after ?? before) as { name?: string } | null)?.name ?? '';
