import type { CallOptions, Transport } from './transport.ts';

export type Role = 'owner' | 'editor' | 'viewer';

export interface User {
  id: number;
  email: string;
  name: string;
  role: Role;
}

/** Who is signed in to the console. Source: docs/interface.md §5.6. */
export interface ConsoleSession {
  user: User;
  account: { id: number; name: string };
  csrfToken: string;
}

export interface Invitation {
  id: number;
  email: string;
  role: Role;
  expiresAt: number;
  /** Only in the answer that made it. */
  link?: string;
}

const SESSION = '/management/session';

/**
 * The console's session: a cookie that the browser keeps, and a token that this client sends with every change. Source:
 * docs/interface.md §5.6.
 */
export function createSession({ sendJson, useCsrfToken }: Transport) {
  /** A password is never sent twice by itself: each attempt counts. */
  async function enter(path: string, body: object): Promise<ConsoleSession> {
    const session = await sendJson<ConsoleSession>({ method: 'POST', path, body, retries: 0 });
    useCsrfToken(session.csrfToken);
    return session;
  }
  async function leave(path: string): Promise<void> {
    await sendJson({ method: 'DELETE', path });
    useCsrfToken(undefined);
  }
  return {
    signIn: (email: string, password: string) => enter(SESSION, { email, password }),
    /** @throws RelataError 401 when nobody is signed in */
    get: async ({ signal }: CallOptions = {}): Promise<ConsoleSession> => {
      const session = await sendJson<ConsoleSession>({
        method: 'GET',
        path: SESSION,
        ...(signal && { signal }),
      });
      useCsrfToken(session.csrfToken);
      return session;
    },
    signOut: () => leave(SESSION),
    signOutEverywhere: () => leave('/management/sessions'),
    /** Ends all sessions of the user but the new one that it answers. */
    changePassword: (current: string, next: string) => enter(`${SESSION}/password`, { current, new: next }),
    /** The first user, by the owner link. */
    createOwner: (owner: { token: string; email: string; name: string; password: string }) =>
      enter('/management/owner', owner),
    acceptInvitation: (answer: { token: string; name: string; password: string }) =>
      enter('/management/invitations/accept', answer),
  };
}

/** Who may sign in. Source: docs/interface.md §14.6. */
export function createUsers({ sendJson }: Transport) {
  return {
    list: ({ signal }: CallOptions = {}) =>
      sendJson<{ items: User[]; nextCursor: string | null }>({
        method: 'GET',
        path: '/management/users',
        ...(signal && { signal }),
      }),
    change: (id: number, change: { role?: Role; name?: string }) =>
      sendJson<User>({ method: 'PATCH', path: `/management/users/${id}`, body: change }),
    delete: (id: number) => sendJson<unknown>({ method: 'DELETE', path: `/management/users/${id}` }),
    listInvitations: ({ signal }: CallOptions = {}) =>
      sendJson<{ items: Invitation[]; nextCursor: string | null }>({
        method: 'GET',
        path: '/management/invitations',
        ...(signal && { signal }),
      }),
    invite: (email: string, role: Role) =>
      sendJson<Invitation>({ method: 'POST', path: '/management/invitations', body: { email, role } }),
    withdrawInvitation: (id: number) =>
      sendJson<unknown>({ method: 'DELETE', path: `/management/invitations/${id}` }),
  };
}
