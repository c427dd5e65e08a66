/** What a caller reaches. Source: docs/interface.md §5.2. */
export type Scope =
  | { readonly type: 'account' }
  | { readonly type: 'project-group'; readonly id: number }
  | { readonly type: 'project'; readonly id: number };

/** `read`: projects and lookups. `write`: also updates and tasks. `manage`: all that the scope allows. */
export type Access = 'read' | 'write' | 'manage';

/** What a user may do in the account. Source: docs/interface.md §5.6. */
export type Role = 'owner' | 'editor' | 'viewer';

const ACCESS_ORDER: readonly Access[] = ['read', 'write', 'manage'];
const ROLE_ORDER: readonly Role[] = ['viewer', 'editor', 'owner'];

interface Reaching {
  readonly accountId: number;
  readonly scope: Scope;
  readonly access: Access;
}

/** The key behind a request. */
export interface KeyCaller extends Reaching {
  readonly keyId: number;
  readonly keyName: string;
}

/** The user whose console session is behind a request. */
export interface UserCaller extends Reaching {
  readonly userId: number;
  readonly userName: string;
  readonly role: Role;
  readonly sessionId: number;
}

/** Who calls. */
export type Caller = KeyCaller | UserCaller;

export function isUser(caller: object): caller is UserCaller {
  return 'userId' in caller;
}

/** @returns a name that no other key or user has */
export function nameCaller(caller: Caller): string {
  return isUser(caller) ? `user ${caller.userId}` : `key ${caller.keyId}`;
}

/** @returns true when `held` allows all that `needed` does. */
export function allows(held: Access, needed: Access): boolean {
  return ACCESS_ORDER.indexOf(held) >= ACCESS_ORDER.indexOf(needed);
}

/** @returns true when `held` may do all that `needed` may. */
export function includesRole(held: Role, needed: Role): boolean {
  return ROLE_ORDER.indexOf(held) >= ROLE_ORDER.indexOf(needed);
}

/** The project a request is about, once it is known that the caller reaches it. */
export interface ChosenProject {
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
  /** Where the tasks come from that the request starts; absent: from the API. Source: docs/interface.md §2.4. */
  readonly origin?: 'CONSOLE';
}

/** @returns what a project that this caller chose carries */
export function originOf(caller: Caller): Pick<ChosenProject, 'origin'> {
  return isUser(caller) ? { origin: 'CONSOLE' } : {};
}
