import { Toast } from '@base-ui/react/toast';
import {
  type ApiKey,
  type ClientOptions,
  createRelata,
  type ManagedProject,
  type Relata,
  RelataError,
  type SignedIn,
  UnreachableError,
} from '@relata/client';
import {
  type InfiniteData,
  keepPreviousData,
  QueryClient,
  type UseInfiniteQueryOptions,
  type UseQueryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import {
  createContext,
  type FormEvent,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { t } from '../languages/text.ts';
import { changesGroup, changesProject, changesSome } from '../rules/roles.ts';
import { readDetail, sayRefusal } from './mistakes.ts';
import { hasUnsaved } from './route.ts';

/** The user of the console: a person with a session, or the holder of an API key. */
export type Who =
  | { kind: 'user'; session: SignedIn }
  /** The key stays in memory only, so a reload forgets it. */
  | { kind: 'key'; key: string };

interface SessionState {
  readonly relata: Relata;
  /** undefined while unknown; null without a user. */
  readonly who: Who | null | undefined;
  /** Whether the session has ended while something is unsaved; the page stays until its user is back. */
  readonly isOver: boolean;
  /** @throws RelataError when the key reaches nothing */
  useKey(key: string): Promise<void>;
  /** Signs the same user in again without leaving the page. */
  goOn(session: Promise<SignedIn>): Promise<void>;
  /** Discards unsaved input. */
  leave(): void;
  accept(make: (relata: Relata) => Promise<SignedIn>): Promise<void>;
  signOut(everywhere?: boolean): Promise<void>;
}

/** The project of the current view; undefined for views outside of projects. */
export const ProjectContext = createContext<ManagedProject | undefined>(undefined);

const Context = createContext<SessionState | undefined>(undefined);

/** Requests for the session, and sign-ins with a wrong password, are refused like an ended session. */
const SIGN_IN = '/management/session';

/** @returns the platform's fetch, which reports calls refused for lack of a session */
const watchRefusals =
  (refused: { readonly current: (() => Promise<void>) | undefined }): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    if (response.status === 401 && input !== SIGN_IN) void refused.current?.();
    return response;
  };

const hasEnded = (relata: Relata): Promise<boolean> =>
  relata.session.get().then(
    () => false,
    (error: unknown) => error instanceof RelataError && error.status === 401,
  );

type Connect = (options?: ClientOptions) => Relata;
type Enter = (who: Who | null, client: Relata) => void;

export function SessionProvider({ children }: { children: ReactNode }) {
  const [who, setWho] = useState<Who | null | undefined>(undefined);
  const [isOver, setOver] = useState(false);
  const refused = useRef<() => Promise<void>>(undefined);
  const connect = useCallback<Connect>(
    (options = {}) => createRelata({ ...options, fetch: watchRefusals(refused) }),
    [],
  );
  const [relata, setRelata] = useState(connect);

  const enter = useCallback<Enter>((next, client) => {
    queries.clear();
    setRelata(client);
    setWho(next);
    setOver(false);
  }, []);
  useStoredSession(connect, enter, setWho);

  // A session ends by itself or by a sign-out elsewhere: a 401 may mean that, or a project out of reach.
  useEffect(() => {
    refused.current = async () => {
      if (who?.kind !== 'user' || isOver || !(await hasEnded(relata))) return;
      if (hasUnsaved()) setOver(true);
      else enter(null, connect());
    };
  }, [relata, who, isOver, enter, connect]);

  const state = useMemo<SessionState>(
    () => ({ relata, who, isOver, ...createActions({ relata, who, connect, enter, setOver }) }),
    [relata, who, isOver, enter, connect],
  );
  return <Context value={state}>{children}</Context>;
}

/** Enters with the session of the browser's cookie, if there is one. */
function useStoredSession(connect: Connect, enter: Enter, setWho: (who: null) => void): void {
  useEffect(() => {
    const aborted = new AbortController();
    const client = connect({ retries: 1 });
    client.session
      .get({ signal: aborted.signal })
      .then((session) => enter({ kind: 'user', session }, client))
      // Signing in meets the same failure and explains it.
      .catch(() => {
        if (!aborted.signal.aborted) setWho(null);
      });
    return () => aborted.abort();
  }, [connect, enter, setWho]);
}

interface ActionParts extends Pick<SessionState, 'relata' | 'who'> {
  readonly connect: Connect;
  readonly enter: Enter;
  readonly setOver: (isOver: boolean) => void;
}

type Actions = Pick<SessionState, 'useKey' | 'goOn' | 'leave' | 'accept' | 'signOut'>;

const createActions = ({ relata, who, connect, enter, setOver }: ActionParts): Actions => ({
  async goOn(signingIn) {
    const session = await signingIn;
    const isSame = who?.kind === 'user' && who.session.user.id === session.user.id;
    if (!isSame) return enter({ kind: 'user', session }, relata);
    setOver(false);
    await reread();
  },
  leave: () => enter(null, connect()),
  async useKey(key) {
    const client = connect({ key });
    await client.projects.list({ limit: 1 });
    enter({ kind: 'key', key }, client);
  },
  async accept(make) {
    const client = connect();
    enter({ kind: 'user', session: await make(client) }, client);
  },
  async signOut(everywhere = false) {
    const elsewhere = who?.kind === 'user' ? await endSession(relata, everywhere) : undefined;
    enter(null, connect());
    if (elsewhere !== undefined) location.assign(elsewhere);
  },
});

/** Loaded only for users with a passkey. */
export const askDevice: Parameters<Relata['session']['signIn']>[2] = async (options) =>
  (await import('./authenticator.ts')).usePasskey(options);

/** @returns the address at which the company's provider signs out too */
const endSession = async (relata: Relata, everywhere: boolean): Promise<string | undefined> =>
  everywhere ? void (await relata.session.signOutEverywhere()) : relata.session.signOut();

export function useSession(): SessionState {
  const state = useContext(Context);
  if (state === undefined) throw new Error('SessionProvider is missing');
  return state;
}

export const useRelata = (): Relata => useSession().relata;

interface Rights {
  /** Applies to the view's project, or outside of projects to any group. */
  readonly canChange: boolean;
  canChangeGroup(id: number): boolean;
  readonly canChangeAll: boolean;
  readonly canManageUsers: boolean;
  readonly canManageAccountKeys: boolean;
}

const OF_KEYS: Rights = {
  canChange: true,
  canChangeGroup: () => true,
  canChangeAll: true,
  canManageUsers: false,
  canManageAccountKeys: true,
};

/** The rights of the current user. The service decides; the console only hides what it would refuse. */
export function useRights(): Rights {
  const { who } = useSession();
  const project = useContext(ProjectContext);
  if (who?.kind !== 'user') return OF_KEYS;
  const { user } = who.session;
  const isOwner = user.role === 'owner';
  return {
    canChange: project ? changesProject(user, project) : changesSome(user),
    canChangeGroup: (id) => changesGroup(user, id),
    canChangeAll: isOwner || user.role === 'editor',
    canManageUsers: isOwner,
    canManageAccountKeys: isOwner,
  };
}

/** The project of the current view. */
export function useProject(): ManagedProject {
  const project = useContext(ProjectContext);
  if (project === undefined) throw new Error('this view belongs to a project');
  return project;
}

/** The parameters that calls of the view share. */
export function useCalls() {
  const project = useProject();
  return { relata: useRelata(), project, projectId: project.id };
}

interface Asking {
  readonly relata: Relata;
  readonly signal: AbortSignal;
}

export interface AskingOfProject extends Asking {
  readonly projectId: number;
}

export type Key = readonly [name: string, ...of: unknown[]];

/** For a preview that is renewed while the user types: the earlier one stays until the new one arrives. */
export const WHILE_TYPING = {
  placeholderData: keepPreviousData,
  refetchOnWindowFocus: false,
  staleTime: 60_000,
  gcTime: 0,
} as const;

type Options<Value> = Omit<UseQueryOptions<Value>, 'queryKey' | 'queryFn'>;

/** An answer of the service, cached under its key. */
export function useAnswer<Value>(
  key: Key,
  ask: (asking: Asking) => Promise<Value>,
  options: Options<Value> = {},
) {
  const relata = useRelata();
  return useQuery({ queryKey: key, queryFn: ({ signal }) => ask({ relata, signal }), ...options });
}

/** The same for the view's project, whose id follows the name in the key. */
export function useOfProject<Value>(
  [name, ...of]: Key,
  ask: (asking: AskingOfProject) => Promise<Value>,
  options?: Options<Value>,
) {
  const { id: projectId } = useProject();
  return useAnswer([name, projectId, ...of], (asking) => ask({ ...asking, projectId }), options);
}

interface PageOf {
  readonly nextCursor?: string | null | undefined;
}

type PageOptions<One> = Omit<
  UseInfiniteQueryOptions<One, Error, InfiniteData<One>, readonly unknown[], string | undefined>,
  'queryKey' | 'queryFn' | 'initialPageParam' | 'getNextPageParam'
>;

/** The same page by page, on request. */
export function usePages<One extends PageOf>(
  [name, ...of]: Key,
  ask: (asking: AskingOfProject & { readonly cursor: string | undefined }) => Promise<One>,
  options?: PageOptions<One>,
) {
  const { relata, projectId } = useCalls();
  return useInfiniteQuery<One, Error, InfiniteData<One>, readonly unknown[], string | undefined>({
    queryKey: [name, projectId, ...of],
    queryFn: ({ pageParam, signal }) => ask({ relata, projectId, signal, cursor: pageParam }),
    initialPageParam: undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    ...options,
  });
}

/** All entries of a list that are in reach: up to 1,000, the size of one page. */
export const useAll = <One,>(
  name: string,
  list: (relata: Relata, page: { limit: number; signal: AbortSignal }) => Promise<{ items: One[] }>,
  options?: Options<One[]>,
) =>
  useAnswer(
    [name],
    async ({ relata, signal }) => (await list(relata, { limit: 1000, signal })).items,
    options,
  );

export const useProjects = () => useAll('projects', ({ projects }, page) => projects.list(page));

export const useAllKeys = (select?: (all: ApiKey[]) => ApiKey[]) =>
  useAll('api-keys', ({ apiKeys }, page) => apiKeys.list(page), { ...(select && { select }) });

export const useGroups = () => useAll('groups', ({ projects }, page) => projects.listGroups(page));

/** The client already retries calls that may succeed a moment later; other errors are worth showing. */
export const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5_000 } } });

/** Reloads what was read under these names, or everything if there are none. */
export const reread = (...names: readonly string[]): Promise<unknown> =>
  names.length === 0
    ? queries.invalidateQueries()
    : Promise.all(names.map((name) => queries.invalidateQueries({ queryKey: [name] })));

/** @returns the result once the views are reloaded, also after a failure: they show the stored state */
export async function rereading<Result>(
  doing: Promise<Result>,
  ...names: readonly string[]
): Promise<Result> {
  try {
    return await doing;
  } finally {
    await reread(...names);
  }
}

/** Reloads the views when something is done; a failure is reported. */
export const afterwards = (doing: Promise<unknown>, ...names: readonly string[]): void =>
  void doing.then(() => reread(...names), tell.bad);

/** Long enough to notice a mistake, and to reach the button. */
const UNDO_MS = 12_000;

/** The notices in the corner. */
export const notices = Toast.createToastManager();

/** Reports that something was done, or that it failed. */
export const tell = {
  bad: (error: unknown) =>
    void notices.add({
      title: sayRefusal(error),
      description: error instanceof RelataError ? error.details.map(readDetail).join(', ') : undefined,
      type: 'bad',
      priority: 'high',
    }),
  good: (title: string, description?: string) => void notices.add({ title, description, type: 'good' }),
  /** Offers to undo for some seconds; if the network fails, undoing can be tried again. */
  undoable(title: string, undo: () => Promise<unknown>, description?: string): void {
    const onClick = () => {
      notices.close(id);
      undo().catch((error: unknown) => {
        tell.bad(error);
        if (error instanceof UnreachableError) tell.undoable(title, undo, description);
      });
    };
    const id = notices.add({
      title,
      description,
      type: 'good',
      timeout: UNDO_MS,
      actionProps: { children: t('Undo'), onClick },
    });
  },
};

/** @returns a function that runs the action, whether it is running, and its error */
export function useAct<Given = void>(act: (given: Given) => Promise<unknown>) {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const run = async (given: Given) => {
    setBusy(true);
    setError(undefined);
    await act(given).catch(setError);
    setBusy(false);
  };
  return { run, error, setError, isBusy };
}

type TypedFields = Readonly<Record<string, string>>;

/** @returns a handler that submits a form without leaving the page */
export const handleSubmit = (act: (form: HTMLFormElement) => void) => (event: FormEvent<HTMLFormElement>) => {
  event.preventDefault();
  act(event.currentTarget);
};

/** The same for a form, with its input by the names of the fields. */
export function useSubmit(act: (typed: TypedFields, form: HTMLFormElement) => Promise<unknown>) {
  const { run, ...state } = useAct((form: HTMLFormElement) =>
    act(Object.fromEntries(new FormData(form)) as TypedFields, form),
  );
  return { ...state, onSubmit: handleSubmit((form) => void run(form)) };
}

/** The pause after the last change before the service is asked. */
const REST_MS = 600;

/** @returns whether this much time has passed since the first render */
export function useIsLate(ms: number): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return isLate;
}

/** @returns the value once it has not changed for a moment */
export function useSettled(value: string, restMs = REST_MS): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), restMs);
    return () => clearTimeout(timer);
  }, [value, restMs]);
  return settled;
}
