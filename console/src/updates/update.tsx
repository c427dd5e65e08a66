import type { ReportLine, Task } from '@relata/client';
import { keepPreviousData } from '@tanstack/react-query';
import { Fragment, useEffect, useState } from 'react';
import { presentLanguage, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Answer, Card, ErrorNote, Note, Page } from '../parts/page.tsx';
import { Ago, Meter, Pairs, ProductLink, saveTable, Table, TaskStatus } from '../parts/show.tsx';
import { separatorOf, toCsvLine } from '../rules/csv.ts';
import { formatClock, formatCount, formatDuration, formatMoment, nameTask } from '../rules/format.ts';
import { useAnswer } from '../state/answers.ts';
import { useAct } from '../state/forms.ts';
import { describeFailure } from '../state/mistakes.ts';
import { tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useRights } from '../state/rights.ts';
import { projectLink, useRoute } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { nameOrigins } from './updates.tsx';

/** One task: its progress, its results, and its messages about single products. */
export function Update() {
  const { parts } = useRoute();
  const id = parts[3] ?? '';
  const followed = useTask(id);
  const { canChange } = useRights();
  const name = followed.data ? nameTask(followed.data.name) : t('Task');
  return (
    <Page
      title={name}
      under={[[t('Updates'), projectLink('updates')]]}
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

function FailureNote({ failure }: { failure: Task['error'] }) {
  const { message, details } = describeFailure(failure);
  return <Note look="bad" title={message} lines={details} />;
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
      {task.error && <FailureNote failure={task.error} />}
      {task.warnings && <Note look="warn" lines={task.warnings} />}
      <Pairs
        pairs={[
          [t('From'), nameOrigins()[task.origin] ?? task.origin],
          [
            t('Accepted'),
            <Fragment key="at">
              {formatMoment(task.requestTime)} (<Ago instant={task.requestTime} />)
            </Fragment>,
          ],
          took !== undefined && [t('Duration'), took],
          [t('Id'), task.id, 'mono'],
        ]}
      />
    </Card>
  );
}

function TaskLog({ task }: { task: Task }) {
  const log = useAnswer(
    ['task-log', task.id, task.logCounter],
    ({ relata, signal }) => relata.tasks.log(task.id, { signal }),
    { placeholderData: keepPreviousData },
  );
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
  const { run, error } = useAct(async () => {
    await relata.tasks.cancel(task.id);
    tell.good(t('The task was cancelled; nothing was changed'));
    await reread('tasks');
  });
  if (task.finishTime !== null || task.taskIncrementType === 'ITEM_BASED') return null;
  return (
    <>
      <ErrorNote error={error} />
      <Button look="danger" icon="cross" onClick={() => void run()}>
        {t('Cancel')}
      </Button>
    </>
  );
}

/** As many lines as a person reads; the download has all of them. */
const SHOWN_LINES = 500;
const COLUMNS = ['identifier', 'code', 'attribute', 'value', 'message'] as const;
/** Columns for runs of pipelines. */
const PLACES = ['row', 'column'] as const;

const hasPlace = ({ row, column }: ReportLine) => row !== undefined || column !== undefined;

/** The part of a product that a line is about: builds of channels report fields of their format. */
const aboutOf = ({ attribute, field }: ReportLine) => attribute ?? field;

/** The task's messages about single products and values. */
export function TaskReport({ task }: { task: Task }) {
  const report = useAnswer(['task-report', task.id, task.taskStatus], async ({ relata, signal }) => {
    const lines: ReportLine[] = [];
    for await (const line of relata.tasks.report(task.id, { signal })) {
      if (lines.length === SHOWN_LINES) return { lines, hasMore: true };
      lines.push(line);
    }
    return { lines, hasMore: false };
  });
  const hasLines = (report.data?.lines.length ?? 0) > 0;
  return (
    <Card title={t('Report')} actions={hasLines && <Download taskId={task.id} />} isBare={hasLines}>
      <Answer of={report}>
        {({ lines, hasMore }) =>
          lines.length === 0 ? (
            <p className="soft">{t('No report lines about single products.')}</p>
          ) : (
            <>
              <ReportTable lines={lines} />
              {hasMore && (
                <p className="grid-foot">
                  {t('The first {count} lines; the download has all of them.', {
                    count: formatCount(SHOWN_LINES),
                  })}
                </p>
              )}
            </>
          )
        }
      </Answer>
    </Card>
  );
}

function ReportTable({ lines }: { lines: readonly ReportLine[] }) {
  const hasPlaces = lines.some(hasPlace);
  return (
    <Table
      isSmall
      label={t('Lines of the report')}
      rows={lines}
      keyOf={(_, number) => number}
      columns={[
        [t('Product'), (line) => line.identifier && <ProductLink identifier={line.identifier} />],
        hasPlaces && [t('Row'), (line) => line.row, 'number'],
        hasPlaces && [t('Column'), (line) => line.column, 'mono'],
        [
          t('Code'),
          (line) =>
            line.code ? (
              <span className="tag">{line.code}</span>
            ) : (
              t('{more} more', { more: formatCount(line.more ?? 0) })
            ),
          'nowrap',
        ],
        [t('Attribute or field'), (line) => aboutOf(line)],
        [t('Value'), (line) => line.value, 'mono'],
        [t('Message'), (line) => line.message],
      ]}
    />
  );
}

function toCsv(lines: readonly ReportLine[], separator: string): string[] {
  const names = [...COLUMNS, ...(lines.some(hasPlace) ? PLACES : [])];
  const toCells = (line: ReportLine) =>
    line.more === undefined
      ? names.map((name) => (name === 'attribute' ? aboutOf(line) : line[name]))
      : ['', 'more', '', '', line.more];
  return [names, ...lines.map(toCells)].map((cells) => toCsvLine(cells, separator));
}

function Download({ taskId }: { taskId: string }) {
  const relata = useRelata();
  const save = async () => {
    const lines: ReportLine[] = [];
    for await (const line of relata.tasks.report(taskId)) lines.push(line);
    saveTable(`report-${taskId}.csv`, toCsv(lines, separatorOf(presentLanguage())));
  };
  const { run, isBusy } = useAct(() => save().catch(tell.bad));
  return (
    <Button icon="download" busy={isBusy} onClick={() => void run()}>
      {t('Download as CSV')}
    </Button>
  );
}
