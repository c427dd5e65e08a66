import type { Task } from '@relata/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { Ago, Meter, TaskStatus } from '../parts/show.tsx';
import { formatDuration, nameTask } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo, useFilters } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { OpenFullUpdate } from './open-full-update.tsx';
import { TakeBack } from './take-back.tsx';
import { Timeline, useCommits } from './timeline.tsx';

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

const FILTERS = ['status'] as const;

type Status = Task['taskStatus'];

/** Everything that changed the catalog or is about to. */
export function Updates() {
  const project = useProject();
  const { canChange } = useRights();
  const [{ status }, change] = useFilters(FILTERS);
  const tasks = useTasks(project.id, status as Status | '');
  return (
    <Page
      title={t('Updates')}
      crumbs={[[project.name, linkTo('projects', project.id)]]}
      about={t(
        'Everything slow is a task: updates, deletions, restores and work that the service starts itself.',
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
          onChange={(event) => change({ status: event.target.value })}
        />
      </div>
      <Answer of={tasks}>
        {({ pages }) => {
          const list = pages.flatMap((page) => page.tasks);
          return (
            <Card isBare>
              {list.length === 0 ? <NoTask isFiltered={status !== ''} /> : <TaskTable tasks={list} />}
              {tasks.hasNextPage && (
                <div className="grid-foot">
                  <Button busy={tasks.isFetchingNextPage} onClick={() => void tasks.fetchNextPage()}>
                    {t('Show older ones')}
                  </Button>
                </div>
              )}
            </Card>
          );
        }}
      </Answer>
    </Page>
  );
}

function NoTask({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty icon="search" title={t('No task with this status')} />;
  return (
    <Empty icon="updates" title={t('No task yet')}>
      <p>{t('The first update of this project appears here, with its progress, log and report.')}</p>
    </Empty>
  );
}

export function useTasks(projectId: number, status: Status | '' = '', limit = 50) {
  const relata = useRelata();
  return useInfiniteQuery({
    queryKey: ['tasks', projectId, status, limit],
    queryFn: ({ pageParam, signal }) =>
      relata.tasks.list({ projectId, limit, cursor: pageParam, status: status || undefined, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    refetchInterval: ({ state }) =>
      state.data?.pages[0]?.tasks.some((task) => task.finishTime === null) ? BUSY_MS : IDLE_MS,
  });
}

export function TaskTable({ tasks }: { tasks: readonly Task[] }) {
  const project = useProject();
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th>{t('Task')}</th>
            <th>{t('Status')}</th>
            <th className="wide-only">{t('From')}</th>
            <th>{t('Accepted')}</th>
            <th className="wide-only number">{t('Took')}</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={task.id}>
              <td>
                <a className="strong" href={linkTo('projects', project.id, 'updates', task.id)}>
                  {nameTask(task.name)}
                </a>
              </td>
              <td>
                <TaskStatus task={task} />
                {task.taskStatus === 'RUNNING' && (
                  <Meter
                    share={task.progress / 100}
                    label={t('Progress of {name}', { name: nameTask(task.name) })}
                  />
                )}
              </td>
              <td className="wide-only soft">{nameOrigins()[task.origin] ?? task.origin}</td>
              <td className="soft">
                <Ago at={task.requestTime} />
              </td>
              <td className="wide-only soft number nowrap">
                {task.finishTime === null ? '' : formatDuration(task.finishTime - task.requestTime)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export const nameOrigins = (): Readonly<Record<string, string>> => ({
  'LIVE-API': t('API'),
  CONSOLE: t('Console'),
  PIPELINE: t('Pipeline'),
  CHANNEL: t('Channel'),
});

function RestoreButton() {
  const commits = useCommits();
  const [isOpen, setOpen] = useState(false);
  // What is undone is the last one of now: a list of ten seconds ago may lack it.
  const open = () => {
    setOpen(true);
    void commits.refetch();
  };
  return (
    <>
      <Button onClick={open}>{t('Undo the last commit …')}</Button>
      <TakeBack
        title={t('Undo the last commit or deletion')}
        commitId={commits.data?.items[0]?.id}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      />
    </>
  );
}
