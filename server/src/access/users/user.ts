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
  /** The role in the whole account. */
  readonly role: Role;
  /** The roles in parts of it. */
  readonly roles: readonly PartRole[];
}

/** A person who signs in to the console. Source: docs/interface §5.6. */
export interface User extends Roles {
  readonly id: number;
  readonly accountId: number;
  /** As returned by `normalizeEmail`; unique in an installation. */
  readonly email: string;
  readonly name: string;
  readonly createdAt: number;
  readonly signedInAt: number | null;
  readonly passkeys: number;
  readonly signsInWith: 'password' | 'company-account';
}

export function toUserCaller(user: User, sessionId: number): UserCaller {
  const { id, accountId, name, role, roles } = user;
  // The role in terms of key access, so that guards and rules for keys also apply to users.
  const access = includesRole(highestRoleOf(user), 'editor') ? 'manage' : 'read';
  const reached = { scope: reachOf(user, 'viewer'), access } as const;
  return { userId: id, userName: name, accountId, role, roles, sessionId, ...reached };
}

/** For routes whose guard admits only sessions. */
export function userOf(caller: Caller): UserCaller {
  if (!isUser(caller)) throw new ServiceError('not_signed_in');
  return caller;
}

/** People do not always write their address in the same way. */
export function normalizeEmail(given: string): string {
  return given.normalize('NFC').trim().toLowerCase();
}

/**
 * Unknown groups and projects are refused like those of another account. Source: docs/interface §14.6 rule 8.
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

/** The console address that takes a token. It is behind the `#`, so that no server or proxy logs it. */
export function ownerLinkUrl(base: string, token: string): string {
  return `${base}/console/#/welcome/${token}`;
}

/** The address that browsers come back to from the company's provider, as registered there. */
export const consoleUrl = (base: string): string => `${base}/console/`;

export function invitationUrl(base: string, token: string): string {
  return `${base}/console/#/invitation/${token}`;
}

/** The origin of the calling page: as it says, which was checked, or else the service's own address. */
export const originOf = ({ origin }: { readonly origin?: string | undefined }, base: string): string =>
  origin ?? new URL(base).origin;
