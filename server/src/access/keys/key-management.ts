import { auditScoped, createResources, type Planned } from '../../definitions/definitions.ts';
import type { Scope } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type Author,
  actorOf,
  type Beside,
  type ListPage,
  type PageRequest,
  type Projects,
  type Reach,
} from '../../projects/projects.ts';
import type { Base, ControlTransaction } from '../../storage/storage.ts';
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
import { insertKey, KEYS } from './api-key-store.ts';
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

export interface KeyManagementParts extends Pick<Base, 'clock' | 'database'> {
  readonly projects: Projects;
  readonly lastUse: LastUse;
  /** Runs after a key was written. */
  readonly onWritten: () => void;
}

export type KeyManagement = ReturnType<typeof createKeyManagement>;

/** A key reaches the keys of its own scope and below; any other is not_found. Source: docs/interface.md §5.2, §14.2. */
export function createKeyManagement(parts: KeyManagementParts) {
  const { clock, projects, lastUse } = parts;
  const keys = createResources<ApiKey, Reach>(parts, {
    store: KEYS,
    lockOf: () => 'all',
    audit: ({ id, name, scope }) => auditScoped({ type: 'api-key', id, name }, scope),
    show: ({ lastUsedAt, usedInUrlAt, ...key }) => key,
  });

  /** Every refusal of a new key that depends on its author is made before. */
  async function insertMade(
    tx: ControlTransaction,
    author: Author,
    given: Pick<ApiKey, 'name' | 'scope' | 'access' | 'expiresAt' | 'requestsPerMinute'> & {
      readonly value: string;
    },
  ): Promise<ApiKey> {
    const { value, name, scope, access, expiresAt, requestsPerMinute } = given;
    const key = {
      ...{ accountId: author.accountId, name, scope, access, expiresAt, requestsPerMinute },
      ...{ firstCharacters: firstCharactersOf(value), createdAt: clock.now(), createdBy: actorOf(author) },
      ...{ lastUsedAt: null, usedInUrlAt: null, rotatedTo: null },
    };
    return insertKey(tx, key, hashKeyValue(value));
  }

  async function insertNew(
    tx: ControlTransaction,
    author: Author,
    {
      name,
      scope,
      access = 'manage',
      expiresAt = null,
      rateLimit,
      value,
    }: NewKey & { readonly value: string },
  ): Promise<Planned<ApiKey>> {
    if (expiresAt !== null && expiresAt <= clock.now())
      throw new ServiceError('request_invalid', '/expiresAt must be an instant to come');
    const details = { scope, access, expiresAt, requestsPerMinute: rateLimit?.requestsPerMinute ?? null };
    return { after: await insertMade(tx, author, { ...details, name, value }), details };
  }

  return {
    async listKeys(reach: Reach, request: PageRequest): Promise<ListPage<ApiKey>> {
      const page = await keys.list(reach, request);
      return { ...page, items: page.items.map((key) => withLatestUse(key, lastUse)) };
    },

    /** @throws not_found */
    getKey: async (reach: Reach, id: number): Promise<ApiKey> =>
      withLatestUse(await keys.get(reach, id), lastUse),

    /** Adds a key within a transaction, with a value that was chosen elsewhere. The scope is taken as it is. */
    async addKey(tx: ControlTransaction, author: Author, given: NewKey & { value: string }): Promise<void> {
      const { after: resource, details } = await insertNew(tx, author, given);
      await keys.record(tx, author, { what: 'created', resource, details });
    },

    /** @throws key_beyond_own, request_invalid */
    async createKey(author: Author, given: NewKey, beside?: Beside<ApiKey>): Promise<MadeKey> {
      await refuseBeyond(projects, author, given);
      const value = makeKeyValue();
      const key = await keys.create({ author, place: author, beside }, async (tx) => {
        const { expiresAt = null, rateLimit } = given;
        await refuseWider(tx, author, { expiresAt, requestsPerMinute: rateLimit?.requestsPerMinute ?? null });
        return insertNew(tx, author, { ...given, value });
      });
      return { ...key, value };
    },

    /** @throws not_found, key_beyond_own */
    changeKey: (
      author: Author,
      { id, rateLimit, ...change }: KeyChange,
      beside?: Beside<ApiKey>,
    ): Promise<ApiKey> =>
      keys.change({ author, place: author, beside }, { id, what: 'changed' }, async (tx, before) => {
        refuseHigherKey(author, before);
        refuseMoreAccess(author.access, change.access ?? before.access);
        const requestsPerMinute =
          rateLimit === undefined ? before.requestsPerMinute : (rateLimit?.requestsPerMinute ?? null);
        const changed = { ...before, ...change, requestsPerMinute };
        await refuseWider(tx, author, listChanged(before, changed));
        return { after: withLatestUse(changed, lastUse) };
      }),

    /** Refused from the moment this returns. @throws not_found */
    deleteKey: (author: Author, id: number, beside?: Beside<ApiKey>): Promise<void> =>
      keys.remove({ author, place: author, beside }, { id }, async (_, key) => refuseHigherKey(author, key)),

    /** @returns the new key with the properties of the old. @throws not_found, key_beyond_own, request_invalid */
    async rotateKey(
      author: Author,
      { id, overlapSeconds }: Rotation,
      beside?: Beside<ApiKey>,
    ): Promise<MadeKey> {
      const value = makeKeyValue();
      const made = await keys.change(
        { author, place: author, beside },
        { id, what: 'rotated' },
        async (tx, old) => {
          refuseHigherKey(author, old);
          await refuseWider(tx, author, old);
          const expiresAt = planRotation(old, clock.now(), overlapSeconds);
          const answered = await insertMade(tx, author, { ...old, value });
          const details = { rotatedTo: answered.id, oldValueEndsAt: expiresAt };
          return { after: { ...old, expiresAt, rotatedTo: answered.id }, details, answered };
        },
      );
      return { ...made, value };
    },
  };
}

/** A scope that does not exist and one out of reach answer alike. @throws key_beyond_own */
async function refuseBeyond(
  projects: Projects,
  author: Author,
  { scope, access = 'manage' }: NewKey,
): Promise<void> {
  refuseHigherKey(author, { scope, access });
  if (await projects.reachesScope(author, scope)) return;
  throw new ServiceError('key_beyond_own', `/scope ${describeScope(scope)} is not within reach`);
}

/** In the transaction that writes the key: the own limits may just have been narrowed. @throws key_beyond_own, scope_refused */
async function refuseWider(
  tx: ControlTransaction,
  author: Author,
  requested: Partial<KeyLimits>,
): Promise<void> {
  // Users and commands have no limits.
  if (!('keyId' in author)) return;
  const own = await KEYS.find(tx, author, author.keyId);
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
  const own = await KEYS.find(tx, author, author.keyId);
  if (own === undefined) throw new ServiceError('scope_refused');
  if (own.requestsPerMinute === null && own.expiresAt === null) return;
  throw new ServiceError(
    'key_beyond_own',
    'a key with a rate limit or an end makes no users, who have neither: use a key without, or an owner',
  );
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
