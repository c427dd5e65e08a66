import { type Selectable, sql } from 'kysely';
import type { PartScope, Scope } from '../../kernel/caller.ts';
import { padToPowerOfTwo } from '../../kernel/padded.ts';
import { isScopeInReach, type PagePlace, type Reach } from '../../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../../storage/storage.ts';
import type { ApiKey, KeyHash } from './api-key.ts';

type Rows = Database['read'] | ControlTransaction;

/** By the index of the unique hash. */
export async function findKeyByHash(
  rows: Database['read'],
  hash: KeyHash,
): Promise<{ key: ApiKey; hash: KeyHash } | undefined> {
  const row = await rows.selectFrom('api_key').selectAll().where('hash', '=', hash).executeTakeFirst();
  return row && { key: toKey(row), hash: row.hash };
}

export async function findKeyInReach(rows: Rows, reach: Reach, id: number): Promise<ApiKey | undefined> {
  const row = await rows
    .selectFrom('api_key')
    .selectAll()
    .where('id', '=', id)
    .where(isScopeInReach(reach))
    .executeTakeFirst();
  return row && toKey(row);
}

/** @returns the keys in reach, by id. */
export async function listKeysInReach(rows: Rows, reach: Reach, place: PagePlace): Promise<ApiKey[]> {
  const found = await rows
    .selectFrom('api_key')
    .selectAll()
    .where(isScopeInReach(reach))
    .where('id', '>', place.after ?? 0)
    .orderBy('id')
    .limit(place.count)
    .execute();
  return found.map(toKey);
}

export async function hasAnyKey(rows: Rows): Promise<boolean> {
  return (await rows.selectFrom('api_key').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** @returns how many keys of account scope with the access to manage are good at that instant */
export async function countAccountKeys(rows: Rows, now: number): Promise<number> {
  const { count } = await rows
    .selectFrom('api_key')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('scope_type', '=', 'account')
    .where('access', '=', 'manage')
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

export type KeyToInsert = Omit<ApiKey, 'id' | 'lastUsedAt' | 'usedInUrlAt' | 'rotatedTo'>;

export async function insertKey(tx: ControlTransaction, key: KeyToInsert, hash: KeyHash): Promise<ApiKey> {
  const row = await tx
    .insertInto('api_key')
    .values({
      account_id: key.accountId,
      name: key.name,
      scope_type: key.scope.type,
      scope_id: key.scope.type === 'account' ? null : key.scope.id,
      access: key.access,
      hash,
      first_characters: key.firstCharacters,
      created_at: key.createdAt,
      created_by: JSON.stringify(key.createdBy),
      expires_at: key.expiresAt,
      requests_per_minute: key.requestsPerMinute,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toKey(row);
}

export async function updateKey(tx: ControlTransaction, key: ApiKey): Promise<void> {
  await tx
    .updateTable('api_key')
    .set({
      name: key.name,
      access: key.access,
      expires_at: key.expiresAt,
      requests_per_minute: key.requestsPerMinute,
      rotated_to: key.rotatedTo,
    })
    .where('id', '=', key.id)
    .execute();
}

export async function removeKey(tx: ControlTransaction, id: number): Promise<void> {
  await tx.deleteFrom('api_key').where('id', '=', id).execute();
}

export async function removeKeysOf(tx: ControlTransaction, scope: PartScope): Promise<void> {
  await tx
    .deleteFrom('api_key')
    .where('scope_type', '=', scope.type)
    .where('scope_id', '=', scope.id)
    .execute();
}

/** When a key was used; `inUrlAt` null when it did not come in the URL. */
export interface KeyUse {
  readonly id: number;
  readonly at: number;
  readonly inUrlAt: number | null;
}

/** Keys in one statement. */
const USES_AT_ONCE = 256;

/** Never moves an instant back: other processes write too. */
export async function saveUses(database: Database, uses: readonly KeyUse[]): Promise<void> {
  for (let start = 0; start < uses.length; start += USES_AT_ONCE) {
    const rows = padToPowerOfTwo(uses.slice(start, start + USES_AT_ONCE)).map(
      ({ id, at, inUrlAt }) =>
        sql`(cast(${id} as bigint), cast(${at} as bigint), cast(${inUrlAt} as bigint))`,
    );
    // Both stores name the columns of a list of values so.
    await database.write(
      (tx) =>
        sql`
          update api_key
          set last_used_at = case when last_used_at >= column2 then last_used_at else column2 end,
            last_used_in_url_at = case
              when column3 is null or last_used_in_url_at >= column3 then last_used_in_url_at
              else column3
            end
          from (values ${sql.join(rows)}) as uses
          where api_key.id = column1
        `.execute(tx),
      { of: 'rows' },
    );
  }
}

function toKey(row: Selectable<ControlSchema['api_key']>): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    scope: toScope(row),
    access: row.access,
    firstCharacters: row.first_characters,
    createdAt: row.created_at,
    createdBy: JSON.parse(row.created_by),
    lastUsedAt: row.last_used_at,
    usedInUrlAt: row.last_used_in_url_at,
    expiresAt: row.expires_at,
    requestsPerMinute: row.requests_per_minute,
    rotatedTo: row.rotated_to,
  };
}

function toScope({ scope_type: type, scope_id: id }: Selectable<ControlSchema['api_key']>): Scope {
  return type === 'account' || id === null ? { type: 'account' } : { type, id };
}
