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
 * `page`: related products and fit, for the page of a shop, where shoppers can see the key. `read`: projects, lookups,
 * relations and tasks. `write`: also updates and the cancelling of tasks. `manage`: everything within the scope.
 */
export type Access = 'page' | 'read' | 'write' | 'manage';

/** The role of a user in the account. Source: docs/interface §5.6. */
export type Role = 'owner' | 'editor' | 'viewer' | 'none';

/**
 * The role of a user in a part of the account, in addition to the role in the account. Source: docs/interface §5.6 rule
 * 14.
 */
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
  /** The part of the account where the user's role suffices for this request. */
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

/** @returns true if `held` allows everything that `needed` allows */
export function allows(held: Access, needed: Access): boolean {
  return ACCESS_ORDER.indexOf(held) >= ACCESS_ORDER.indexOf(needed);
}

/** @returns true if `held` allows everything that `needed` allows */
export function includesRole(held: Role, needed: Role): boolean {
  return ROLE_ORDER.indexOf(held) >= ROLE_ORDER.indexOf(needed);
}

/** @returns the part of the account where the user has at least the required role */
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

/** @returns the groups and projects of a scope; undefined for the whole account */
export function listParts(scope: Scope | Parts): Omit<Parts, 'type'> | undefined {
  if (scope.type === 'account') return undefined;
  if (scope.type === 'parts') return scope;
  const { type, id } = scope;
  return type === 'project' ? { groups: [], projects: [id] } : { groups: [id], projects: [] };
}

/** The project of a request, after the check that the caller can access it. */
export interface ChosenProject {
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
  /** The origin of tasks that the request starts; the API if absent. Source: docs/interface §2.4. */
  readonly origin?: 'CONSOLE';
}

/** @returns the origin of tasks that this caller starts */
export function originOf(caller: Caller): Pick<ChosenProject, 'origin'> {
  return isUser(caller) ? { origin: 'CONSOLE' } : {};
}
