import { createRelata, type Relata, RelataError, type SignedIn } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { ProjectContext } from './project-context.ts';
import { changesGroup, changesProject, changesSome } from './roles.ts';

/** Who uses the console: a user with a session, or the holder of an API key. */
export type Who =
  | { kind: 'user'; session: SignedIn }
  /** The value stays in memory: a reload forgets it. */
  | { kind: 'key'; key: string };

interface SessionState {
  readonly relata: Relata;
  /** undefined: not known yet; null: nobody. */
  readonly who: Who | null | undefined;
  signIn(email: string, password: string): Promise<void>;
  /** @throws RelataError when the key reaches nothing */
  useKey(key: string): Promise<void>;
  accept(make: (relata: Relata) => Promise<SignedIn>): Promise<void>;
  signOut(everywhere?: boolean): Promise<void>;
}

const Context = createContext<SessionState | undefined>(undefined);

const isRefused = (error: unknown) => error instanceof RelataError && error.status === 401;

export function SessionProvider({ children }: { children: ReactNode }) {
  const [who, setWho] = useState<Who | null | undefined>(undefined);
  const [relata, setRelata] = useState(createRelata);
  const queries = useQueryClient();

  const enter = useCallback(
    (next: Who | null, client: Relata) => {
      queries.clear();
      setRelata(client);
      setWho(next);
    },
    [queries],
  );

  useEffect(() => {
    const aborted = new AbortController();
    const client = createRelata({ retries: 1 });
    client.session
      .get({ signal: aborted.signal })
      .then((session) => enter({ kind: 'user', session }, client))
      .catch(() => {
        if (!aborted.signal.aborted) setWho(null);
      });
    return () => aborted.abort();
  }, [enter]);

  // A session ends by itself, and by a sign-out elsewhere: a 401 may be that, or a project out of reach.
  useEffect(() => {
    if (who?.kind !== 'user') return;
    return queries.getQueryCache().subscribe((event) => {
      if (event.type !== 'updated' || event.action.type !== 'error' || !isRefused(event.action.error)) return;
      relata.session.get().catch((error: unknown) => {
        if (isRefused(error)) enter(null, createRelata());
      });
    });
  }, [queries, relata, who, enter]);

  const state = useMemo<SessionState>(
    () => ({
      relata,
      who,
      async signIn(email, password) {
        const client = createRelata();
        enter({ kind: 'user', session: await client.session.signIn(email, password, askDevice) }, client);
      },
      async useKey(key) {
        const client = createRelata({ key });
        await client.projects.list({ limit: 1 });
        enter({ kind: 'key', key }, client);
      },
      async accept(make) {
        const client = createRelata();
        enter({ kind: 'user', session: await make(client) }, client);
      },
      async signOut(everywhere = false) {
        const elsewhere = who?.kind === 'user' ? await endSession(relata, everywhere) : undefined;
        enter(null, createRelata());
        if (elsewhere !== undefined) location.assign(elsewhere);
      },
    }),
    [relata, who, enter],
  );
  return <Context value={state}>{children}</Context>;
}

/** Loaded by those who have a passkey. */
const askDevice: Parameters<Relata['session']['signIn']>[2] = async (wanted) =>
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
