import { timingSafeEqual } from 'node:crypto';
import type { PresentedKey, RateState } from '../../http/guards/guards.ts';
import { type AtOnce, andThen } from '../../kernel/at-once.ts';
import type { KeyCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { createShortCache } from '../../projects/projects.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import type { Base } from '../../storage/storage.ts';
import { hashSecret, isExpired, type SecretHash } from './api-key.ts';
import { findKeyByHash } from './api-key-store.ts';
import type { LastUse } from './last-use.ts';
import { createRateLimits } from './rate-limit.ts';

/** The number of cached keys: two for each of 10,000 projects, at some 500 bytes each. */
const REMEMBERED_KEYS = 20_000;

interface FoundKey {
  readonly hash: Buffer;
  readonly expiresAt: number | null;
  readonly caller: KeyCaller;
}

interface KeyFinderParts extends Pick<Base, 'clock' | 'database'> {
  /** Counts requests if several processes serve; undefined: this process counts in memory. */
  readonly postgres: Postgres | undefined;
  readonly lastUse: LastUse;
}

/** Runs in every request, usually from memory. */
export function createKeyFinder({ database, postgres, clock, lastUse }: KeyFinderParts) {
  const keys = createShortCache<SecretHash, FoundKey>(clock, REMEMBERED_KEYS);
  /** The limits of callers, which are released together with their callers. */
  const limits = new WeakMap<KeyCaller, number>();
  const rateLimits = createRateLimits(postgres);

  async function read(hash: SecretHash): Promise<FoundKey | undefined> {
    const storedKey = await findKeyByHash(database.read, hash);
    if (storedKey === undefined) return undefined;
    const { id, name, accountId, scope, access, expiresAt, requestsPerMinute } = storedKey.key;
    const caller = { accountId, keyId: id, keyName: name, scope, access };
    if (requestsPerMinute !== null) limits.set(caller, requestsPerMinute);
    return { hash: Buffer.from(storedKey.hash), expiresAt, caller };
  }

  return {
    /** @throws scope_refused if the key is unknown, deleted or expired. Source: docs/interface §5.1 rule 8. */
    findCaller({ value, inUrl }: PresentedKey): AtOnce<KeyCaller> {
      const hash = hashSecret(value);
      return andThen(
        keys.get(hash, () => read(hash)),
        (key) => {
          const now = clock.now();
          // The comparison takes constant time, wherever the hashes differ. Source: docs/interface §5.2 rule 5.
          const isSame = key && timingSafeEqual(key.hash, Buffer.from(hash));
          if (!isSame || isExpired(key, now)) throw new ServiceError('scope_refused');
          lastUse.note({ id: key.caller.keyId, usedAt: now, inUrlAt: inUrl ? now : null });
          return key.caller;
        },
      );
    },
    /** @returns undefined for a key without a limit. Source: docs/interface §5.3. */
    countRequest(caller: KeyCaller): AtOnce<RateState | undefined> {
      const limit = limits.get(caller);
      return limit === undefined ? undefined : rateLimits.count(caller.keyId, limit);
    },
    /** Removes counts of past windows; called periodically. */
    dropEndedWindows: rateLimits.dropEnded,
    /** Call it after a key was written. */
    dropCache: () => keys.drop(),
  };
}
