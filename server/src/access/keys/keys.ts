/**
 * The door of keys: API keys, their scope and access, how often they may call, and whom a presented key
 * identifies. Knows no passwords or sessions.
 */
import { timingSafeEqual } from 'node:crypto';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { PresentedKey, RateState } from '../../http/guards/guards.ts';
import { type AtOnce, andThen } from '../../kernel/at-once.ts';
import type { KeyCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author, PageRequest, Projects, Reach, Writer } from '../../projects/projects.ts';
import { actorOf, auditScoped, createResources, createShortCache } from '../../projects/projects.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import type { Base, Chosen, ControlTransaction, Database } from '../../storage/storage.ts';
import type { ApiKey, KeyChange, KeyLimits, NewKey, SecretHash } from './api-key.ts';
import {
  hashSecret,
  isExpired,
  makeSecret,
  planRotation,
  refuseHigherKey,
  refuseMoreAccess,
  refuseWiderLimits,
} from './api-key.ts';
import {
  countInWindow,
  dropEndedWindows,
  findKeyByHash,
  insertKey,
  KEYS,
  type KeyUse,
  type RateWindow,
  saveUses,
} from './api-key-store.ts';

export { hashSecret, makeSecret, type NewKey, type SecretHash } from './api-key.ts';
export { countAccountKeys, hasAnyKey, removeKeysOf } from './api-key-store.ts';

/** Enough to tell keys apart in a list, too few to guess the other 35. */
const SHOWN_CHARACTERS = 8;

/** `rk_` lets scanners for leaked secrets recognise a key. */
export const makeKeyValue = (): string => `rk_${makeSecret()}`;

/** How many keys are remembered: one for each of 10,000 projects and as many more, at some 500 bytes each. */
const REMEMBERED_KEYS = 20_000;

interface FoundKey {
  readonly hash: Buffer;
  readonly expiresAt: number | null;
  readonly caller: KeyCaller;
}

interface KeyFinderParts extends Pick<Base, 'clock' | 'database'> {
  /** Where requests are counted if other processes serve too. */
  readonly postgres: Postgres | undefined;
  readonly lastUse: LastUse;
}

/** Runs in every request, usually from memory. */
export function createKeyFinder({ database, postgres, clock, lastUse }: KeyFinderParts) {
  const keys = createShortCache<SecretHash, FoundKey>(clock, REMEMBERED_KEYS);
  /** The limits of the callers that were found, released with their callers. */
  const limits = new WeakMap<KeyCaller, number>();
  const rateLimits = createRateLimits(postgres);

  async function read(hash: SecretHash): Promise<FoundKey | undefined> {
    const found = await findKeyByHash(database.read, hash);
    if (found === undefined) return undefined;
    const { id, name, accountId, scope, access, expiresAt, requestsPerMinute } = found.key;
    const caller = { accountId, keyId: id, keyName: name, scope, access };
    if (requestsPerMinute !== null) limits.set(caller, requestsPerMinute);
    return { hash: Buffer.from(found.hash), expiresAt, caller };
  }

  return {
    /** @throws scope_refused when the key is unknown, deleted or expired. Source: docs/interface §5.1 rule 8. */
    findCaller({ value, inUrl }: PresentedKey): AtOnce<KeyCaller> {
      const hash = hashSecret(value);
      return andThen(
        keys.get(hash, () => read(hash)),
        (found) => {
          const now = clock.now();
          // In constant time, wherever they differ. Source: docs/interface §5.2 rule 5.
          const isSame = found && timingSafeEqual(found.hash, Buffer.from(hash));
          if (!isSame || isExpired(found, now)) throw new ServiceError('scope_refused');
          lastUse.note({ id: found.caller.keyId, at: now, inUrlAt: inUrl ? now : null });
          return found.caller;
        },
      );
    },
    /** @returns undefined for a key without a limit. Source: docs/interface §5.3. */
    countRequest(caller: KeyCaller): AtOnce<RateState | undefined> {
      const limit = limits.get(caller);
      return limit === undefined ? undefined : rateLimits.count(caller.keyId, limit);
    },
    /** Removes counts of past windows; called from time to time. */
    dropEndedWindows: rateLimits.dropEnded,
    /** Call it when a key was written. */
    dropCache: () => keys.drop(),
  };
}

/** A write per request would cost a commit each; the console needs the time to the minute at most. */
const FLUSH_EVERY_MS = 10_000;

type LastUse = ReturnType<typeof createLastUse>;

/** Remembers when keys were used; the first use after a write starts the timer of the next. */
export function createLastUse(database: Database) {
  let uses = new Map<number, KeyUse>();
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();

  /** Runs one write after another, so that waiting for the last one waits for all. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    // A failed write is reported to its own caller; this one writes its uses again.
    underWay = underWay.catch(() => {}).then(writeUses);
    return underWay;
  }

  async function writeUses(): Promise<void> {
    if (uses.size === 0) return;
    const written = uses;
    uses = new Map();
    try {
      await saveUses(database, [...written.values()]);
    } catch (error) {
      for (const use of written.values()) keep(use);
      throw error;
    }
  }

  function keep(use: KeyUse): void {
    const known = uses.get(use.id);
    const at = Math.max(use.at, known?.at ?? 0);
    const inUrlAt = Math.max(use.inUrlAt ?? 0, known?.inUrlAt ?? 0);
    uses.set(use.id, { id: use.id, at, inUrlAt: inUrlAt === 0 ? null : inUrlAt });
  }

  return {
    note(use: KeyUse): void {
      keep(use);
      // A full disk must not stop the service; unwritten uses are written with the next ones.
      timer ??= setTimeout(() => flush().catch(() => {}), FLUSH_EVERY_MS).unref();
    },
    /** @returns a use that is not written yet */
    find: (keyId: number) => uses.get(keyId),
    flush,
  };
}

/** Source: docs/interface §5.3. */
const WINDOW_SECONDS = 60;

/**
 * A window begins with a key's first request and ends 60 s later. The limit is compared here and not where
 * requests are counted, so that a changed limit applies at once, within the current window. Where several
 * processes serve, they count together, in their database; not by RateLimiterPostgres, which uses the clock
 * of each process, so that one that is ahead would end the windows of others (docs/decisions/0001).
 */
export function createRateLimits(postgres: Postgres | undefined) {
  const here = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });

  async function countRequest(keyId: number): Promise<RateWindow> {
    if (postgres !== undefined)
      return countInWindow(postgres, { key: `key ${keyId}`, windowMs: WINDOW_SECONDS * 1000 });
    const { consumedPoints, msBeforeNext } = await here.consume(keyId);
    return { count: consumedPoints, msLeft: msBeforeNext };
  }

  return {
    /** Counts one request; `remaining` is -1 if it exceeds the limit. */
    async count(keyId: number, limit: number): Promise<RateState> {
      const { count, msLeft } = await countRequest(keyId);
      // A request that waited for another's count may find a window that began after it did.
      const resetSeconds = Math.min(WINDOW_SECONDS, Math.max(1, Math.ceil(msLeft / 1000)));
      return { limit, remaining: Math.max(limit - count, -1), resetSeconds };
    },
    /** Removes windows that have ended; those of this process expire by themselves. */
    dropEnded: async () => postgres && dropEndedWindows(postgres),
  };
}

/** A key at the only moment when its value is known. */
export interface MadeKey extends ApiKey {
  readonly value: string;
}

type KeyWriter = Writer<ApiKey, Reach>;

interface KeyManagementParts extends Pick<Base, 'clock' | 'database'> {
  readonly projects: Projects;
  readonly lastUse: LastUse;
  readonly onWritten: () => void;
}

/** A key reaches the keys of its own scope and below; all others are not_found. Source: docs/interface §5.2, §14.2. */
export function createKeyManagement(parts: KeyManagementParts) {
  const { clock, projects, lastUse } = parts;
  const keys = createResources<ApiKey, Reach>(parts, {
    store: KEYS,
    audit: ({ id, name, scope }) => auditScoped({ type: 'api-key', id, name }, scope),
    show: ({ lastUsedAt, usedInUrlAt, ...key }) => key,
    refuseOf: refuseHigherKey,
  });

  /** All refusals of a new key that depend on its author come first. */
  async function insertMade(
    tx: ControlTransaction,
    author: Author,
    { value, ...given }: Pick<ApiKey, 'name' | 'scope' | 'access' | keyof KeyLimits> & { value: string },
  ): Promise<ApiKey> {
    const key = {
      ...given,
      accountId: author.accountId,
      createdAt: clock.now(),
      createdBy: actorOf(author),
      firstCharacters: value.slice(0, SHOWN_CHARACTERS),
      lastUsedAt: null,
      usedInUrlAt: null,
      rotatedTo: null,
    };
    return insertKey(tx, key, hashSecret(value));
  }

  async function insertNew(tx: ControlTransaction, author: Author, given: NewKey & { value: string }) {
    const { name, value, scope, access = 'manage', expiresAt = null, rateLimit } = given;
    if (expiresAt !== null && expiresAt <= clock.now())
      throw new ServiceError('request_invalid', '/expiresAt must be an instant to come');
    const details = { scope, access, expiresAt, requestsPerMinute: rateLimit?.requestsPerMinute ?? null };
    return { after: await insertMade(tx, author, { ...details, name, value }), details };
  }

  return {
    async listKeys(reach: Reach, request: PageRequest) {
      const page = await keys.list(reach, request);
      return { ...page, items: page.items.map((key) => withLatestUse(key, lastUse)) };
    },

    /** @throws not_found */
    getKey: async (reach: Reach, id: number): Promise<ApiKey> =>
      withLatestUse(await keys.get(reach, id), lastUse),

    /** Adds a key within a transaction, with a value that was chosen elsewhere. Its scope is not checked. */
    async addKey(tx: ControlTransaction, author: Author, given: NewKey & { value: string }): Promise<void> {
      const { after: resource, details } = await insertNew(tx, author, given);
      await keys.record(tx, author, { what: 'created', resource, details });
    },

    /** @throws key_beyond_own, request_invalid */
    async createKey(writer: KeyWriter, given: NewKey): Promise<MadeKey> {
      const { author } = writer;
      await refuseBeyond(projects, author, given);
      const value = makeKeyValue();
      const key = await keys.create(writer, async (tx) => {
        const { expiresAt = null, rateLimit } = given;
        await refuseWider(tx, author, { expiresAt, requestsPerMinute: rateLimit?.requestsPerMinute ?? null });
        return insertNew(tx, author, { ...given, value });
      });
      return { ...key, value };
    },

    /** @throws not_found, key_beyond_own */
    changeKey: (writer: KeyWriter, chosen: Chosen, { rateLimit, ...change }: KeyChange): Promise<ApiKey> =>
      keys.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
        const { author } = writer;
        refuseMoreAccess(author.access, change.access ?? before.access);
        const requestsPerMinute =
          rateLimit === undefined ? before.requestsPerMinute : (rateLimit?.requestsPerMinute ?? null);
        const changed = { ...before, ...change, requestsPerMinute };
        await refuseWider(tx, author, listChanged(before, changed));
        return { after: withLatestUse(changed, lastUse) };
      }),

    /** The key is refused from the moment this returns. @throws not_found */
    deleteKey: (writer: KeyWriter, chosen: Chosen): Promise<void> => keys.remove(writer, chosen),

    /**
     * @param overlapSeconds how long the old value stays valid beside the new one; 0 ends it at once
     * @returns the new key with the properties of the old one. @throws not_found, key_beyond_own, request_invalid
     */
    async rotateKey(
      writer: KeyWriter,
      chosen: Chosen,
      { overlapSeconds = 0 }: { readonly overlapSeconds?: number },
    ): Promise<MadeKey> {
      const { author } = writer;
      const value = makeKeyValue();
      const made = await keys.change(writer, { ...chosen, what: 'rotated' }, async (tx, old) => {
        await refuseWider(tx, author, old);
        const expiresAt = planRotation(old, clock.now(), overlapSeconds);
        const answered = await insertMade(tx, author, { ...old, value });
        const details = { rotatedTo: answered.id, oldValueEndsAt: expiresAt };
        return { after: { ...old, expiresAt, rotatedTo: answered.id }, details, answered };
      });
      return { ...made, value };
    },
  };
}

/** A scope that does not exist is refused like one out of reach. @throws key_beyond_own */
async function refuseBeyond(projects: Projects, author: Author, { scope, access = 'manage' }: NewKey) {
  refuseHigherKey(author, { scope, access });
  if (await projects.reachesScope(author, scope)) return;
  const named = scope.type === 'account' ? 'account' : `${scope.type} ${scope.id}`;
  throw new ServiceError('key_beyond_own', `/scope ${named} is not within reach`);
}

/** Read in the writing transaction, as the author's limits may just have been narrowed. @throws scope_refused for a deleted key */
async function findOwnLimits(tx: ControlTransaction, author: Author): Promise<KeyLimits | undefined> {
  // Users and commands have no limits.
  if (!('keyId' in author)) return undefined;
  const own = await KEYS.find(tx, author, author.keyId);
  if (own === undefined) throw new ServiceError('scope_refused');
  return own;
}

/** @throws key_beyond_own, scope_refused */
async function refuseWider(tx: ControlTransaction, author: Author, requested: Partial<KeyLimits>) {
  const own = await findOwnLimits(tx, author);
  if (own !== undefined) refuseWiderLimits(own, { ...own, ...requested });
}

/**
 * Users have neither a rate limit nor an expiry: a key with either could escape it by creating a user.
 * @throws key_beyond_own, scope_refused
 */
export async function refuseLimited(tx: ControlTransaction, author: Author): Promise<void> {
  const { requestsPerMinute = null, expiresAt = null } = (await findOwnLimits(tx, author)) ?? {};
  if (requestsPerMinute === null && expiresAt === null) return;
  const detail =
    'a key with a rate limit or an end makes no users, who have neither: use a key without, or an owner';
  throw new ServiceError('key_beyond_own', detail);
}

/** @returns the limits that a change touches: a key that already exceeds them may be renamed */
function listChanged(before: KeyLimits, after: KeyLimits): Partial<KeyLimits> {
  const changed = (['expiresAt', 'requestsPerMinute'] as const).filter(
    (name) => before[name] !== after[name],
  );
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** Last uses are written only every few seconds, but lists must show them at once. */
function withLatestUse(key: ApiKey, lastUse: LastUse): ApiKey {
  const use = lastUse.find(key.id);
  if (use === undefined) return key;
  return { ...key, lastUsedAt: use.at, usedInUrlAt: use.inUrlAt ?? key.usedInUrlAt };
}
