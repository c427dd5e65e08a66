import type { Task } from '@relata/client';
import type { ReactNode } from 'react';
import { t } from '../languages/text.ts';
import { formatDuration } from '../rules/format.ts';
import { type Key, usePages } from '../state/project.ts';
import { projectLink } from '../state/route.ts';
import { Answer, Card } from './page.tsx';
import { Ago, Meter, Older, Table, TaskStatus } from './show.tsx';

const BUSY_MS = 1_000;
const PAGE = 20;

/** One time that a definition was run. */
interface Ran {
  readonly task: Task;
  readonly startedBy: string;
}

interface Page {
  limit: number;
  cursor: string | undefined;
  signal: AbortSignal;
}

interface HistoryShape<Run extends Ran> {
  title: string;
  /** What one of them is called. */
  noun: 'run' | 'build';
  /** Names the definition and the last one: when it has another, or that has ended, so has its history. */
  queryKey: Key;
  isBusy: boolean;
  read(page: Page): Promise<{ items: Run[]; nextCursor: string | null }>;
  startedBy: Readonly<Record<Run['startedBy'], string>>;
  describe(run: Run): ReactNode;
  /** Before the first one. */
  never: string;
}

/** What a definition did, newest first; live while it does something. */
export function TaskHistory<Run extends Ran>({ title, queryKey, isBusy, read, ...shape }: HistoryShape<Run>) {
  const runs = usePages(queryKey, ({ cursor, signal }) => read({ limit: PAGE, cursor, signal }), {
    placeholderData: (before) => before,
    refetchInterval: isBusy ? BUSY_MS : false,
  });
  return (
    <Answer of={runs}>
      {({ pages }) => {
        const list = pages.flatMap(({ items }) => items);
        const isEmpty = list.length === 0;
        return (
          <Card title={title} isBare={!isEmpty}>
            {isEmpty ? <p className="soft">{shape.never}</p> : <HistoryTable runs={list} {...shape} />}
            <Older of={runs} />
          </Card>
        );
      }}
    </Answer>
  );
}

type TableShape<Run extends Ran> = { runs: readonly Run[] } & Pick<
  HistoryShape<Run>,
  'noun' | 'startedBy' | 'describe'
>;

function HistoryTable<Run extends Ran>({ runs, noun, startedBy, describe }: TableShape<Run>) {
  return (
    <Table
      rows={runs}
      keyOf={(run) => run.task.id}
      columns={[
        [
          t('{noun, select, run {Run} other {Build}}', { noun }),
          (run) => (
            <a className="strong" href={projectLink('updates', run.task.id)}>
              <Ago at={run.task.requestTime} />
            </a>
          ),
        ],
        [
          t('Status'),
          (run) => (
            <>
              <TaskStatus task={run.task} />
              {run.task.finishTime === null && (
                <Meter share={run.task.progress / 100} label={t('Progress of the {noun}', { noun })} />
              )}
            </>
          ),
        ],
        [
          t('Counts'),
          (run) => (
            <>
              {describe(run)}
              {run.task.error && <div className="small soft">{run.task.error.message}</div>}
              {run.task.warnings?.map((warning) => (
                <div key={warning} className="small soft">
                  {warning}
                </div>
              ))}
            </>
          ),
        ],
        [t('Started'), (run) => startedBy[run.startedBy as Run['startedBy']], 'wide-only soft'],
        [
          t('Took'),
          (run) => run.task.finishTime !== null && formatDuration(run.task.finishTime - run.task.requestTime),
          'wide-only soft number nowrap',
        ],
      ]}
    />
  );
}
