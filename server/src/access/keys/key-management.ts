import { ServiceError } from '../../kernel/errors.ts';
import type { Author, ListPage, PageRequest, Projects, Reach, Writer } from '../../projects/projects.ts';
import { actorOf, auditScoped, Resources } from '../../projects/projects.ts';
import type { Base, Chosen, ControlTransaction } from '../../storage/storage.ts';
import {
  type ApiKey,
  hashSecret,
  type KeyChange,
  type KeyLimits,
  makeSecret,
  type NewKey,
  planRotation,
  refuseHigherKey,
  refuseMoreAccess,
  refuseWiderLimits,
} from './api-key.ts';
import { insertKey, KEYS } from './api-key-store.ts';
import type { LastUse } from './last-use.ts';

/** `rk_` lets scanners for leaked secrets recognise a key. */
export const makeKeyValue = (): string => `rk_${makeSecret()}`;

/** A new key with its value, which is known only at creation. */
export interface MadeKey extends ApiKey {
  readonly value: string;
}

type KeyWriter = Writer<ApiKey, Reach>;
interface Overlap {
  /** For how long the old value stays valid besides the new one; 0 ends it immediately. */
  readonly overlapSeconds?: number;
}

type ValuedKey = NewKey & { readonly value: string };

interface KeyManagementParts extends Pick<Base, 'clock' | 'database'> {
  readonly projects: Projects;
  readonly lastUse: LastUse;
  readonly onWritten: () => void;
}

/** A key reaches keys of its own scope and below; all others are not_found. Source: docs/interface §5.2 and §14.2. */
export function createKeyManagement(parts: KeyManagementParts) {
  const { clock, projects, lastUse } = parts;
  const keys = new Resources<ApiKey, Reach>(parts, {
    store: KEYS,
    audit: ({ id, name, scope }) => auditScoped({ type: 'api-key', id, name }, scope),
    show: ({ lastUsedAt, usedInUrlAt, ...key }) => key,
    refuseOf: refuseHigherKey,
  });
  return {
    async listKeys(reach: Reach, request: PageRequest): Promise<ListPage<ApiKey>> {
      const page = await keys.list(reach, request);
      return { ...page, items: page.items.map((key) => withLatestUse(key, lastUse)) };
    },

    /** @throws not_found */
    getKey: async (reach: Reach, id: number): Promise<ApiKey> =>
      withLatestUse(await keys.get(reach, id), lastUse),

    /** Adds a key with a given value, in a given transaction. Does not check the scope. */
    async addKey(tx: ControlTransaction, author: Author, given: ValuedKey): Promise<void> {
      const { after: resource, details } = await insertNew(tx, { author, now: clock.now() }, given);
      await keys.record(tx, author, { what: 'created', resource, details });
    },

    /** @throws key_beyond_own, request_invalid */
    async createKey(writer: KeyWriter, given: NewKey): Promise<MadeKey> {
      await refuseBeyond(projects, writer.author, given);
      const value = makeKeyValue();
      const key = await keys.create(writer, (tx) =>
        insertRequested(tx, { author: writer.author, now: clock.now() }, { ...given, value }),
      );
      return { ...key, value };
    },

    /** @throws not_found, key_beyond_own */
    changeKey: (writer: KeyWriter, chosen: Chosen, change: KeyChange): Promise<ApiKey> =>
      keys.change(writer, { ...chosen, what: 'changed' }, async (tx, before) => {
        const after = await planChange(tx, writer.author, { before, change });
        return { after: withLatestUse(after, lastUse) };
      }),

    /** The key is refused as soon as this returns. @throws not_found */
    deleteKey: (writer: KeyWriter, chosen: Chosen): Promise<void> => keys.remove(writer, chosen),

    /** @returns a new key with the properties of the old one. @throws not_found, key_beyond_own, request_invalid */
    async rotateKey(writer: KeyWriter, chosen: Chosen, { overlapSeconds = 0 }: Overlap): Promise<MadeKey> {
      const value = makeKeyValue();
      const rotated = await keys.change(writer, { ...chosen, what: 'rotated' }, (tx, old) =>
        insertRotated(tx, { author: writer.author, now: clock.now() }, { old, value, overlapSeconds }),
      );
      return { ...rotated, value };
    },
  };
}

/** The author of a new key, and the instant of its creation. */
interface Making {
  readonly author: Author;
  readonly now: number;
}

/** @throws key_beyond_own, scope_refused, request_invalid */
async function insertRequested(tx: ControlTransaction, making: Making, given: ValuedKey) {
  const { expiresAt = null, rateLimit } = given;
  const limits = { expiresAt, requestsPerMinute: rateLimit?.requestsPerMinute ?? null };
  await refuseWider(tx, making.author, limits);
  return insertNew(tx, making, given);
}

/** @throws request_invalid */
async function insertNew(tx: ControlTransaction, making: Making, given: ValuedKey) {
  const { name, value, scope, access = 'manage', expiresAt = null, rateLimit } = given;
  if (expiresAt !== null && expiresAt <= making.now)
    throw new ServiceError('request_invalid', '/expiresAt must be an instant in the future');
  const details = { scope, access, expiresAt, requestsPerMinute: rateLimit?.requestsPerMinute ?? null };
  return { after: await insertMade(tx, making, { ...details, name, value }), details };
}

/** Makes the new key and ends the old one after the overlap. @throws key_beyond_own, request_invalid */
async function insertRotated(
  tx: ControlTransaction,
  making: Making,
  { old, value, overlapSeconds }: { old: ApiKey; value: string; overlapSeconds: number },
) {
  await refuseWider(tx, making.author, old);
  const expiresAt = planRotation(old, making.now, overlapSeconds);
  const answered = await insertMade(tx, making, { ...old, value });
  const details = { rotatedTo: answered.id, oldValueEndsAt: expiresAt };
  return { after: { ...old, expiresAt, rotatedTo: answered.id }, details, answered };
}

/** Enough characters to identify a key in a list, and too few to guess the other 35. */
const SHOWN_CHARACTERS = 8;

/** Inserts a key without checking what its author may create. */
async function insertMade(
  tx: ControlTransaction,
  { author, now }: Making,
  { value, ...given }: Pick<ApiKey, 'name' | 'scope' | 'access' | keyof KeyLimits> & { value: string },
): Promise<ApiKey> {
  const key = {
    ...given,
    accountId: author.accountId,
    createdAt: now,
    createdBy: actorOf(author),
    firstCharacters: value.slice(0, SHOWN_CHARACTERS),
    lastUsedAt: null,
    usedInUrlAt: null,
    rotatedTo: null,
  };
  return insertKey(tx, key, hashSecret(value));
}

/** @throws key_beyond_own, scope_refused */
async function planChange(
  tx: ControlTransaction,
  author: Author,
  { before, change: { rateLimit, ...change } }: { readonly before: ApiKey; readonly change: KeyChange },
): Promise<ApiKey> {
  refuseMoreAccess(author.access, change.access ?? before.access);
  const requestsPerMinute =
    rateLimit === undefined ? before.requestsPerMinute : (rateLimit?.requestsPerMinute ?? null);
  const after = { ...before, ...change, requestsPerMinute };
  await refuseWider(tx, author, listChanged(before, after));
  return after;
}

/** Refuses an unknown scope like a scope out of reach. @throws key_beyond_own */
async function refuseBeyond(projects: Projects, author: Author, { scope, access = 'manage' }: NewKey) {
  refuseHigherKey(author, { scope, access });
  if (await projects.reachesScope(author, scope)) return;
  const named = scope.type === 'account' ? 'account' : `${scope.type} ${scope.id}`;
  throw new ServiceError('key_beyond_own', `/scope ${named} is unknown or out of reach`);
}

/**
 * Reads the author's limits in the transaction of the write, because they may have been narrowed since the request.
 * @throws scope_refused for a deleted key
 */
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
 * A user has neither a rate limit nor an expiry, so a key with one of them could escape it by creating a user.
 * @throws key_beyond_own, scope_refused
 */
export async function refuseLimited(tx: ControlTransaction, author: Author): Promise<void> {
  const { requestsPerMinute = null, expiresAt = null } = (await findOwnLimits(tx, author)) ?? {};
  if (requestsPerMinute === null && expiresAt === null) return;
  const detail =
    'a key with a rate limit or an expiry cannot create users or give them roles: use a key without these limits';
  throw new ServiceError('key_beyond_own', detail);
}

/** @returns only the limits that a change affects, so that a key that already exceeds them can be renamed */
function listChanged(before: KeyLimits, after: KeyLimits): Partial<KeyLimits> {
  const changed = (['expiresAt', 'requestsPerMinute'] as const).filter(
    (name) => before[name] !== after[name],
  );
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** Adds the latest use, because lists must show it immediately and the database receives it seconds later. */
function withLatestUse(key: ApiKey, lastUse: LastUse): ApiKey {
  const use = lastUse.find(key.id);
  if (use === undefined) return key;
  return { ...key, lastUsedAt: use.usedAt, usedInUrlAt: use.inUrlAt ?? key.usedInUrlAt };
}
