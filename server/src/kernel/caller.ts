/** What a key reaches. Source: docs/interface.md §5.2. */
export type Scope =
  | { readonly type: 'account' }
  | { readonly type: 'project-group'; readonly id: number }
  | { readonly type: 'project'; readonly id: number };

/** `read`: projects and lookups. `write`: also updates and tasks. `manage`: all that the scope allows. */
export type Access = 'read' | 'write' | 'manage';

const ACCESS_ORDER: readonly Access[] = ['read', 'write', 'manage'];

/** Who calls: the key behind a request. */
export interface Caller {
  readonly accountId: number;
  readonly keyId: number;
  readonly keyName: string;
  readonly scope: Scope;
  readonly access: Access;
}

/** @returns true when `held` allows all that `wanted` does. */
export function allows(held: Access, wanted: Access): boolean {
  return ACCESS_ORDER.indexOf(held) >= ACCESS_ORDER.indexOf(wanted);
}

/** The project a request is about, once it is known that the caller reaches it. */
export interface ChosenProject {
  readonly id: number;
  readonly name: string;
  readonly accountId: number;
}
