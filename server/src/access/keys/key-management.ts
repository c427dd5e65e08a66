import type { Scope } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type Author,
  actorOf,
  type Beside,
  type Change,
  describeChange,
  type ListPage,
  type PageWish,
  type Projects,
  type Reach,
  readPlace,
  toPage,
} from '../../projects/projects.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import {
  type ApiKey,
  firstCharactersOf,
  hashKeyValue,
  type KeyChange,
  type KeyLimits,
  makeKeyValue,
  type NewKey,
  planRotation,
  refuseHigherKey,
  refuseMoreAccess,
  refuseWiderLimits,
} from './api-key.ts';
import {
  findKeyInReach,
  insertKey,
  type KeyToInsert,
  listKeysInReach,
  removeKey,
  updateKey,
} from './api-key-store.ts';
import type { LastUse } from './last-use.ts';

/** A key at the one moment at which its value is known. */
export interface MadeKey extends ApiKey {
  readonly value: string;
}

interface Rotation {
  readonly id: number;
  /** For how long the old value works beside the new one; 0 ends it at once. */
  readonly overlapSeconds: number;
}

/**
 * A key reaches the keys of its own scope and below; any other is not_found. Source: docs/interface.md §5.2,
 * §14.2.
 */
export interface KeyManagement {
  listKeys(reach: Reach, wish: PageWish): Promise<ListPage<ApiKey>>;
  /** @throws not_found */
  getKey(reach: Reach, id: number): Promise<ApiKey>;
  /** @throws key_beyond_own, request_invalid */
  createKey(author: Author, given: NewKey, beside?: Beside<ApiKey>): Promise<MadeKey>;
  /** The same within a transaction, with a value that was chosen elsewhere. The scope is taken as it is. */
  addKey(tx: ControlTransaction, author: Author, given: NewKey & { value: string }): Promise<MadeKey>;
  /** @throws not_found, key_beyond_own */
  changeKey(author: Author, given: KeyChange, beside?: Beside<ApiKey>): Promise<ApiKey>;
  /** Refused from the moment this returns. @throws not_found */
  deleteKey(author: Author, id: number, beside?: Beside<ApiKey>): Promise<void>;
  /**
   * @returns the new key with the properties of the old. @throws not_found, key_beyond_own, request_invalid
   */
  rotateKey(author: Author, given: Rotation, beside?: Beside<ApiKey>): Promise<MadeKey>;
}

export interface KeyManagementParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly projects: Projects;
  readonly lastUse: LastUse;
  /** Runs after a key was written. */
  readonly onWritten: () => void;
}

export function createKeyManagement(parts: KeyManagementParts): KeyManagement {
  const { database, clock, projects, lastUse } = parts;
  const addKey: KeyManagement['addKey'] = (tx, author, given) => makeKey(parts, { tx, author, given });
  return {
    async listKeys(reach, wish) {
      const place = readPlace(wish);
      const { items, nextCursor } = toPage(await listKeysInReach(database.read, reach, place), place);
      return { items: items.map((key) => withLatestUse(key, lastUse)), nextCursor };
    },
    async getKey(reach, id) {
      return withLatestUse(await getInReach(database.read, reach, id), lastUse);
    },
    addKey,
    async createKey(author, given, beside) {
      await refuseBeyond(projects, author, given);
      return writeKey(parts, async (tx) => {
        const { expiresAt = null, rateLimit } = given;
        const requestsPerMinute = rateLimit?.requestsPerMinute ?? null;
        await refuseWider(tx, author, { expiresAt, requestsPerMinute });
        const key = await addKey(tx, author, { ...given, value: makeKeyValue() });
        await beside?.(tx, withoutValue(key));
        return key;
      });
    },
    changeKey: (author, { id, rateLimit, ...change }, beside) =>
      writeKey(parts, async (tx) => {
        const before = await getInReach(tx, author, id);
        refuseHigherKey(author, before);
        refuseMoreAccess(author.access, change.access ?? before.access);
        const requestsPerMinute =
          rateLimit === undefined ? before.requestsPerMinute : (rateLimit?.requestsPerMinute ?? null);
        const changed = { ...before, ...change, requestsPerMinute };
        await refuseWider(tx, author, listChanged(before, changed));
        const key = withLatestUse(changed, lastUse);
        await updateKey(tx, key);
        const details = describeChange(before, changed);
        await projects.recordChange({ ...keyChange(author, 'changed', key), details }, tx);
        await beside?.(tx, key);
        return key;
      }),
    deleteKey: (author, id, beside) =>
      writeKey(parts, async (tx) => {
        const key = await getInReach(tx, author, id);
        refuseHigherKey(author, key);
        await removeKey(tx, id);
        await projects.recordChange(keyChange(author, 'deleted', key), tx);
        await beside?.(tx, key);
      }),
    rotateKey: (author, { id, overlapSeconds }, beside) =>
      writeKey(parts, async (tx) => {
        const old = await getInReach(tx, author, id);
        refuseHigherKey(author, old);
        await refuseWider(tx, author, old);
        const expiresAt = planRotation(old, clock.now(), overlapSeconds);
        const key = await insertMade(parts, { tx, author, given: { ...old, value: makeKeyValue() } });
        await updateKey(tx, { ...old, expiresAt, rotatedTo: key.id });
        const details = { rotatedTo: key.id, oldValueEndsAt: expiresAt };
        await projects.recordChange({ ...keyChange(author, 'rotated', old), details }, tx);
        await beside?.(tx, withoutValue(key));
        return key;
      }),
  };
}

/** Nothing is answered before the write is durable and this process has forgotten the key as it was. */
async function writeKey<Result>(
  { database, onWritten }: KeyManagementParts,
  work: (tx: ControlTransaction) => Promise<Result>,
): Promise<Result> {
  const written = await database.write(work);
  onWritten();
  return written;
}

interface KeyInMaking<Given> {
  readonly tx: ControlTransaction;
  readonly author: Author;
  readonly given: Given;
}

async function makeKey(
  parts: KeyManagementParts,
  { tx, author, given }: KeyInMaking<NewKey & { value: string }>,
): Promise<MadeKey> {
  const { name, scope, access = 'manage', expiresAt = null, rateLimit, value } = given;
  if (expiresAt !== null && expiresAt <= parts.clock.now()) {
    throw new ServiceError('request_invalid', { details: ['/expiresAt must be an instant to come'] });
  }
  const requestsPerMinute = rateLimit?.requestsPerMinute ?? null;
  const key = await insertMade(parts, {
    tx,
    author,
    given: { name, scope, access, expiresAt, requestsPerMinute, value },
  });
  const details = { scope, access, expiresAt, requestsPerMinute };
  await parts.projects.recordChange({ ...keyChange(author, 'created', key), details }, tx);
  return key;
}

type KeyToMake = Pick<KeyToInsert, 'name' | 'scope' | 'access' | 'expiresAt' | 'requestsPerMinute'>;

async function insertMade(
  { clock }: KeyManagementParts,
  { tx, author, given }: KeyInMaking<KeyToMake & { value: string }>,
): Promise<MadeKey> {
  const { name, scope, access, expiresAt, requestsPerMinute, value } = given;
  const key = await insertKey(
    tx,
    {
      accountId: author.accountId,
      name,
      scope,
      access,
      expiresAt,
      requestsPerMinute,
      firstCharacters: firstCharactersOf(value),
      createdAt: clock.now(),
      createdBy: actorOf(author),
    },
    hashKeyValue(value),
  );
  return { ...key, value };
}

async function getInReach(
  rows: Database['read'] | ControlTransaction,
  reach: Reach,
  id: number,
): Promise<ApiKey> {
  const key = await findKeyInReach(rows, reach, id);
  if (key === undefined) throw new ServiceError('not_found');
  return key;
}

/** A scope that does not exist and one out of reach answer alike. @throws key_beyond_own */
async function refuseBeyond(
  projects: Projects,
  author: Author,
  { scope, access = 'manage' }: NewKey,
): Promise<void> {
  refuseHigherKey(author, { scope, access });
  if (await projects.reachesScope(author, scope)) return;
  throw new ServiceError('key_beyond_own', {
    details: [`/scope ${describeScope(scope)} is not within reach`],
  });
}

/** In the transaction that writes the key: the own limits may just have been narrowed. @throws key_beyond_own, scope_refused */
async function refuseWider(
  tx: ControlTransaction,
  author: Author,
  requested: Partial<KeyLimits>,
): Promise<void> {
  // Users and commands have no limits.
  if (!('keyId' in author)) return;
  const own = await findKeyInReach(tx, author, author.keyId);
  // Deleted since it was found.
  if (own === undefined) throw new ServiceError('scope_refused');
  refuseWiderLimits(own, { ...own, ...requested });
}

/**
 * Users have neither a rate limit nor an end: a key that has one of them would leave it behind by making a user.
 * @throws key_beyond_own, scope_refused
 */
export async function refuseLimited(tx: ControlTransaction, author: Author): Promise<void> {
  if (!('keyId' in author)) return;
  const own = await findKeyInReach(tx, author, author.keyId);
  if (own === undefined) throw new ServiceError('scope_refused');
  if (own.requestsPerMinute === null && own.expiresAt === null) return;
  const details = [
    'a key with a rate limit or an end makes no users, who have neither: use a key without, or an owner',
  ];
  throw new ServiceError('key_beyond_own', { details });
}

/** @returns those that a change touches: a key that has more already may be renamed */
function listChanged(before: KeyLimits, after: KeyLimits): Partial<KeyLimits> {
  return {
    ...(before.expiresAt !== after.expiresAt && { expiresAt: after.expiresAt }),
    ...(before.requestsPerMinute !== after.requestsPerMinute && {
      requestsPerMinute: after.requestsPerMinute,
    }),
  };
}

function describeScope(scope: Scope): string {
  return scope.type === 'account' ? 'account' : `${scope.type} ${scope.id}`;
}

/** Last uses are written only every few seconds; lists must show them at once. */
function withLatestUse(key: ApiKey, lastUse: LastUse): ApiKey {
  const use = lastUse.find(key.id);
  if (use === undefined) return key;
  return { ...key, lastUsedAt: use.at, usedInUrlAt: use.inUrlAt ?? key.usedInUrlAt };
}

function withoutValue({ value: _, ...key }: MadeKey): ApiKey {
  return key;
}

function keyChange(author: Author, what: string, { id, name, scope }: ApiKey): Change {
  const subject = { type: 'api-key', id, name };
  const action = `api-key.${what}`;
  if (scope.type === 'project') return { author, action, subject, projectId: scope.id };
  if (scope.type === 'account') return { author, action, subject };
  return { author, action, subject: { ...subject, projectGroupId: scope.id } };
}
