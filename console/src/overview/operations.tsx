import type { Task } from '@relata/client';
import { useQueries } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { LinkButton } from '../parts/button.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { Ago, Figure, Table, TaskStatus } from '../parts/show.tsx';
import { formatCount, nameTask } from '../rules/format.ts';
import { nameAction } from '../rules/roles.ts';
import { useAllKeys, useAnswer, useProjects } from '../state/answers.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { Statistics } from './statistics.tsx';

/** The number of projects whose tasks are requested, with one request each. */
const ASKED_PROJECTS = 20;
const TASKS_EACH = 5;
const SHOWN_TASKS = 10;

/** Current and past activity of the service: tasks, requests and catalogs over time. */
export const Operations = () => (
  <Page title={t('Operations')} about={t('What the service does: tasks, requests and catalogs over time.')}>
    <Answer of={useProjects()}>{() => <Account />}</Answer>
  </Page>
);

function Account() {
  const projects = useProjects().data ?? [];
  const { tasks, isReady } = useLatestTasks();
  const keys = useAllKeys();
  const running = tasks.filter((task) => task.finishTime === null).length;
  const failed = tasks.filter((task) => task.failure).length;
  return (
    <>
      <dl className="figures">
        <Figure label={t('Projects')} value={formatCount(projects.length)} />
        <Figure label={t('API keys')} value={formatCount(keys.data?.length ?? 0)} />
        <Figure
          label={t('Running now')}
          value={formatCount(running)}
          more={t('{count, plural, one {task} other {tasks}}', { count: running })}
        />
        <Figure
          label={t('Recently failed')}
          value={formatCount(failed)}
          more={t('{count, plural, one {task} other {tasks}}', { count: failed })}
        />
      </dl>
      <Statistics />
      <div className="columns">
        <Card title={t('Latest tasks')} isBare>
          {tasks.length === 0 ? (
            <Empty icon="updates" title={isReady ? t('No tasks yet') : t('Loading …')} />
          ) : (
            <LatestTasks tasks={tasks.slice(0, SHOWN_TASKS)} />
          )}
        </Card>
        <LatestChanges />
      </div>
    </>
  );
}

function useLatestTasks() {
  const relata = useRelata();
  const projects = useProjects().data ?? [];
  const answers = useQueries({
    queries: projects.slice(0, ASKED_PROJECTS).map(({ id }) => ({
      queryKey: ['latest-tasks', id],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        (await relata.tasks.list({ projectId: id, limit: TASKS_EACH, signal })).tasks,
      refetchInterval: 10_000,
    })),
  });
  const tasks = answers.flatMap(({ data }) => data ?? []).sort((a, b) => b.requestTime - a.requestTime);
  return { tasks, isReady: answers.every(({ isPending }) => !isPending) };
}

const LatestTasks = ({ tasks }: { tasks: readonly Task[] }) => (
  <Table
    rows={tasks}
    keyOf={(task) => task.id}
    columns={[
      [
        '',
        (task) => (
          <>
            <a className="strong" href={linkTo('projects', task.projectId, 'updates', task.id)}>
              {nameTask(task.name)}
            </a>
            <div className="soft small">{task.projectName}</div>
          </>
        ),
      ],
      ['', (task) => <TaskStatus task={task} />],
      ['', (task) => <Ago instant={task.requestTime} />, 'soft number'],
    ]}
  />
);

function LatestChanges() {
  const log = useAnswer(
    ['audit-log', 'latest'],
    async ({ relata, signal }) => (await relata.projects.auditLog({ limit: SHOWN_TASKS, signal })).items,
  );
  return (
    <Card
      title={t('Latest changes')}
      isBare
      actions={
        <LinkButton look="quiet" href={linkTo('audit-log')}>
          {t('All')}
        </LinkButton>
      }
    >
      <Answer of={log}>
        {(entries) => (
          <Table
            rows={entries}
            keyOf={({ id }) => id}
            columns={[
              [
                '',
                ({ actor, action, subject }) => (
                  <>
                    {nameAction(action)} <span className="soft">{String(subject.name ?? '')}</span>
                    <div className="soft small">{actor.name}</div>
                  </>
                ),
              ],
              ['', ({ at }) => <Ago instant={at} />, 'soft number'],
            ]}
          />
        )}
      </Answer>
    </Card>
  );
}
