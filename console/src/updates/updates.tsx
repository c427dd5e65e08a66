import type { FullUpdatePreview, Task } from '@relata/client';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { Answer, Card, Empty, ErrorNote, FormDialog, Page } from '../parts/page.tsx';
import { Ago, Figure, Meter, Older, Table, TaskStatus } from '../parts/show.tsx';
import { formatCount, formatDuration, formatTenths, nameTask } from '../rules/format.ts';
import { useOfProject, usePages } from '../state/answers.ts';
import { reread } from '../state/queries.ts';
import { useCalls, useRights } from '../state/rights.ts';
import { goFromHere, projectLink, useFilters } from '../state/route.ts';
import { TakeBack, Timeline, useCommits } from './timeline.tsx';

const BUSY_MS = 1_500;
const IDLE_MS = 10_000;

const listStatuses = () =>
  [
    ['', t('All')],
    ['RUNNING', t('Running')],
    ['PENDING', t('Waiting')],
    ['FINISHED', t('Finished')],
    ['FAILED', t('Failed')],
    ['CANCELLED', t('Cancelled')],
  ] as const;

type Status = Task['taskStatus'];

/** All past and upcoming changes of the catalog. */
export function Updates() {
  const { canChange } = useRights();
  const [{ status }, change] = useFilters(['status']);
  const tasks = useTasks(status as Status | '');
  return (
    <Page
      title={t('Updates')}
      about={t(
        'Slow work runs as a task: updates, deletions, restores, and work that the service starts itself.',
      )}
      actions={canChange && <RestoreButton />}
    >
      <OpenFullUpdate />
      <Timeline />
      <div className="filters">
        <SelectField
          label={t('Status')}
          choices={listStatuses()}
          value={status}
          onChange={(next) => change({ status: next })}
        />
      </div>
      <Answer of={tasks}>
        {({ pages }) => {
          const list = pages.flatMap((page) => page.tasks);
          return (
            <Card isBare>
              {list.length > 0 && <TaskTable tasks={list} />}
              {list.length === 0 && status !== '' && (
                <Empty icon="search" title={t('No task with this status')} />
              )}
              {list.length === 0 && status === '' && (
                <Empty icon="updates" title={t('No task yet')}>
                  <p>
                    {t('The first update of this project appears here, with its progress, log and report.')}
                  </p>
                </Empty>
              )}
              <Older of={tasks} />
            </Card>
          );
        }}
      </Answer>
    </Page>
  );
}

export const useTasks = (status: Status | '' = '', limit = 50) =>
  usePages(
    ['tasks', status, limit],
    ({ relata, ...asking }) => relata.tasks.list({ ...asking, limit, status: status || undefined }),
    {
      refetchInterval: ({ state }) =>
        state.data?.pages[0]?.tasks.some((task) => task.finishTime === null) ? BUSY_MS : IDLE_MS,
    },
  );

export const TaskTable = ({ tasks }: { tasks: readonly Task[] }) => (
  <Table
    rows={tasks}
    keyOf={(task) => task.id}
    columns={[
      [
        t('Task'),
        (task) => (
          <a className="strong" href={projectLink('updates', task.id)}>
            {nameTask(task.name)}
          </a>
        ),
      ],
      [
        t('Status'),
        (task) => (
          <>
            <TaskStatus task={task} />
            {task.taskStatus === 'RUNNING' && (
              <Meter
                share={task.progress / 100}
                label={t('Progress of {name}', { name: nameTask(task.name) })}
              />
            )}
          </>
        ),
      ],
      [t('From'), (task) => nameOrigins()[task.origin] ?? task.origin, 'wide-only soft'],
      [t('Accepted'), (task) => <Ago instant={task.requestTime} />, 'soft'],
      [
        t('Duration'),
        (task) => (task.finishTime === null ? '' : formatDuration(task.finishTime - task.requestTime)),
        'wide-only soft number nowrap',
      ],
    ]}
  />
);

export const nameOrigins = (): Readonly<Record<string, string>> => ({
  'LIVE-API': t('API'),
  CONSOLE: t('Console'),
  PIPELINE: t('Pipeline'),
  CHANNEL: t('Channel'),
});

function RestoreButton() {
  const commits = useCommits();
  const [isOpen, setOpen] = useState(false);
  // Undoing refers to the latest commit, which a list of ten seconds ago may lack.
  const open = () => {
    setOpen(true);
    void commits.refetch();
  };
  return (
    <>
      <Button onClick={open}>{t('Undo the last change …')}</Button>
      <TakeBack
        title={t('Undo the last change')}
        commitId={commits.data?.items[0]?.id}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      />
    </>
  );
}

const LOOK_MS = 15_000;

interface Shown {
  /** The session that was open when its figures were requested; a connector may begin another at any time. */
  readonly session: { readonly projectId: number; readonly fullUpdateId: number };
  /** Counts only grow. While they are the same, the session has exactly the compared products. */
  readonly accepted: { readonly batches: number; readonly products: number };
  readonly isInDoubt: boolean;
  readonly preview: FullUpdatePreview;
}

/** The effect of committing the open full update, above all its deletions. Nothing if none is open. */
export function OpenFullUpdate() {
  const { data: shown, error } = useOfProject(
    ['full-update'],
    // A comparison takes a while, and is refused if no full update is open.
    async ({ relata, projectId, signal }): Promise<Shown | null> => {
      // Counted before the comparison, so that the service refuses the commit if a batch arrives in between.
      const open = await relata.products.findFullUpdate(projectId, { signal });
      if (open === undefined) return null;
      const { fullUpdateId, batches, products, lastBatch } = open;
      const session = { projectId, fullUpdateId };
      const preview = await relata.products.preview({ ...session, signal });
      return { session, accepted: { batches, products }, isInDoubt: lastBatch === 'in doubt', preview };
    },
    { refetchInterval: LOOK_MS },
  );
  const [isOpen, setOpen] = useState(false);
  // The page behind the open dialog keeps refreshing. The dialog confirms the state that it showed first.
  const [confirmed, setConfirmed] = useState<Shown>();
  const open = (shown: Shown) => {
    setConfirmed(shown);
    setOpen(true);
  };
  return (
    <>
      <ErrorNote error={error} />
      {shown && <OpenCard shown={shown} onCommit={() => open(shown)} />}
      {confirmed && <CommitDialog shown={confirmed} isOpen={isOpen} onClose={() => setOpen(false)} />}
    </>
  );
}

function OpenCard({ shown, onCommit }: { shown: Shown; onCommit(): void }) {
  const { canChange } = useRights();
  const { session, preview, isInDoubt } = shown;
  const { created, changed, unchanged, deleted, deletePercent } = preview;
  return (
    <Card
      title={t('A full update is open')}
      actions={
        canChange && (
          <Button look="primary" disabled={isInDoubt} onClick={onCommit}>
            {t('Apply it …')}
          </Button>
        )
      }
    >
      {isInDoubt && (
        // The button is disabled, because its counts would confirm a full update that may lack products.
        <p className="note warn">
          {t('Some products may be missing. The program that sends them has to send the last part again.')}
        </p>
      )}
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
      {deleted.count > 0 && <ToBeDeleted session={session} preview={preview} />}
    </Card>
  );
}

/** The preview comes with the first hundred products. All of them are loaded page by page. */
function ToBeDeleted({ session, preview }: Pick<Shown, 'session' | 'preview'>) {
  const { count, identifiers: first } = preview.deleted;
  const [isOpen, setOpen] = useState(false);
  const all = usePages(
    ['to-be-deleted', session, count],
    ({ relata, cursor, signal }) =>
      relata.products.previewDeleted({ ...session, limit: 1000, cursor, signal }),
    { enabled: isOpen },
  );
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

function CommitDialog({ shown, isOpen, onClose }: { shown: Shown; isOpen: boolean; onClose(): void }) {
  const { relata, project } = useCalls();
  const limit = project.settings.maxDeletePercent;
  const { session, accepted, preview } = shown;
  const deletes = preview.deleted.count;
  const commit = async () => {
    const go = goFromHere();
    // The service applies only what was shown. It refuses another session, more batches or another number of
    // deletions.
    const { data } = await relata.products.start({ ...session, ...accepted, allowDeletes: deletes });
    await reread('full-update');
    setTimeout(() => go(projectLink('updates', data.task.id)));
  };
  return (
    <FormDialog
      title={t('Apply the full update')}
      action={deletes > 0 ? t('Apply and delete {count, number}', { count: deletes }) : t('Apply it')}
      isDanger={deletes > 0}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={commit}
    >
      <p>{t('The uploaded products replace the catalog in one step.')}</p>
      {preview.deletePercent > limit && (
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
