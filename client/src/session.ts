import type { BodyOf, CallOptions, Transport } from './transport.ts';
import type { PasskeyOptions, PasskeyWanted, SignedIn, User } from './wire.ts';

export type Role = User['role'];
/** A role for a part of the account. */
export type PartRole = User['roles'][number];

/**
 * The session of the console: a cookie that the browser stores, and a token that this client sends with every change.
 * Source: docs/interface §5.6.
 */
export function createSession(transport: Transport) {
  return {
    ...createSignIn(transport),
    ...createPasskeys(transport),
    ...createOwnSessions(transport),
    ...createLinks(transport),
  };
}

/** Never repeats a password, because each attempt counts. The new session has a new token. */
async function enter({ sendJson, useCsrfToken }: Transport, path: string, body: object): Promise<SignedIn> {
  const session = await sendJson<SignedIn>({ method: 'POST', path, body, retries: 0 });
  useCsrfToken(session.csrfToken);
  return session;
}

function createSignIn(transport: Transport) {
  const { call, sendJson, useCsrfToken } = transport;
  return {
    /** @param usePasskey  signs for a user who has passkeys, in a browser by `navigator.credentials.get` */
    signIn: async (
      email: string,
      password: string,
      usePasskey?: (options: PasskeyWanted['passkey']) => Promise<BodyOf<'postManagementSessionPasskey'>>,
    ): Promise<SignedIn> => {
      const body = { email, password };
      const path = '/management/session';
      const answer = await sendJson<SignedIn | PasskeyWanted>({ method: 'POST', path, body, retries: 0 });
      if ('passkey' in answer) {
        if (usePasskey === undefined)
          throw new Error('This user has to sign in with a passkey too: pass usePasskey.');
        return enter(transport, '/management/session/passkey', await usePasskey(answer.passkey));
      }
      useCsrfToken(answer.csrfToken);
      return answer;
    },
    findWays: (options: CallOptions = {}) => call('getManagementSessionWays', {}, options),
    /** @returns the address where the browser signs in with the company account */
    startCompanyAccount: async (options: CallOptions = {}): Promise<string> =>
      (await call('postManagementSessionCompanyAccountStart', {}, options)).url,
    /** @param query  the query with which the provider sent the browser back */
    finishCompanyAccount: (query: string) =>
      enter(transport, '/management/session/company-account', { query }),
    /** Ends all other sessions of the user and returns a new one. */
    changePassword: (current: string, next: string) =>
      enter(transport, '/management/session/password', { current, new: next }),
  };
}

function createPasskeys({ call }: Transport) {
  return {
    listPasskeys: (options: CallOptions = {}) => call('getManagementSessionPasskeys', {}, options),
    /** @param make  creates the passkey, in a browser by `navigator.credentials.create` */
    addPasskey: async (
      name: string,
      make: (options: PasskeyOptions) => Promise<Omit<BodyOf<'postManagementSessionPasskeys'>, 'name'>>,
    ) => {
      const options = await call('postManagementSessionPasskeysStart', {}, {});
      return call('postManagementSessionPasskeys', { body: { name, ...(await make(options)) } }, {});
    },
    removePasskey: (id: number, options: CallOptions = {}) =>
      call('deleteManagementSessionPasskeysById', { path: { id } }, options),
  };
}

function createOwnSessions({ call, useCsrfToken }: Transport) {
  return {
    /** @throws RelataError 401 without a session */
    get: async (options: CallOptions = {}): Promise<SignedIn> => {
      const session = await call('getManagementSession', {}, options);
      useCsrfToken(session.csrfToken);
      return session;
    },
    /** @returns the address where a user with a company account also signs out there, if the provider has one */
    signOut: async (options: CallOptions = {}): Promise<string | undefined> => {
      const { providerSignOutUrl } = await call('deleteManagementSession', {}, options);
      useCsrfToken(undefined);
      return providerSignOutUrl;
    },
    signOutEverywhere: async (options: CallOptions = {}): Promise<void> => {
      await call('deleteManagementSessions', { query: {} }, options);
      useCsrfToken(undefined);
    },
    /** The user's own sessions that have not ended. */
    list: (options: CallOptions = {}) => call('getManagementSessions', { query: { limit: 1000 } }, options),
    end: (id: number, options: CallOptions = {}) =>
      call('deleteManagementSessionsById', { path: { id } }, options),
    endOthers: (options: CallOptions = {}) =>
      call('deleteManagementSessions', { query: { others: true } }, options),
  };
}

/** Links that create users. */
function createLinks(transport: Transport) {
  const { call } = transport;
  return {
    /** Describes an owner link or an invitation. @throws RelataError 400 if the link is no longer valid */
    checkLink: (token: string, options: CallOptions = {}) =>
      call('postManagementLinksCheck', { body: { token } }, options),
    /** Creates the first user by the owner link. Source: docs/interface §14.5 rule 3. */
    createOwner: (owner: BodyOf<'postManagementOwner'>) => enter(transport, '/management/owner', owner),
    acceptInvitation: (answer: BodyOf<'postManagementInvitationsAccept'>) =>
      enter(transport, '/management/invitations/accept', answer),
  };
}

/** The users who may sign in. Source: docs/interface §14.6. */
export function createUsers({ call }: Transport) {
  return {
    list: (options: CallOptions = {}) => call('getManagementUsers', { query: { limit: 1000 } }, options),
    change: (id: number, change: BodyOf<'patchManagementUsersById'>, options: CallOptions = {}) =>
      call('patchManagementUsersById', { path: { id }, body: change }, options),
    delete: (id: number, options: CallOptions = {}) =>
      call('deleteManagementUsersById', { path: { id } }, options),
    /** Removes the passkeys of a user who lost them. */
    removePasskeys: (id: number, options: CallOptions = {}) =>
      call('deleteManagementUsersByIdPasskeys', { path: { id } }, options),
    listInvitations: (options: CallOptions = {}) =>
      call('getManagementInvitations', { query: { limit: 1000 } }, options),
    /** Only this answer contains the link. */
    invite: (
      email: string,
      role: Role,
      { roles = [], ...options }: CallOptions & { roles?: PartRole[] } = {},
    ) => call('postManagementInvitations', { body: { email, role, roles } }, options),
    withdrawInvitation: (id: number, options: CallOptions = {}) =>
      call('deleteManagementInvitationsById', { path: { id } }, options),
  };
}
