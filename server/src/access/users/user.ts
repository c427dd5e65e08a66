import {
  type Caller,
  highestRoleOf,
  includesRole,
  isUser,
  type PartRole,
  type Role,
  reachOf,
  type UserCaller,
} from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author, Projects } from '../../projects/projects.ts';

/** The roles of a user. */
export interface Roles {
  /** The role in the whole account. */
  readonly role: Role;
  /** The roles in parts of the account. */
  readonly roles: readonly PartRole[];
}

/** A person who signs in to the console. Source: docs/interface §5.6. */
export interface User extends Roles {
  readonly id: number;
  readonly accountId: number;
  /** The result of `normalizeEmail`; unique in an installation. */
  readonly email: string;
  readonly name: string;
  readonly createdAt: number;
  readonly signedInAt: number | null;
  readonly passkeys: number;
  readonly signsInWith: 'password' | 'company-account';
}

export function toUserCaller(user: User, sessionId: number): UserCaller {
  const { id, accountId, name, role, roles } = user;
  // Expresses the role as the access of a key, so that guards and rules for keys also apply to users.
  const access = includesRole(highestRoleOf(user), 'editor') ? 'manage' : 'read';
  const reached = { scope: reachOf(user, 'viewer'), access } as const;
  return { userId: id, userName: name, accountId, role, roles, sessionId, ...reached };
}

/** Returns the caller of a route whose guard accepts only sessions. @throws not_signed_in */
export function userOf(caller: Caller): UserCaller {
  if (!isUser(caller)) throw new ServiceError('not_signed_in');
  return caller;
}

/** Normalizes an address, because people do not always type it in the same way. */
export function normalizeEmail(given: string): string {
  return given.normalize('NFC').trim().toLowerCase();
}

/**
 * Refuses unknown groups and projects like those of another account. Source: docs/interface §14.6 rule 8.
 * @throws request_invalid, scope_refused
 */
export async function refuseUnfitRoles(
  projects: Pick<Projects, 'reachesScope'>,
  author: Author,
  { role, roles }: Roles,
): Promise<void> {
  if (role === 'owner' && roles.length > 0)
    throw invalid('/roles must be empty, because an owner has every right');
  if (role === 'none' && roles.length === 0) throw invalid('/roles must have an entry if /role is none');
  const namedScopes = new Set<string>();
  for (const [index, { scope }] of roles.entries()) {
    const named = `${scope.type} ${scope.id}`;
    if (namedScopes.has(named)) throw invalid(`/roles/${index}/scope must not repeat ${named}`);
    namedScopes.add(named);
    if (await projects.reachesScope(author, scope)) continue;
    throw new ServiceError('scope_refused', `/roles/${index}/scope ${named} does not exist in the account`);
  }
}

export const invalid = (detail: string) => new ServiceError('request_invalid', detail);

/** The console address for an owner link. The token follows the `#`, so that no server or proxy logs it. */
export function ownerLinkUrl(base: string, token: string): string {
  return `${base}/console/#/welcome/${token}`;
}

/** The address to which the company's provider sends browsers back. It is registered at the provider. */
export const consoleUrl = (base: string): string => `${base}/console/`;

export function invitationUrl(base: string, token: string): string {
  return `${base}/console/#/invitation/${token}`;
}

/** @returns the origin of the page, which the guard has checked, or the service's own address */
export const originOf = ({ origin }: { readonly origin?: string | undefined }, base: string): string =>
  origin ?? new URL(base).origin;
