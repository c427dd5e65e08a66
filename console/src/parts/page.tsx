import { Dialog as Base } from '@base-ui/react/dialog';
import { RelataError, type Task } from '@relata/client';
import { Component, createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { t } from '../languages/text.ts';
import { handleSubmit } from '../state/forms.ts';
import { describeRefusal, listDetails } from '../state/mistakes.ts';
import { ProjectContext, useRights } from '../state/rights.ts';
import { projectLink } from '../state/route.ts';
import { useSession } from '../state/session.tsx';
import { Button, Icon, IconButton, type IconName, LinkButton, type Look } from './button.tsx';
import { Ago, type Column, Table, TaskStatus } from './show.tsx';

/** Elements in the head of every page, after its own actions. */
export const PageExtra = createContext<ReactNode>(undefined);

export type Crumb = readonly [words: string, href: string];

interface PageShape {
  title: string;
  /** The pages above it within the project. */
  under?: readonly Crumb[];
  /** The complete path to the page, if it does not lead through the project. */
  crumbs?: readonly Crumb[];
  actions?: ReactNode;
  about?: ReactNode;
  isNarrow?: boolean;
  children: ReactNode;
}

/** A view: the path to it, its title, its actions, its content. */
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

const Crumbs = ({ crumbs }: { crumbs: readonly Crumb[] }) => (
  <nav className="crumbs" aria-label={t('Where you are')}>
    {crumbs.map(([words, href], index) => (
      <span key={words}>
        {index > 0 && <span aria-hidden="true">› </span>}
        <a href={href}>{words}</a>
      </span>
    ))}
  </nav>
);

interface CardShape {
  title?: ReactNode;
  actions?: ReactNode;
  /** No padding around the content, for tables. */
  isBare?: boolean;
  children: ReactNode;
}

export const Card = ({ title, actions, isBare, children }: CardShape) => (
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

export const Empty = ({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) => (
  <div className="empty">
    <span className="art">
      <Icon name={icon} size={36} />
    </span>
    <h2>{title}</h2>
    {children}
  </div>
);

interface NoteShape {
  look: 'good' | 'warn' | 'bad';
  title?: ReactNode;
  lines?: readonly string[] | undefined;
  children?: ReactNode;
}

/** Information that readers need before the rest. */
export const Note = ({ look, title, lines = [], children }: NoteShape) => (
  <div className={`note ${look}`}>
    {title && <strong>{title}</strong>}
    {lines.map((line) => (
      <span key={line}>{line}</span>
    ))}
    {children}
  </div>
);

/** An error with its details, in words for the user. */
export function ErrorNote({ error }: { error: unknown }) {
  const isBack = useIsBack(error);
  if (!error || isBack) return null;
  const message = describeRefusal(error);
  const requestId = error instanceof RelataError ? error.requestId : undefined;
  return (
    <div className="note bad" role="alert">
      <strong>{message}</strong>
      <Details list={listDetails(error)} />
      {requestId && (
        <details className="soft small">
          <summary>{t('Details')}</summary>
          {t('Request {requestId}', { requestId })}
        </details>
      )}
    </div>
  );
}

export const Details = ({ list }: { list: readonly string[] }) =>
  list.length > 0 && (
    <ul>
      {list.map((detail) => (
        <li key={detail}>{detail}</li>
      ))}
    </ul>
  );

/** Whether a call was refused for lack of a session, and its user has signed in since. */
function useIsBack(error: unknown): boolean {
  const { isOver } = useSession();
  const [ended, setEnded] = useState<unknown>();
  if (isOver && ended !== error) setEnded(error);
  return !isOver && ended === error && error instanceof RelataError && error.status === 401;
}

export const Loading = ({ words = t('Loading …') }: { words?: string }) => (
  <p className="soft" role="status">
    {words}
  </p>
);

export interface Answered<Value> {
  readonly data: Value | undefined;
  readonly error: unknown;
}

interface AnswerShape<Value> {
  of: Answered<Value>;
  children(value: Value): ReactNode;
}

/** The state of a query: its answer, an error, or that it is loading. */
export function Answer<Value>({ of: { data, error }, children }: AnswerShape<Value>) {
  if (data !== undefined) return children(data);
  return error ? <ErrorNote error={error} /> : <Loading />;
}

/**
 * The result of an earlier draft while a new result is computed. It is not faded, because it has to stay
 * readable.
 */
export const Renewed = ({ isOld, children }: { isOld: boolean; children: ReactNode }) => (
  <div className="stack wide" aria-busy={isOld}>
    {children}
    {isOld && <p className="soft small">{t('Updating …')}</p>}
  </div>
);

interface ListPageShape<One extends { readonly id: number }> {
  title: string;
  about: string;
  icon: IconName;
  list: Answered<readonly One[]>;
  columns: readonly Column<One>[];
  /** The text of an empty list, and the first thing to do. */
  empty: string;
  hint: string;
  /** The label of the create button for users who may create, and its link or action. */
  create: readonly [words: string, how: string | (() => void)];
  actions?: ReactNode;
  above?: ReactNode;
  children?: ReactNode;
}

/** The page of all items of a kind: a table, or what to do first if there are none. */
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

type LastTask = Pick<Task, 'taskStatus' | 'finishTime'> & { readonly startTime: number };

/** The result of a definition's last run. */
export function LastTaskNote({ task, children }: { task: LastTask | null; children: ReactNode }) {
  if (task === null) return <span className="soft">{t('never')}</span>;
  return (
    <>
      <span className="row">
        <TaskStatus task={task} />
        <span className="soft small">
          <Ago instant={task.finishTime ?? task.startTime} />
        </span>
      </span>
      <span className="small soft">{children}</span>
    </>
  );
}

interface DialogShape {
  title: string;
  isOpen: boolean;
  onClose(): void;
  isWide?: boolean;
  /** Whether neither the cross nor Escape closes it. */
  isFirm?: boolean;
  children: ReactNode;
}

export function Dialog({ title, isOpen, onClose, isWide, isFirm, children }: DialogShape) {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup
          ref={popup}
          className={isWide ? 'dialog wide' : 'dialog'}
          initialFocus={() => findStart(popup.current)}
        >
          <div className="row spread">
            <Base.Title>{title}</Base.Title>
            {!isFirm && <Base.Close render={<IconButton icon="cross" label={t('Close')} />} />}
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

const FIELDS = ['input:enabled:not([readonly])', 'select:enabled', 'textarea:enabled'].join();
/** The cancel button, which comes first. */
const LEAST_HARM = '.dialog-foot [type=button]';

/** @returns the first element to focus; the dialog itself if it has only the close button */
function findStart(popup: HTMLElement | null): HTMLElement | null {
  const find = (what: string) => popup?.querySelector<HTMLElement>(what);
  return find(FIELDS) ?? find(LEAST_HARM) ?? popup;
}

interface FormShape extends Omit<DialogShape, 'children' | 'isOpen'> {
  /** Undefined: the dialog is open while it is rendered. */
  isOpen?: boolean;
  action: string;
  isDanger?: boolean;
  canSubmit?: boolean;
  /** Whether closing it is the only action. */
  isReadOnly?: boolean;
  /** Whether input would be lost, so that closing has to be confirmed. */
  isUnsaved?: boolean;
  /** Closes the dialog when it succeeds; its error is shown. */
  onSubmit(): Promise<unknown>;
  children?: ReactNode;
}

interface ButtonShape extends Omit<FormShape, 'isOpen' | 'onClose'> {
  words: string;
  icon?: IconName;
  look?: Look;
  onClose?(): void;
}

/** A button that opens such a dialog, with the dialog. */
export function DialogButton({ words, icon, look, onClose, ...form }: ButtonShape) {
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    onClose?.();
  };
  return (
    <>
      <Button {...{ icon, look }} onClick={() => setOpen(true)}>
        {words}
      </Button>
      <FormDialog {...form} isOpen={isOpen} onClose={close} />
    </>
  );
}

/** A dialog for one action: its fields, its errors, and two buttons. */
export function FormDialog({
  action,
  isDanger,
  canSubmit = true,
  isReadOnly,
  isUnsaved = false,
  onSubmit,
  children,
  isOpen = true,
  ...dialog
}: FormShape) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [isAsking, setAsking] = useState(false);
  const closings = useRef(0);
  const close = () => {
    closings.current += 1;
    setError(undefined);
    setAsking(false);
    dialog.onClose();
  };
  // A user may press Escape, or click beside the dialog, twice by mistake. So only the button leaves.
  const leave = () => (isUnsaved ? setAsking(true) : close());
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    const before = closings.current;
    // A dialog that was closed during the action may be open again, with other content.
    await onSubmit().then(() => closings.current === before && close(), setError);
    setBusy(false);
  };
  return (
    <Dialog {...dialog} isOpen={isOpen} onClose={leave}>
      <form className="stack" onSubmit={handleSubmit(() => void submit())}>
        {children}
        <ErrorNote error={error} />
        {isAsking && (
          <p className="note warn" role="alert">
            {t('Leave without saving?')} {t('Your changes will be lost.')}
          </p>
        )}
        <div className="dialog-foot">
          {isAsking && <Button onClick={() => setAsking(false)}>{t('Stay here')}</Button>}
          <Button look={isAsking ? 'danger' : 'plain'} onClick={isAsking ? close : leave}>
            {isAsking ? t('Leave without saving') : isReadOnly ? t('Close') : t('Cancel')}
          </Button>
          {!isReadOnly && (
            <Button type="submit" look={isDanger ? 'danger' : 'primary'} busy={isBusy} disabled={!canSubmit}>
              {action}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

interface SafeShape {
  /** A change of the address renders the view again. */
  address: string;
  children: ReactNode;
}

/** Contains the error of a view, so that the other views and the navigation keep working. */
export class Safe extends Component<SafeShape, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate({ address }: SafeShape) {
    if (address !== this.props.address && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Page title={t('This page cannot be shown')}>
        <Card>
          <Empty icon="link" title={t('Part of the console could not be loaded')}>
            <p>{t('The service may be unreachable, or it may have just been updated.')}</p>
            <Button look="primary" onClick={() => location.reload()}>
              {t('Try again')}
            </Button>
          </Empty>
        </Card>
      </Page>
    );
  }
}

const RELOADED = 'relata-reloaded-at';
const RELOAD_PAUSE_MS = 60_000;

/**
 * @returns the file of a view. If an update of the console has removed it, the page is reloaded.
 * @throws the browser's error when the service is unreachable or the page was reloaded just before
 */
export async function loadFile<File>(file: () => Promise<File>): Promise<File> {
  try {
    return await file();
  } catch (error) {
    const reloadedAt = Number(sessionStorage.getItem(RELOADED));
    // Without a connection a reload would lose the current page.
    const isReached = await fetch(location.pathname, { method: 'HEAD' }).catch(() => undefined);
    if (!isReached?.ok || Date.now() - reloadedAt < RELOAD_PAUSE_MS) throw error;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
    return new Promise(() => {});
  }
}
