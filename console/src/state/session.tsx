import { type ClientOptions, createRelata, type Relata, RelataError, type SignedIn } from '@relata/client';
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
import { queries, reread } from './queries.ts';
import { hasUnsaved } from './route.ts';

/** The user of the console: a person with a session, or the holder of an API key. */
export type Who =
  | { kind: 'user'; session: SignedIn }
  /** The key stays in memory only, so a reload forgets it. */
  | { kind: 'key'; key: string };

interface SessionState {
  readonly relata: Relata;
  /** undefined while unknown; null without a user. */
  readonly caller: Who | null | undefined;
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
type Enter = (caller: Who | null, client: Relata) => void;

export function SessionProvider({ children }: { children: ReactNode }) {
  const [caller, setCaller] = useState<Who | null | undefined>(undefined);
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
    setCaller(next);
    setOver(false);
  }, []);
  useStoredSession(connect, enter, setCaller);

  // A session expires, or the user signs out elsewhere. A 401 can mean that, or a project that the user cannot
  // access.
  useEffect(() => {
    refused.current = async () => {
      if (caller?.kind !== 'user' || isOver || !(await hasEnded(relata))) return;
      if (hasUnsaved()) setOver(true);
      else enter(null, connect());
    };
  }, [relata, caller, isOver, enter, connect]);

  const state = useMemo<SessionState>(
    () => ({
      relata,
      caller,
      isOver,
      ...createActions({ relata, caller, connect, enter, setOver }),
    }),
    [relata, caller, isOver, enter, connect],
  );
  return <Context value={state}>{children}</Context>;
}

/** Signs in with the session of the browser's cookie, if there is one. */
function useStoredSession(connect: Connect, enter: Enter, setCaller: (caller: null) => void): void {
  useEffect(() => {
    const aborted = new AbortController();
    const client = connect({ retries: 1 });
    client.session
      .get({ signal: aborted.signal })
      .then((session) => enter({ kind: 'user', session }, client))
      // The user then signs in, which fails for the same reason and shows it.
      .catch(() => {
        if (!aborted.signal.aborted) setCaller(null);
      });
    return () => aborted.abort();
  }, [connect, enter, setCaller]);
}

interface ActionParts extends Pick<SessionState, 'relata' | 'caller'> {
  readonly connect: Connect;
  readonly enter: Enter;
  readonly setOver: (isOver: boolean) => void;
}

type Actions = Pick<SessionState, 'useKey' | 'goOn' | 'leave' | 'accept' | 'signOut'>;

const createActions = ({ relata, caller, connect, enter, setOver }: ActionParts): Actions => ({
  async goOn(signingIn) {
    const session = await signingIn;
    const isSame = caller?.kind === 'user' && caller.session.user.id === session.user.id;
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
    const elsewhere = caller?.kind === 'user' ? await endSession(relata, everywhere) : undefined;
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
