import type { PresentedKey, RateState } from '../../http/guards/guards.ts';
import type { KeyCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { createShortCache } from '../../projects/projects.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import type { Base } from '../../storage/storage.ts';
import { type ApiKey, hashKeyValue, isExpired, isSameHash, type KeyHash } from './api-key.ts';
import { findKeyByHash } from './api-key-store.ts';
import type { LastUse } from './last-use.ts';
import { createRateLimits } from './rate-limit.ts';

/** Keys remembered at a time: one for each of 10,000 projects and as many more, at some 500 bytes each. */
const REMEMBERED_KEYS = 20_000;

interface FoundKey {
  readonly hash: KeyHash;
  readonly expiresAt: number | null;
  readonly caller: KeyCaller;
}

export interface KeyFinderParts extends Pick<Base, 'clock' | 'database'> {
  /** Where requests are counted when other processes serve too. */
  readonly postgres: Postgres | undefined;
  readonly lastUse: LastUse;
}

/** On the way of every request: mostly answered from memory. */
export function createKeyFinder({ database, postgres, clock, lastUse }: KeyFinderParts) {
  const keys = createShortCache<KeyHash, FoundKey>(clock, REMEMBERED_KEYS);
  /** The limits of the callers that were found; they go when their callers go. */
  const limits = new WeakMap<KeyCaller, number>();
  const rateLimits = createRateLimits(postgres);

  async function read(hash: KeyHash): Promise<FoundKey | undefined> {
    const found = await findKeyByHash(database.read, hash);
    if (found === undefined) return undefined;
    const caller = toCaller(found.key);
    if (found.key.requestsPerMinute !== null) limits.set(caller, found.key.requestsPerMinute);
    return { hash: found.hash, expiresAt: found.key.expiresAt, caller };
  }

  return {
    /** @throws scope_refused when the key is unknown, deleted or expired. Source: docs/interface.md §5.1 rule 8. */
    async findCaller({ value, inUrl }: PresentedKey): Promise<KeyCaller> {
      const hash = hashKeyValue(value);
      const found = await keys.get(hash, () => read(hash));
      const now = clock.now();
      if (found === undefined || !isSameHash(found.hash, hash) || isExpired(found, now)) {
        throw new ServiceError('scope_refused');
      }
      lastUse.note({ id: found.caller.keyId, at: now, inUrlAt: inUrl ? now : null });
      return found.caller;
    },
    /** @returns undefined for a key without a limit. Source: docs/interface.md §5.3. */
    async countRequest(caller: KeyCaller): Promise<RateState | undefined> {
      const limit = limits.get(caller);
      return limit === undefined ? undefined : rateLimits.count(caller.keyId, limit);
    },
    /** Removes counts of past windows; called from time to time. */
    dropEndedWindows: rateLimits.dropEnded,
    /** To be called when a key was written. */
    dropCache: () => keys.drop(),
  };
}

function toCaller({ accountId, id, name, scope, access }: ApiKey): KeyCaller {
  return { accountId, keyId: id, keyName: name, scope, access };
}
