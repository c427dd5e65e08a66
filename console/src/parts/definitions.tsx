import type { Relata, Tagged, Task } from '@relata/client';
import { Fragment, type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { listChanged, type PartNames } from '../rules/changes.ts';
import { formatDuration } from '../rules/format.ts';
import { type Key, useOfProject, usePages } from '../state/answers.ts';
import { useAct } from '../state/forms.ts';
import { describeFailure, listMistakes, MistakesContext } from '../state/mistakes.ts';
import { tell } from '../state/notices.ts';
import { reread, rereading } from '../state/queries.ts';
import { useCalls, useRights } from '../state/rights.ts';
import { ask, goFromHere, projectLink, type Question, useRoute } from '../state/route.ts';
import { Button, type IconName, LinkButton } from './button.tsx';
import { type Draft, Meanwhile, saveMerged, useDraft } from './forms/draft.tsx';
import { Answer, Card, DialogButton, ErrorNote, ListPage, Page } from './page.tsx';
import { Ago, type Column, Meter, Older, Table, TaskStatus } from './show.tsx';

const BUSY_MS = 1_500;
const IDLE_MS = 15_000;

/** The kinds of things that a project lists, each with a view of its own. */
export type Defined = 'relation' | 'pipeline' | 'channel';

interface Named {
  readonly id: number;
  readonly name: string;
}

interface At {
  readonly relata: Relata;
  readonly projectId: number;
}

type AtOne = At & { readonly id: number };

/** A kind of definition in a project, and how to read and write it. Each feature has its own record. */
export interface Kind<Value extends Definition & Named, Definition extends object> {
  readonly what: Defined;
  list(project: At, signal: AbortSignal): Promise<readonly Value[]>;
  get(definition: AtOne, signal?: AbortSignal): Promise<Tagged<Value>>;
  create(project: At, definition: Definition): Promise<Value>;
  put(target: AtOne, definition: Definition, options: { ifMatch?: string }): Promise<Value>;
  delete(target: AtOne): Promise<unknown>;
  /** The names of the parts that can be changed. */
  nameParts(): PartNames<Definition>;
  isBusy(value: Value): boolean;
  /** Whether a save can be undone: not if it contains secrets, which cannot be read back. */
  readonly canUndo?: true;
  /** @returns the question to ask before saving; undefined if there is none */
  findDoubt?(definition: Definition): Omit<Question, 'action'> | undefined;
  /** A sentence added to the notice that it is saved. */
  sayState?(saved: Value): string;
}

export const nameOne = (what: Defined): string =>
  t('{what, select, relation {Relation} pipeline {Pipeline} other {Channel}}', { what });

export const nameList = (what: Defined): string =>
  t('{what, select, relation {Relations} pipeline {Pipelines} other {Channels}}', { what });

const listOf = (what: Defined) => projectLink(`${what}s`);

/** @returns a function that starts a task and reports it, and whether it is running */
export function useStart<Given = void>(
  message: string,
  start: (given: Given) => Promise<unknown>,
  names: readonly string[],
) {
  return useAct(async (input: Given) => {
    await start(input).then(() => tell.good(message), tell.bad);
    await reread(...names);
  });
}

interface ListShape<Value extends Named> {
  kind: Pick<Kind<Value, Value>, 'what' | 'list' | 'isBusy'>;
  icon: IconName;
  about: string;
  hint: string;
  /** The description below its name. */
  describe(definition: Value): ReactNode;
  columns: readonly Column<Value>[];
  actions?: (list: readonly Value[]) => ReactNode;
}

/** The project's definitions of a kind, each with its state. */
export function DefinitionList<Value extends Named>({ kind, describe, ...shape }: ListShape<Value>) {
  const { what } = kind;
  const listed = useOfProject([`${what}s`], ({ signal, ...project }) => kind.list(project, signal), {
    refetchInterval: ({ state }) => (state.data?.some(kind.isBusy) ? BUSY_MS : IDLE_MS),
  });
  const list = listOf(what);
  const { columns, actions, ...words } = shape;
  return (
    <ListPage
      {...words}
      list={listed}
      title={nameList(what)}
      empty={t('No {what} yet', { what })}
      create={[t('New {what}', { what }), `${list}/new`]}
      actions={listed.data && actions?.(listed.data)}
      columns={[
        [
          nameOne(what),
          (definition) => (
            <>
              <a className="strong" href={`${list}/${definition.id}`}>
                {definition.name}
              </a>
              <div className="small soft break">{describe(definition)}</div>
            </>
          ),
        ],
        ...columns,
      ]}
    />
  );
}

/** Deletes a definition, and opens its list. */
export function DeleteButton<Value extends Named>({
  kind: { what, ...kind },
  value: { id, name },
  children,
}: {
  kind: Pick<Kind<Value, Value>, 'what' | 'delete'>;
  value: Value;
  children: ReactNode;
}) {
  const { relata, projectId } = useCalls();
  const submit = async () => {
    const go = goFromHere();
    await kind.delete({ relata, projectId, id });
    await reread(`${what}s`);
    setTimeout(() => go(listOf(what)));
  };
  return (
    <DialogButton
      look="danger"
      words={t('Delete …')}
      title={t('Delete {name}', { name })}
      action={t('Delete the {what}', { what })}
      isDanger
      onSubmit={submit}
    >
      <p>{children}</p>
    </DialogButton>
  );
}

interface ViewShape<Value extends Named> {
  kind: Pick<Kind<Value, Value>, 'what' | 'get' | 'isBusy' | 'delete'>;
  deleting: string;
  actions(value: Value): ReactNode;
  children(value: Value): ReactNode;
}

/** One definition: its content and activity, reloaded while it is busy. */
export function DefinitionView<Value extends Named>({ kind, deleting, actions, children }: ViewShape<Value>) {
  const { what } = kind;
  const { parts } = useRoute();
  const { canChange } = useRights();
  const id = Number(parts[3]);
  const read = useOfProject(
    [what, id],
    async ({ signal, ...project }) => (await kind.get({ ...project, id }, signal)).value,
    { refetchInterval: ({ state }) => (state.data && kind.isBusy(state.data) ? BUSY_MS : IDLE_MS) },
  );
  const value = read.data;
  const list = listOf(what);
  return (
    <Page
      title={value?.name ?? nameOne(what)}
      under={[[nameList(what), list]]}
      actions={
        canChange &&
        value && (
          <>
            <DeleteButton kind={kind} value={value}>
              {deleting}
            </DeleteButton>
            <LinkButton href={`${list}/${id}/edit`}>{t('Change')}</LinkButton>
            {actions(value)}
          </>
        )
      }
    >
      <Answer of={read}>{children}</Answer>
    </Page>
  );
}

interface StoredShape<Value extends Named> {
  kind: Pick<Kind<Value, Value>, 'what' | 'get' | 'isBusy'>;
  children(stored: Tagged<Value> | undefined): ReactNode;
}

/** The stored definition to be changed, in its latest version; undefined for a new one. */
export function Stored<Value extends Named>({ kind, children }: StoredShape<Value>) {
  const id = useRoute().parts[3] ?? '';
  const isNew = id === 'new';
  const stored = useOfProject(
    [`${kind.what}-to-change`, id],
    ({ signal, ...project }) => kind.get({ ...project, id: Number(id) }, signal),
    {
      enabled: !isNew,
      // A user who returns to the page sees changes of other users immediately.
      refetchOnWindowFocus: 'always',
      refetchInterval: ({ state }) => (state.data && kind.isBusy(state.data.value) ? BUSY_MS : false),
      gcTime: 0,
    },
  );
  if (isNew) return <Fragment key="new">{children(undefined)}</Fragment>;
  return <Answer of={stored}>{(read) => <Fragment key={id}>{children(read)}</Fragment>}</Answer>;
}

/** @returns the draft of a stored or new thing, and a save that opens it, with its list and view reloaded */
export function useEditor<Value extends Definition & Named, Definition extends object>(
  kind: Kind<Value, Definition>,
  stored: Tagged<Value> | undefined,
  empty: Definition,
) {
  const { what } = kind;
  const { parts } = useRoute();
  const edited = useDraft<Definition>(stored, empty, kind.nameParts());
  const write = useWrite(kind, stored, edited);
  const refresh = () => reread(...shownAs(what));
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  async function save() {
    const doubt = kind.findDoubt?.(edited.draft);
    if (doubt !== undefined && !(await ask({ ...doubt, action: t('Save') }))) return;
    const go = goFromHere();
    setBusy(true);
    setError(undefined);
    await write().then(
      async (saved) => {
        edited.adopt(saved);
        if (parts.at(-1) !== String(saved.id)) go(`${listOf(what)}/${saved.id}`);
        await refresh();
      },
      (reason: unknown) => {
        setError(reason);
        // Mistakes are listed at the top.
        scrollTo(0, 0);
        // Both versions are shown once the other version has been read.
        void refresh();
      },
    );
    setBusy(false);
  }
  return { edited, save, error, isBusy };
}

/** The names of the answers that show a definition. */
const shownAs = (what: Defined) => [`${what}s`, what, `${what}-to-change`];

/** @returns a function that creates or merges the definition, and reports it with a way to undo */
function useWrite<Value extends Definition & Named, Definition extends object>(
  kind: Kind<Value, Definition>,
  stored: Tagged<Value> | undefined,
  edited: Draft<Definition>,
) {
  const { what } = kind;
  const { relata, projectId } = useCalls();

  function tellSaved(saved: Value, takeBack?: () => Promise<unknown>): void {
    const words = t('The {what} is saved', { what });
    if (takeBack) tell.undoable(words, takeBack, kind.sayState?.(saved));
    else tell.good(words, kind.sayState?.(saved));
  }

  return async (): Promise<Value> => {
    if (stored === undefined) {
      const created = await kind.create({ relata, projectId }, edited.draft);
      tellSaved(created);
      return created;
    }
    const target = { relata, projectId, id: stored.value.id };
    const { former, answer } = await saveMerged<Definition, Value>(edited, {
      what,
      read: () => kind.get(target),
      write: (definition, options) => kind.put(target, definition, options),
    });
    tellSaved(
      answer,
      kind.canUndo && (() => rereading(undo(kind, target, { saved: answer, former }), ...shownAs(what))),
    );
    return answer;
  };
}

/** Restores the version before the save, unless the definition was changed since. */
async function undo<Value extends Definition & Named, Definition extends object>(
  kind: Kind<Value, Definition>,
  target: AtOne,
  { saved, former }: { readonly saved: Value; readonly former: Definition },
): Promise<void> {
  const { what } = kind;
  const { value, etag } = await kind.get(target);
  if (listChanged(kind.nameParts(), saved, value).length > 0)
    throw new Error(t('This {what} was changed since: nothing is undone.', { what }));
  await kind.put(target, former, etag ? { ifMatch: etag } : {});
}

interface EditorShape<Definition> {
  what: Defined;
  stored: Tagged<Named> | undefined;
  editor: Pick<ReturnType<typeof useEditor>, 'save' | 'error' | 'isBusy'> & { edited: Draft<Definition> };
  /** Whether the stored definition has a view of its own. */
  hasView?: boolean;
  about?: ReactNode;
  actions?: ReactNode;
  /** An element in place of the save button, while something else has to be done first. */
  instead?: ReactNode;
  canSave: boolean;
  /** Whether the preview of the draft is still loading. */
  isTrying?: boolean;
  /** Mistakes that are known before the draft is saved, in addition to those that a save reports. */
  mistakes?: readonly string[];
  children: ReactNode;
}

/** The page of a new or changed definition. */
export function EditorPage<Definition extends object>({
  what,
  stored,
  editor: { edited, save, error, isBusy },
  hasView = false,
  about,
  actions,
  instead,
  canSave,
  isTrying = false,
  mistakes = [],
  children,
}: EditorShape<Definition>) {
  const { canChange } = useRights();
  const list = listOf(what);
  const { id, name } = stored?.value ?? {};
  const own: readonly (readonly [string, string])[] = name && hasView ? [[name, `${list}/${id}`]] : [];
  return (
    <Page
      title={nameEditor(what, name, hasView && canChange)}
      about={about}
      under={[[nameList(what), list], ...own]}
      actions={
        canChange && (
          <>
            {hasView && <LinkButton href={own[0]?.[1] ?? list}>{t('Cancel')}</LinkButton>}
            {actions}
            {instead || (
              <Button
                look="primary"
                busy={isBusy || isTrying}
                disabled={!canSave}
                onClick={() => void save()}
              >
                {stored ? t('Save') : t('Create the {what}', { what })}
              </Button>
            )}
          </>
        )
      }
    >
      <ErrorNote error={error} />
      <Meanwhile what={what} of={edited} />
      <MistakesContext value={[...new Set([...listMistakes(error), ...mistakes])]}>
        <Fragment key={edited.round}>{children}</Fragment>
      </MistakesContext>
    </Page>
  );
}

function nameEditor(what: Defined, name: string | undefined, isChange: boolean): string {
  if (name === undefined) return t('New {what}', { what });
  return isChange ? t('Change {name}', { name }) : name;
}

const BUSY_HISTORY_MS = 1_000;
const PAGE = 20;

interface Ran {
  readonly task: Task;
  readonly startedBy: string;
}

interface HistoryShape<Run extends Ran> {
  title: string;
  noun: 'run' | 'build';
  /** Names the definition and its last run: when another run starts or ends, the history changes too. */
  queryKey: Key;
  isBusy: boolean;
  read(page: {
    limit: number;
    cursor: string | undefined;
    signal: AbortSignal;
  }): Promise<{ items: Run[]; nextCursor: string | null }>;
  startedBy: Readonly<Record<Run['startedBy'], string>>;
  describe(run: Run): ReactNode;
  never: string;
}

/** The runs of a definition, newest first; live while it is busy. */
export function TaskHistory<Run extends Ran>({ title, queryKey, isBusy, read, ...shape }: HistoryShape<Run>) {
  const runs = usePages(queryKey, ({ cursor, signal }) => read({ limit: PAGE, cursor, signal }), {
    placeholderData: (before) => before,
    refetchInterval: isBusy ? BUSY_HISTORY_MS : false,
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

const HistoryTable = <Run extends Ran>({ runs, noun, startedBy, describe }: TableShape<Run>) => (
  <Table
    rows={runs}
    keyOf={(run) => run.task.id}
    columns={[
      [
        t('{noun, select, run {Run} other {Build}}', { noun }),
        (run) => (
          <a className="strong" href={projectLink('updates', run.task.id)}>
            <Ago instant={run.task.requestTime} />
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
            {run.task.error && <div className="small soft">{describeFailure(run.task.error).message}</div>}
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
        t('Duration'),
        (run) => run.task.finishTime !== null && formatDuration(run.task.finishTime - run.task.requestTime),
        'wide-only soft number nowrap',
      ],
    ]}
  />
);
