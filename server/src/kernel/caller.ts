/** The scope of a key or an endpoint. Source: docs/interface §5.2. */
export type Scope = { readonly type: 'account' } | PartScope;

export type PartScope =
  | { readonly type: 'project-group'; readonly id: number }
  | { readonly type: 'project'; readonly id: number };

/** Several parts of an account, or none. */
export interface Parts {
  readonly type: 'parts';
  readonly groups: readonly number[];
  readonly projects: readonly number[];
}

/**
 * `page`: related products and fit, for a page that shoppers open and whose key they can see. `read`: projects,
 * lookups, relations, reading tasks. `write`: also updates and cancelling tasks. `manage`: all that the scope allows.
 */
export type Access = 'page' | 'read' | 'write' | 'manage';

/** What a user may do in the account; `none`: nothing. Source: docs/interface §5.6. */
export type Role = 'owner' | 'editor' | 'viewer' | 'none';

/** What a user may do in a part of the account, whatever the role there is. Source: docs/interface §5.6 rule 14. */
export interface PartRole {
  readonly scope: PartScope;
  readonly role: 'editor' | 'viewer';
}

const ACCESS_ORDER: readonly Access[] = ['page', 'read', 'write', 'manage'];
const ROLE_ORDER: readonly Role[] = ['none', 'viewer', 'editor', 'owner'];

interface Calling {
  readonly accountId: number;
  readonly access: Access;
}

export interface KeyCaller extends Calling {
  readonly scope: Scope;
  readonly keyId: number;
  readonly keyName: string;
}

/** The user whose console session makes a request. */
export interface UserCaller extends Calling {
  /** The part of the account where the user's role suffices for the request. */
  readonly scope: Scope | Parts;
  readonly userId: number;
  readonly userName: string;
  readonly role: Role;
  readonly roles: readonly PartRole[];
  readonly sessionId: number;
}

export type Caller = KeyCaller | UserCaller;

export function isUser(caller: object): caller is UserCaller {
  return 'userId' in caller;
}

/** @returns a name that no other key or user has */
export function nameCaller(caller: Caller): string {
  return isUser(caller) ? `user ${caller.userId}` : `key ${caller.keyId}`;
}

/** @returns true if `held` allows everything that `needed` does */
export function allows(held: Access, needed: Access): boolean {
  return ACCESS_ORDER.indexOf(held) >= ACCESS_ORDER.indexOf(needed);
}

/** @returns true if `held` may do everything that `needed` may */
export function includesRole(held: Role, needed: Role): boolean {
  return ROLE_ORDER.indexOf(held) >= ROLE_ORDER.indexOf(needed);
}

/** @returns where the user may do what the required role may */
export function reachOf({ role, roles }: Pick<UserCaller, 'role' | 'roles'>, required: Role): Scope | Parts {
  if (includesRole(role, required)) return { type: 'account' };
  const scopes = roles.filter((part) => includesRole(part.role, required)).map(({ scope }) => scope);
  const listIds = (type: PartScope['type']) =>
    scopes.filter((scope) => scope.type === type).map(({ id }) => id);
  return { type: 'parts', groups: listIds('project-group'), projects: listIds('project') };
}

/** @returns the highest role that the user has anywhere */
export function highestRoleOf({ role, roles }: Pick<UserCaller, 'role' | 'roles'>): Role {
  return roles.reduce<Role>((held, part) => (includesRole(held, part.role) ? held : part.role), role);
}

/** @returns the groups and projects of a scope; undefined: all of the account */
export function listParts(scope: Scope | Parts): Omit<Parts, 'type'> | undefined {
  if (scope.type === 'account') return undefined;
  if (scope.type === 'parts') return scope;
  const { type, id } = scope;
  return type === 'project' ? { groups: [], projects: [id] } : { groups: [id], projects: [] };
}

/** The project of a request, once it is known that the caller reaches it. */
export interface ChosenProject {
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
  /** The origin of tasks that the request starts; absent: the API. Source: docs/interface §2.4. */
  readonly origin?: 'CONSOLE';
}

/** @returns the origin for a project that this caller chose */
export function originOf(caller: Caller): Pick<ChosenProject, 'origin'> {
  return isUser(caller) ? { origin: 'CONSOLE' } : {};
}
