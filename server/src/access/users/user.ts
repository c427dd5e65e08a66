import { createHash, randomBytes } from 'node:crypto';
import {
  type Access,
  type Caller,
  highestRoleOf,
  isUser,
  type PartRole,
  type Role,
  reachOf,
  type UserCaller,
} from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';

/** A person who signs in to the console. Source: docs/interface.md §5.6. */
export interface User {
  readonly id: number;
  readonly accountId: number;
  /** As `normalizeEmail` has it; no two users of an installation have the same. */
  readonly email: string;
  readonly name: string;
  /** For the whole account. */
  readonly role: Role;
  /** For parts of it. */
  readonly roles: readonly PartRole[];
  readonly createdAt: number;
  readonly signedInAt: number | null;
  /** How many. */
  readonly passkeys: number;
  readonly signsInWith: 'password' | 'company-account';
}

/** SHA-256 of a secret, hex. A secret has 256 random bits, so a slow hash would add nothing. */
export type SecretHash = string;

/** The role in terms of what keys may: guards and rules that know keys know users too. */
const ACCESS: Readonly<Record<Role, Access>> = {
  ...{ owner: 'manage', editor: 'manage' },
  ...{ viewer: 'read', none: 'read' },
};

export function toUserCaller(user: User, sessionId: number): UserCaller {
  const { id, accountId, name, role, roles } = user;
  const reached = { scope: reachOf(user, 'viewer'), access: ACCESS[highestRoleOf(user)] };
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

/** The value of a session or the token of a link: 32 random bytes are 43 characters. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function hashSecret(secret: string): SecretHash {
  return createHash('sha256').update(secret).digest('hex');
}
