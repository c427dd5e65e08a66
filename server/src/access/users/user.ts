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

/** What a user may do. */
export interface Roles {
  /** For the whole account. */
  readonly role: Role;
  /** For parts of it. */
  readonly roles: readonly PartRole[];
}

/** A person who signs in to the console. Source: docs/interface.md §5.6. */
export interface User extends Roles {
  readonly id: number;
  readonly accountId: number;
  /** As `normalizeEmail` has it; no two users of an installation have the same. */
  readonly email: string;
  readonly name: string;
  readonly createdAt: number;
  readonly signedInAt: number | null;
  /** How many. */
  readonly passkeys: number;
  readonly signsInWith: 'password' | 'company-account';
}

export function toUserCaller(user: User, sessionId: number): UserCaller {
  const { id, accountId, name, role, roles } = user;
  // The role in terms of what keys may: guards and rules that know keys know users too.
  const access = includesRole(highestRoleOf(user), 'editor') ? 'manage' : 'read';
  const reached = { scope: reachOf(user, 'viewer'), access } as const;
  return { userId: id, userName: name, accountId, role, roles, sessionId, ...reached };
}

/** Where the guard admits only sessions. */
export function userOf(caller: Caller): UserCaller {
  if (!isUser(caller)) throw new ServiceError('not_signed_in');
  return caller;
}

/** People write their address in one way here and in another way there. */
export function normalizeEmail(given: string): string {
  return given.normalize('NFC').trim().toLowerCase();
}

/**
 * Unknown groups and projects, and those of another account, are alike. Source: docs/interface.md §14.6 rule 8.
 * @throws request_invalid, scope_refused
 */
export async function refuseUnfitRoles(
  projects: Pick<Projects, 'reachesScope'>,
  author: Author,
  { role, roles }: Roles,
): Promise<void> {
  if (role === 'owner' && roles.length > 0) throw invalid('/roles must be empty: an owner may do everything');
  if (role === 'none' && roles.length === 0) throw invalid('/roles must have an entry where /role is none');
  const seen = new Set<string>();
  for (const [at, { scope }] of roles.entries()) {
    const named = `${scope.type} ${scope.id}`;
    if (seen.has(named)) throw invalid(`/roles/${at}/scope ${named} is there twice`);
    seen.add(named);
    if (await projects.reachesScope(author, scope)) continue;
    throw new ServiceError('scope_refused', `/roles/${at}/scope ${named} does not exist in the account`);
  }
}

export const invalid = (detail: string) => new ServiceError('request_invalid', detail);

/** Where the console takes a token. Behind the `#`, so that no server and no proxy writes it into a log. */
export function ownerLinkUrl(base: string, token: string): string {
  return `${base}/console/#/welcome/${token}`;
}

/** Where browsers come back from the company's provider, as it is registered there. */
export const consoleUrl = (base: string): string => `${base}/console/`;

export function invitationUrl(base: string, token: string): string {
  return `${base}/console/#/invitation/${token}`;
}

/** Where the page is that calls: as it says, which was checked to be here, or where browsers find the service. */
export const originOf = ({ origin }: { readonly origin?: string | undefined }, base: string): string =>
  origin ?? new URL(base).origin;
