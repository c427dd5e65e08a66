import { RelataError, type Task } from '@relata/client';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { t } from '../languages/text.ts';
import { readDetail, sayRefusal } from '../state/mistakes.ts';
import { projectLink } from '../state/route.ts';
import { ProjectContext, useRights, useSession } from '../state/session.tsx';
import { Button, Icon, type IconName, LinkButton } from './button.tsx';
import { Ago, type Column, Table, TaskStatus } from './show.tsx';

/** What stands in the head of every page, after its own actions. */
export const PageExtra = createContext<ReactNode>(undefined);

export type Crumb = readonly [words: string, href: string];

interface PageShape {
  title: string;
  /** What it belongs to within the project. */
  under?: readonly Crumb[];
  /** The way to it where that is another than by the project. */
  crumbs?: readonly Crumb[];
  actions?: ReactNode;
  about?: ReactNode;
  isNarrow?: boolean;
  children: ReactNode;
}

/** A view: where one is, its title, what can be done, its content. */
export function Page({ title, under = [], crumbs, actions, about, isNarrow, children }: PageShape) {
  const extra = useContext(PageExtra);
  const project = useContext(ProjectContext);
  const way = crumbs ?? (project ? [[project.name, projectLink()] as const, ...under] : []);
  useEffect(() => {
    document.title = `${title} · Relata`;
  }, [title]);
  return (
    <div className={isNarrow ? 'page narrow' : 'page'}>
      <div className="page-head">
        <div>
          {way.length > 0 && <Crumbs crumbs={way} />}
          <h1>{title}</h1>
          {about && <div className="soft">{about}</div>}
        </div>
        {(actions || extra) && (
          <div className="row">
            {actions}
            {extra}
          </div>
        )}
      </div>
      {children}
    </div>
  );
}

function Crumbs({ crumbs }: { crumbs: readonly Crumb[] }) {
  return (
    <nav className="crumbs" aria-label={t('Where you are')}>
      {crumbs.map(([words, href], at) => (
        <span key={words}>
          {at > 0 && <span aria-hidden="true">› </span>}
          <a href={href}>{words}</a>
        </span>
      ))}
    </nav>
  );
}

interface CardShape {
  title?: ReactNode;
  actions?: ReactNode;
  /** Without space around the content, for tables. */
  isBare?: boolean;
  children: ReactNode;
}

export function Card({ title, actions, isBare, children }: CardShape) {
  return (
    <section className="card">
      {(title || actions) && (
        <div className="card-head">
          <h2>{title}</h2>
          {actions && <div className="row">{actions}</div>}
        </div>
      )}
      {isBare ? children : <div className="card-body">{children}</div>}
    </section>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <span className="art">
        <Icon name={icon} size={36} />
      </span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface NoteShape {
  look: 'good' | 'warn' | 'bad';
  title?: ReactNode;
  lines?: readonly string[] | undefined;
  children?: ReactNode;
}

/** Something to be known before anything else. */
export function Note({ look, title, lines = [], children }: NoteShape) {
  return (
    <div className={`note ${look}`}>
      {title && <strong>{title}</strong>}
      {lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
      {children}
    </div>
  );
}

/** What went wrong, in the words of the service and with what it says to do. */
export function ErrorNote({ error }: { error: unknown }) {
  const isBack = useIsBack(error);
  if (!error || isBack) return null;
  const message = sayRefusal(error);
  const details = error instanceof RelataError ? error.details : [];
  const requestId = error instanceof RelataError ? error.requestId : undefined;
  return (
    <div className="note bad" role="alert">
      <strong>{message}</strong>
      {details.length > 0 && (
        <ul>
          {details.map((detail) => (
            <li key={detail}>{readDetail(detail)}</li>
          ))}
        </ul>
      )}
      {requestId && (
        <details className="soft small">
          <summary>{t('Details')}</summary>
          {t('Request {requestId}', { requestId })}
        </details>
      )}
    </div>
  );
}

/** Whether a call was refused for want of a session, and its user has signed in since. */
function useIsBack(error: unknown): boolean {
  const { isOver } = useSession();
  const [ended, setEnded] = useState<unknown>();
  if (isOver && ended !== error) setEnded(error);
  return !isOver && ended === error && error instanceof RelataError && error.status === 401;
}

export function Loading({ words = t('Loading …') }: { words?: string }) {
  return (
    <p className="soft" role="status">
      {words}
    </p>
  );
}

export interface Answered<Value> {
  readonly data: Value | undefined;
  readonly error: unknown;
}

interface AnswerShape<Value> {
  of: Answered<Value>;
  children(value: Value): ReactNode;
}

/** What a question to the service has brought: its answer, why there is none, or that it is under way. */
export function Answer<Value>({ of: { data, error }, children }: AnswerShape<Value>) {
  if (data !== undefined) return children(data);
  return error ? <ErrorNote error={error} /> : <Loading />;
}

/** What was worked out of an earlier draft, while it is done again. Not faded: one has to be able to read it. */
export function Renewed({ isOld, children }: { isOld: boolean; children: ReactNode }) {
  return (
    <div className="stack wide" aria-busy={isOld}>
      {children}
      {isOld && <p className="soft small">{t('Updating …')}</p>}
    </div>
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
  /** The words of the button that makes one, for those who may, and where or how. */
  create: readonly [words: string, how: string | (() => void)];
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
  create: [words, how],
  actions,
  above,
  children,
  ...page
}: ListPageShape<One>) {
  const { canChange } = useRights();
  const shared = { icon: 'plus', look: 'primary', children: words } as const;
  const button =
    typeof how === 'string' ? <LinkButton {...shared} href={how} /> : <Button {...shared} onClick={how} />;
  const create = canChange && button;
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
