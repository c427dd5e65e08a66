import type { Task } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, use } from 'react';
import { t } from '../languages/text.ts';
import { ProjectContext, useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRights } from '../state/session.tsx';
import { LinkButton } from './button.tsx';
import { type Defined, nameList, nameOne } from './forms/draft.tsx';
import type { IconName } from './icon.tsx';
import { Answer, type Answered, Card, Empty, Page } from './page.tsx';
import { Ago, TaskStatus } from './show.tsx';
import { type Column, Table } from './table.tsx';

const BUSY_MS = 1_500;
const IDLE_MS = 15_000;

interface Named {
  readonly id: number;
  readonly name: string;
}

interface ListShape<One extends Named> {
  what: Defined;
  icon: IconName;
  about: string;
  /** What to do first. */
  hint: string;
  read(signal: AbortSignal): Promise<readonly One[]>;
  /** Whether it does something now. */
  isBusy(one: One): boolean;
  /** Below its name. */
  describe(one: One): ReactNode;
  columns: readonly Column<One>[];
}

/** What a project has of a kind, each with the state that it is in. */
export function DefinitionList<One extends Named>({ what, icon, about, hint, ...shape }: ListShape<One>) {
  const project = useProject();
  const { canChange } = useRights();
  const listed = useQuery({
    queryKey: [`${what}s`, project.id],
    queryFn: ({ signal }) => shape.read(signal),
    refetchInterval: ({ state }) => (state.data?.some(shape.isBusy) ? BUSY_MS : IDLE_MS),
  });
  const create = canChange && (
    <LinkButton icon="plus" look="primary" href={linkTo('projects', project.id, `${what}s`, 'new')}>
      {t('New {what}', { what })}
    </LinkButton>
  );
  return (
    <ListPage
      {...{ icon, about, hint, create, list: listed }}
      title={nameList(what)}
      empty={t('No {what} yet', { what })}
      columns={[
        [
          nameOne(what),
          (one) => (
            <>
              <a className="strong" href={linkTo('projects', project.id, `${what}s`, one.id)}>
                {one.name}
              </a>
              <div className="small soft break">{shape.describe(one)}</div>
            </>
          ),
        ],
        ...shape.columns,
      ]}
    />
  );
}

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
  title,
  about,
  icon,
  list,
  columns,
  empty,
  hint,
  create,
  actions,
  above,
  children,
}: ListPageShape<One>) {
  const project = use(ProjectContext);
  return (
    <Page
      title={title}
      crumbs={project ? [[project.name, linkTo('projects', project.id)]] : []}
      about={about}
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
