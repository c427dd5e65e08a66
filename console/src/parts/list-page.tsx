import type { Task } from '@relata/client';
import type { ReactNode } from 'react';
import { t } from '../languages/text.ts';
import type { IconName } from './icon.tsx';
import { Answer, type Answered, Card, Empty, Page } from './page.tsx';
import { Ago, TaskStatus } from './show.tsx';
import { type Column, Table } from './table.tsx';

interface ListPageShape<One extends { readonly id: number }> {
  title: string;
  about: string;
  icon: IconName;
  list: Answered<readonly One[]>;
  columns: readonly Column<One>[];
  /** Said of an empty list, and what to do first. */
  empty: string;
  hint: string;
  /** The button that makes one, for those who may. */
  create: ReactNode;
  /** What else can be done with the list. */
  actions?: ReactNode;
  above?: ReactNode;
  children?: ReactNode;
}

/** A page of all things of a kind: a table, or what to do first where there are none. */
export function ListPage<One extends { readonly id: number }>({
  icon,
  list,
  columns,
  empty,
  hint,
  create,
  actions,
  above,
  children,
  ...page
}: ListPageShape<One>) {
  return (
    <Page
      {...page}
      actions={
        <>
          {actions}
          {create}
        </>
      }
    >
      {above}
      <Answer of={list}>
        {(all) => (
          <Card isBare>
            {all.length === 0 ? (
              <Empty icon={icon} title={empty}>
                <p>{hint}</p>
                {create}
              </Empty>
            ) : (
              <Table rows={all} keyOf={({ id }) => id} columns={columns} />
            )}
          </Card>
        )}
      </Answer>
      {children}
    </Page>
  );
}

interface LastTask {
  readonly taskStatus: Task['taskStatus'];
  readonly startTime: number;
  readonly finishTime: number | null;
}

/** What became of the last run of a definition. */
export function LastTaskNote({ task, children }: { task: LastTask | null; children: ReactNode }) {
  if (task === null) return <span className="soft">{t('never')}</span>;
  return (
    <>
      <span className="row">
        <TaskStatus task={task} />
        <span className="soft small">
          <Ago at={task.finishTime ?? task.startTime} />
        </span>
      </span>
      <span className="small soft">{children}</span>
    </>
  );
}
