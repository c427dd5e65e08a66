import { hash, randomBytes } from 'node:crypto';
import { type Access, allows, includesRole, isUser, type Scope } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Actor, Author } from '../../projects/projects.ts';

/** SHA-256 of a secret, hex. A secret has 256 random bits, so a slow hash would add no security. */
export type SecretHash = string;

/** Makes the value of a key or session, or the token of a link: 32 random bytes in 43 characters. */
export const makeSecret = (): string => randomBytes(32).toString('base64url');

export const hashSecret = (secret: string): SecretHash => hash('sha256', secret);

/** The fields of a key. Source: docs/interface §5.2 rule 3. */
export interface ApiKey {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly scope: Scope;
  readonly access: Access;
  readonly firstCharacters: string;
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly lastUsedAt: number | null;
  /** When the key was last used in the deprecated `?apiKey=`. */
  readonly usedInUrlAt: number | null;
  readonly expiresAt: number | null;
  readonly requestsPerMinute: number | null;
  /** The key that replaced this one. */
  readonly rotatedTo: number | null;
}

export interface NewKey {
  readonly name: string;
  readonly scope: Scope;
  readonly access?: Access;
  readonly expiresAt?: number | null;
  readonly rateLimit?: { readonly requestsPerMinute: number } | null;
}

export type KeyChange = Partial<Omit<NewKey, 'scope'>>;

/** A key is expired from the millisecond `expiresAt` on. */
export function isExpired(key: Pick<ApiKey, 'expiresAt'>, now: number): boolean {
  return key.expiresAt !== null && key.expiresAt <= now;
}

/** Source: docs/interface §5.2 rule 6 and §5.6 rule 2. @throws key_beyond_own, role_refused */
export function refuseHigherKey(author: Author, key: Pick<ApiKey, 'access' | 'scope'>): void {
  refuseMoreAccess(author.access, key.access);
  // A user with a key of account scope could invite an owner.
  const isOwners = isUser(author) && !includesRole(author.role, 'owner') && key.scope.type === 'account';
  if (isOwners)
    throw new ServiceError(
      'role_refused',
      'only a user with the role owner can create, change or delete keys of the account',
    );
}

/** @throws key_beyond_own */
export function refuseMoreAccess(own: Access, requested: Access): void {
  if (allows(own, requested)) return;
  throw new ServiceError(
    'key_beyond_own',
    `a key with access ${own} cannot give access ${requested}: send a lower access`,
  );
}

/** The limits of a key; null: no limit. */
export type KeyLimits = Pick<ApiKey, 'expiresAt' | 'requestsPerMinute'>;

/** Source: docs/interface §5.2 rule 6. @throws key_beyond_own */
export function refuseWiderLimits(own: KeyLimits, requested: KeyLimits): void {
  const { requestsPerMinute, expiresAt } = own;
  const details = [
    ...(isWider(requestsPerMinute, requested.requestsPerMinute)
      ? [
          `/rateLimit: a key with ${requestsPerMinute} requests per minute cannot give more: send at most this number`,
        ]
      : []),
    ...(isWider(expiresAt, requested.expiresAt)
      ? [
          `/expiresAt: a key that expires at ${expiresAt} cannot give a later expiry: send at most this instant`,
        ]
      : []),
  ];
  if (details.length > 0) throw new ServiceError('key_beyond_own', { details });
}

const isWider = (own: number | null, requested: number | null) =>
  own !== null && (requested === null || requested > own);

/**
 * @returns when the old value ends: after the overlap, or earlier if the key expires earlier
 * @throws request_invalid for a key that has expired or was already rotated, because its value cannot overlap
 */
export function planRotation(key: ApiKey, now: number, overlapSeconds: number): number {
  if (key.rotatedTo !== null) {
    throw new ServiceError(
      'request_invalid',
      `the key has already been rotated: use the new key ${key.rotatedTo}`,
    );
  }
  if (isExpired(key, now)) {
    throw new ServiceError('request_invalid', 'the key has expired: create a new one');
  }
  return Math.min(key.expiresAt ?? Number.MAX_SAFE_INTEGER, now + overlapSeconds * 1000);
}
