import {
  type ClientOptions,
  createRelata,
  type ManagedProject,
  type Relata,
  RelataError,
  type SignedIn,
} from '@relata/client';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { changesGroup, changesProject, changesSome } from '../rules/roles.ts';
import { queries, reread } from './done.ts';
import { hasUnsaved } from './route.ts';

/** Who uses the console: a user with a session, or the holder of an API key. */
export type Who =
  | { kind: 'user'; session: SignedIn }
  /** The value stays in memory: a reload forgets it. */
  | { kind: 'key'; key: string };

interface SessionState {
  readonly relata: Relata;
  /** undefined: not known yet; null: no user. */
  readonly who: Who | null | undefined;
  /** The session has ended while something is not saved: the page stays until its user is back. */
  readonly isOver: boolean;
  /** @throws RelataError when the key reaches nothing */
  useKey(key: string): Promise<void>;
  /** The same user again, over the page as it is. */
  goOn(session: Promise<SignedIn>): Promise<void>;
  /** Gives up what is not saved. */
  leave(): void;
  accept(make: (relata: Relata) => Promise<SignedIn>): Promise<void>;
  signOut(everywhere?: boolean): Promise<void>;
}

/** The project of the present view; undefined: it belongs to none. */
export const ProjectContext = createContext<ManagedProject | undefined>(undefined);

const Context = createContext<SessionState | undefined>(undefined);

/** Asking who is signed in, or with a wrong password, is refused like a session that has ended. */
const SIGN_IN = '/management/session';

/** @returns the fetch of the platform, which tells of a call that was refused for want of a session */
const tell =
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

export function SessionProvider({ children }: { children: ReactNode }) {
  const [who, setWho] = useState<Who | null | undefined>(undefined);
  const [isOver, setOver] = useState(false);
  const refused = useRef<() => Promise<void>>(undefined);
  const connect = useCallback(
    (options: ClientOptions = {}) => createRelata({ ...options, fetch: tell(refused) }),
    [],
  );
  const [relata, setRelata] = useState(connect);

  const enter = useCallback((next: Who | null, client: Relata) => {
    queries.clear();
    setRelata(client);
    setWho(next);
    setOver(false);
  }, []);

  useEffect(() => {
    const aborted = new AbortController();
    const client = connect({ retries: 1 });
    client.session
      .get({ signal: aborted.signal })
      .then((session) => enter({ kind: 'user', session }, client))
      // Whatever keeps the session from being read, signing in meets it too and says what it is.
      .catch(() => {
        if (!aborted.signal.aborted) setWho(null);
      });
    return () => aborted.abort();
  }, [enter, connect]);

  // A session ends by itself, and by a sign-out elsewhere: a 401 may be that, or a project out of reach.
  useEffect(() => {
    refused.current = async () => {
      if (who?.kind !== 'user' || isOver || !(await hasEnded(relata))) return;
      if (hasUnsaved()) setOver(true);
      else enter(null, connect());
    };
  }, [relata, who, isOver, enter, connect]);

  const state = useMemo<SessionState>(
    () => ({
      relata,
      who,
      isOver,
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
    }),
    [relata, who, isOver, enter, connect],
  );
  return <Context value={state}>{children}</Context>;
}

/** Loaded by those who have a passkey. */
export const askDevice: Parameters<Relata['session']['signIn']>[2] = async (wanted) =>
  (await import('./authenticator.ts')).usePasskey(wanted);

/** @returns where the company's provider signs out too */
const endSession = async (relata: Relata, everywhere: boolean): Promise<string | undefined> =>
  everywhere ? void (await relata.session.signOutEverywhere()) : relata.session.signOut();

export function useSession(): SessionState {
  const state = useContext(Context);
  if (state === undefined) throw new Error('SessionProvider is missing');
  return state;
}

export const useRelata = (): Relata => useSession().relata;

interface Rights {
  /** In the project of the view; outside of one: in any group. */
  readonly canChange: boolean;
  canChangeGroup(id: number): boolean;
  readonly canChangeAll: boolean;
  readonly canManageUsers: boolean;
  readonly canManageAccountKeys: boolean;
}

const OF_KEYS: Rights = {
  ...{ canChange: true, canChangeGroup: () => true, canChangeAll: true },
  ...{ canManageUsers: false, canManageAccountKeys: true },
};

/** What the present user may do; the service decides, the console only leaves away what it would refuse. */
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
