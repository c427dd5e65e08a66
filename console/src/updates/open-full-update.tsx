import type { FullUpdatePreview } from '@relata/client';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { Figure } from '../parts/show.tsx';
import { formatCount, formatTenths } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';

const LOOK_MS = 15_000;

/** The session that was open when its figures were asked for: a connector may begin another at any time. */
interface ShownSession {
  readonly projectId: number;
  readonly fullUpdateId: number;
}

/** What the commit of the open full update would do: above all, what it would delete. Nothing when none is open. */
export function OpenFullUpdate() {
  const relata = useRelata();
  const project = useProject();
  const { canChange } = useRights();
  const [isOpen, setOpen] = useState(false);
  const preview = useQuery({
    queryKey: ['full-update', project.id],
    // To compare takes a while, and where none is open it would be refused.
    queryFn: async ({ signal }) => {
      const open = await relata.products.findFullUpdate(project.id, { signal });
      if (open === undefined) return null;
      const session = { projectId: project.id, fullUpdateId: open.fullUpdateId };
      return { session, ...(await relata.products.preview({ ...session, signal })) };
    },
    refetchInterval: LOOK_MS,
  });
  if (!preview.data) return <ErrorNote error={preview.error} />;
  const { session, deleted, deletePercent } = preview.data;
  return (
    <Card
      title={t('A full update is open')}
      actions={
        canChange && (
          <Button look="primary" onClick={() => setOpen(true)}>
            {t('Commit …')}
          </Button>
        )
      }
    >
      <Counts preview={preview.data} />
      {deleted.count > 0 && (
        <ToBeDeleted session={session} count={deleted.count} first={deleted.identifiers} />
      )}
      <CommitDialog
        session={session}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        deletes={deleted.count}
        percent={deletePercent}
      />
    </Card>
  );
}

/** The first hundred with the preview; all of them page by page. */
function ToBeDeleted({
  session,
  count,
  first,
}: {
  session: ShownSession;
  count: number;
  first: readonly string[];
}) {
  const relata = useRelata();
  const [isOpen, setOpen] = useState(false);
  const all = useInfiniteQuery({
    queryKey: ['to-be-deleted', session, count],
    queryFn: ({ pageParam, signal }) =>
      relata.products.previewDeleted({ ...session, limit: 1000, cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    enabled: isOpen,
  });
  const identifiers = all.data?.pages.flatMap(({ products }) => products.map(({ identifier }) => identifier));
  const hasMore = identifiers === undefined ? count > first.length : all.hasNextPage;
  return (
    <div className="stack">
      <div className="row spread">
        <h3>{t('To be deleted: {count, plural, one {# product} other {# products}}', { count })}</h3>
        <CopyButton
          text={(identifiers ?? first).join('\n')}
          label={t('Copy these identifiers')}
          words={t('Copy')}
        />
      </div>
      <p className="mono small">{(identifiers ?? first).join('  ')}</p>
      <ErrorNote error={all.error} />
      {hasMore && (
        <div className="row">
          <Button busy={all.isFetching} onClick={() => (isOpen ? void all.fetchNextPage() : setOpen(true))}>
            {t('Show more')}
          </Button>
        </div>
      )}
    </div>
  );
}

function Counts({ preview }: { preview: FullUpdatePreview }) {
  const { created, changed, unchanged, deleted, deletePercent } = preview;
  return (
    <dl className="figures">
      <Figure label={t('Created')} value={formatCount(created.count)} />
      <Figure label={t('Changed')} value={formatCount(changed.count)} />
      <Figure label={t('Unchanged')} value={formatCount(unchanged.count)} />
      <Figure
        label={t('Deleted')}
        value={formatCount(deleted.count)}
        more={t('{percent} % of the catalog', { percent: formatTenths(deletePercent) })}
      />
    </dl>
  );
}

function CommitDialog({
  session,
  isOpen,
  onClose,
  deletes,
  percent,
}: {
  session: ShownSession;
  isOpen: boolean;
  onClose(): void;
  deletes: number;
  percent: number;
}) {
  const relata = useRelata();
  const project = useProject();
  const queries = useQueryClient();
  const limit = project.settings.maxDeletePercent;
  const commit = async () => {
    // What was shown is what may happen: another session and any other number are refused.
    const { data } = await relata.products.start({ ...session, allowDeletes: deletes });
    await queries.invalidateQueries({ queryKey: ['full-update', project.id] });
    setTimeout(() => goTo(linkTo('projects', project.id, 'updates', data.task.id)));
  };
  return (
    <FormDialog
      title={t('Commit the full update')}
      action={deletes > 0 ? t('Commit and delete {count, number}', { count: deletes }) : t('Commit')}
      isDanger={deletes > 0}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={commit}
    >
      <p>{t('The uploaded products replace the catalog at once.')}</p>
      {percent > limit && (
        <p className="note warn">
          {t(
            'This is more than the {limit, number} % that the project allows. By confirming you allow exactly these {count, plural, one {# deletion} other {# deletions}}.',
            { limit, count: deletes },
          )}
        </p>
      )}
    </FormDialog>
  );
}
