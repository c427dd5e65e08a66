import { type Selectable, sql } from 'kysely';
import type { PartScope } from '../../kernel/caller.ts';
import { padToPowerOfTwo } from '../../kernel/padded.ts';
import type { Reach, Table } from '../../projects/projects.ts';
import { createStore, isScopeInReach, readScoped, toScopedColumns } from '../../projects/projects.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import type { ControlSchema, ControlTransaction, Database, Rows } from '../../storage/storage.ts';
import { control } from '../../storage/storage.ts';
import type { ApiKey, SecretHash } from './api-key.ts';

const table: Table<ApiKey, Reach> = {
  within: isScopeInReach,
  name: 'api_key',
  read: ({ hash: _, last_used_in_url_at: usedInUrlAt, ...row }: Selectable<ControlSchema['api_key']>) => ({
    ...readScoped(row),
    usedInUrlAt,
  }),
  toColumns: ({ name, access, expiresAt, requestsPerMinute, rotatedTo }) => ({
    name,
    access,
    expiresAt,
    requestsPerMinute,
    rotatedTo,
  }),
};
export const KEYS = createStore(table);

export const insertKey = (tx: ControlTransaction, key: Omit<ApiKey, 'id'>, hash: SecretHash) =>
  KEYS.insert(tx, {
    ...toScopedColumns(key),
    ...table.toColumns({ ...key, id: 0 }),
    hash,
    firstCharacters: key.firstCharacters,
  });

/** Uses the index of the unique hash. */
export async function findKeyByHash(
  rows: Database['read'],
  hash: SecretHash,
): Promise<{ key: ApiKey; hash: SecretHash } | undefined> {
  const row = await rows.selectFrom('api_key').selectAll().where('hash', '=', hash).executeTakeFirst();
  return row && { key: table.read(row), hash: row.hash };
}

export async function hasAnyKey(rows: Rows): Promise<boolean> {
  return (await rows.selectFrom('api_key').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** @returns the number of keys of account scope with access manage that are valid at `now` */
export async function countAccountKeys(rows: Rows, now: number): Promise<number> {
  const { count } = await rows
    .selectFrom('api_key')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where((is) => is.and({ scope_type: 'account', access: 'manage' }))
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

export const removeKeysOf = (tx: ControlTransaction, { type, id }: PartScope) =>
  control.remove(tx, 'api_key', { scopeType: type, scopeId: id });

/** A use of a key; `inUrlAt` is null if the URL did not contain the key. */
export interface KeyUse {
  readonly id: number;
  readonly usedAt: number;
  readonly inUrlAt: number | null;
}

/** The number of keys in one statement. */
const USES_AT_ONCE = 256;

/** Never moves an instant back, because other processes write as well. */
export async function saveUses(database: Database, uses: readonly KeyUse[]): Promise<void> {
  for (let start = 0; start < uses.length; start += USES_AT_ONCE) {
    const rows = padToPowerOfTwo(uses.slice(start, start + USES_AT_ONCE)).map(
      ({ id, usedAt, inUrlAt }) =>
        sql`(cast(${id} as bigint), cast(${usedAt} as bigint), cast(${inUrlAt} as bigint))`,
    );
    // SQLite and PostgreSQL both name the columns of a list of values `column1`, `column2` and so on.
    await database.write('rows', (tx) =>
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
    );
  }
}

/** The number of requests counted in the current window, and the time until it ends. */
export interface RateWindow {
  readonly count: number;
  readonly msLeft: number;
}

/**
 * Counts one request for all processes in one statement. Uses the clock of the database, because the clocks of
 * processes differ. The first request after a window has ended begins the next one.
 */
export async function countInWindow(
  postgres: Postgres,
  { key, windowMs }: { key: string; windowMs: number },
): Promise<RateWindow> {
  const [row] = await postgres.rows<RateWindow>(
    `insert into rate_window as present (key, points, expire)
     values ($1, 1, (extract(epoch from statement_timestamp()) * 1000)::bigint + $2::bigint)
     on conflict (key) do update set
       points = case when present.expire <= excluded.expire - $2::bigint then 1 else present.points + 1 end,
       expire = case when present.expire <= excluded.expire - $2::bigint then excluded.expire else present.expire end
     returning points as count,
       expire - (extract(epoch from statement_timestamp()) * 1000)::bigint as "msLeft"`,
    [key, windowMs],
  );
  return row ?? { count: 1, msLeft: windowMs };
}

export async function dropEndedWindows(postgres: Postgres): Promise<void> {
  await postgres.run(
    'delete from rate_window where expire < (extract(epoch from statement_timestamp()) * 1000)::bigint',
  );
}
