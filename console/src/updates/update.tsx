import type { Task } from '@relata/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Answer, Card, ErrorNote, Page } from '../parts/page.tsx';
import { Ago, Meter, TaskStatus } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { formatClock, formatDuration, formatMoment, nameTask } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo, useRoute } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { TaskReport } from './task-report.tsx';
import { nameOrigins } from './updates.tsx';

/** One task: how far it is, what it did, what it has to say about single products. */
export function Update() {
  const project = useProject();
  const { parts } = useRoute();
  const id = parts[3] ?? '';
  const followed = useTask(id);
  const { canChange } = useRights();
  const name = followed.data ? nameTask(followed.data.name) : t('Task');
  return (
    <Page
      title={name}
      crumbs={[
        [project.name, linkTo('projects', project.id)],
        [t('Updates'), linkTo('projects', project.id, 'updates')],
      ]}
      actions={canChange && followed.data && <CancelButton task={followed.data} />}
    >
      <Answer of={followed}>
        {(task) => (
          <>
            <Summary task={task} />
            <TaskLog task={task} />
            <TaskReport key={task.taskStatus} task={task} />
          </>
        )}
      </Answer>
    </Page>
  );
}

/** The task as it is, at every change. */
function useTask(id: string): { data: Task | undefined; error: unknown } {
  const relata = useRelata();
  const [task, setTask] = useState<Task>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const controller = new AbortController();
    const follow = async () => {
      for await (const next of relata.tasks.follow(id, { signal: controller.signal })) setTask(next);
    };
    follow().catch((reason: unknown) => {
      if (!controller.signal.aborted) setError(reason);
    });
    return () => controller.abort();
  }, [relata, id]);
  return { data: task?.id === id ? task : undefined, error };
}

function Summary({ task }: { task: Task }) {
  const took = task.finishTime === null ? undefined : formatDuration(task.finishTime - task.requestTime);
  const look = { FINISHED: 'good', FAILED: 'bad' }[task.taskStatus as string];
  return (
    <Card>
      <div className="row spread">
        <TaskStatus task={task} />
        <span className="soft" aria-live="polite">
          {task.progress} %
        </span>
      </div>
      <Meter share={task.progress / 100} label={t('Progress')} {...(look && { look })} />
      {task.error && (
        <div className="note bad">
          <strong>{task.error.message}</strong>
          {task.error.details?.map((detail) => (
            <span key={detail}>{detail}</span>
          ))}
        </div>
      )}
      {task.warnings && (
        <div className="note warn">
          {task.warnings.map((warning) => (
            <span key={warning}>{warning}</span>
          ))}
        </div>
      )}
      <dl className="pairs">
        <dt>{t('From')}</dt>
        <dd>{nameOrigins()[task.origin] ?? task.origin}</dd>
        <dt>{t('Accepted')}</dt>
        <dd>
          {formatMoment(task.requestTime)} (<Ago at={task.requestTime} />)
        </dd>
        {took && (
          <>
            <dt>{t('Took')}</dt>
            <dd>{took}</dd>
          </>
        )}
        <dt>{t('Id')}</dt>
        <dd className="mono">{task.id}</dd>
      </dl>
    </Card>
  );
}

function TaskLog({ task }: { task: Task }) {
  const relata = useRelata();
  const log = useQuery({
    queryKey: ['task-log', task.id, task.logCounter],
    queryFn: ({ signal }) => relata.tasks.log(task.id, { signal }),
    placeholderData: (before) => before,
  });
  return (
    <Card title={t('Log')}>
      <Answer of={log}>
        {(lines) =>
          lines.length === 0 ? (
            <p className="soft">{t('Nothing yet.')}</p>
          ) : (
            <ol className="stack small">
              {lines.map(({ at, line }, number) => (
                <li key={number} className="row">
                  <time className="soft mono" dateTime={new Date(at).toISOString()}>
                    {formatClock(at)}
                  </time>
                  <span>{line}</span>
                </li>
              ))}
            </ol>
          )
        }
      </Answer>
    </Card>
  );
}

function CancelButton({ task }: { task: Task }) {
  const relata = useRelata();
  const queries = useQueryClient();
  const tell = useTell();
  const [error, setError] = useState<unknown>();
  if (task.finishTime !== null || task.taskIncrementType === 'ITEM_BASED') return null;
  const cancel = async () => {
    setError(undefined);
    await relata.tasks.cancel(task.id);
    tell.good(t('The task was cancelled; nothing was changed'));
    await queries.invalidateQueries({ queryKey: ['tasks', task.projectId] });
  };
  return (
    <>
      <ErrorNote error={error} />
      <Button look="danger" icon="cross" onClick={() => void cancel().catch(setError)}>
        {t('Cancel')}
      </Button>
    </>
  );
}
