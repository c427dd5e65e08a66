import { setTimeout } from 'node:timers/promises';
import { type Migration, readMigrations, refuseNewer } from '../migrations/migrations.ts';
import type { PostgresSettings } from './connection-pool.ts';
import { distributeNew } from './distribution.ts';
import { openPostgres, type Postgres } from './open-postgres.ts';
import type { SqlTransaction } from './postgres-session.ts';

/** A process without a sign of life for this long is considered gone. A task has a lease of the same length. */
export const GONE_MS = 10_000;
/**
 * How long a start waits for older processes to end, for example those that were stopped at the same time or just
 * killed.
 */
const OTHERS_MS = 15_000;
/** The first schema in which each process records the version that it knows. */
const NOTED_SINCE = 22;

/**
 * Migrates a PostgreSQL database to the newest schema. If several processes start together, only one of them migrates.
 * @throws Error when a newer program wrote the database, or an older one still runs on it
 */
export async function migratePostgres(
  postgres: Postgres,
  migrations: readonly Migration[] = readMigrations('postgres'),
): Promise<void> {
  await postgres
    .run(
      `create table if not exists service (
         id bigint primary key check (id = 1), schema_version bigint not null, beat_at bigint not null default 0)`,
    )
    .catch((error: { code?: string }) => {
      // Despite `if not exists`, two processes that create a table at the same time collide in PostgreSQL's own tables.
      if (!['23505', '42P07'].includes(error.code ?? '')) throw error;
    });
  await postgres.run('insert into service (id, schema_version) values (1, 0) on conflict do nothing');
  for (const until = performance.now() + OTHERS_MS; ; await setTimeout(500)) {
    // Each attempt is a transaction, because it locks the row in which older processes record their signs of life.
    const older = await postgres.transaction((tx) => bringToNewest(tx, migrations));
    if (older === undefined) return;
    if (performance.now() > until) throw new Error(older);
  }
}

/**
 * @returns the older processes that prevent the migration; none after it
 * @throws Error when a newer program wrote the database
 */
async function bringToNewest(tx: SqlTransaction, migrations: readonly Migration[]) {
  const newest = migrations.at(-1)?.version ?? 0;
  const [row] = await tx.rows<{ version: number }>(
    'select schema_version as version from service where id = 1 for update',
  );
  const present = row?.version ?? 0;
  refuseNewer('The database', present, newest);
  const pending = migrations.filter(({ version }) => version > present);
  const leastVersion = pending.findLast(({ isCompatible }) => !isCompatible)?.version;
  const older = leastVersion === undefined || present === 0 ? [] : await listOlder(tx, present, leastVersion);
  if (older.length > 0)
    return `This program would bring the database from schema ${present} to ${newest}, but an older one still runs on it: \
${older.join('; ')}. Stop all older processes, then start this one again (docs/operating/install.md, "Upgrade").`;
  for (const migration of pending) await apply(tx, migration);
  if (pending.length > 0 && newest >= NOTED_SINCE)
    await tx.run(
      'update service set compatible_from = coalesce($1, compatible_from), compatible_to = $2 where id = 1',
      [leastVersion ?? null, newest],
    );
  await chooseCompression(tx);
  await distributeNew(tx);
  return undefined;
}

/**
 * @param leastVersion the schema that a program must know to work with the new one
 * @returns the processes that cannot work with the new schema, and when each was last seen. Programs before schema 22
 * do not record themselves. Each raises the beat of `service` every five seconds, which shows only that at least one
 * runs.
 */
async function listOlder(tx: SqlTransaction, present: number, leastVersion: number): Promise<string[]> {
  const seen =
    present < NOTED_SINCE
      ? `select 'a process of version 0.1' as place, schema_version as version, beat_at as seen_at from service`
      : `select place, schema_version as version, seen_at from upload_process`;
  const older = await tx.rows<{ place: string; version: number; passed: number }>(
    `select place, version, greatest(now_at - seen_at, 0) as passed
     from (${seen}) seen, (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_at) clock
     where version < $1 and seen_at > now_at - $2::bigint order by place`,
    [leastVersion, GONE_MS],
  );
  return older.map(
    ({ place, version, passed }) =>
      `${place} (schema ${version}, last seen ${Math.ceil(passed / 1_000)} s ago)`,
  );
}

async function apply(tx: SqlTransaction, { version, sql }: Migration): Promise<void> {
  // A statement ends with a semicolon at the end of a line.
  const statements = sql.split(/;\s*$/m).filter((text) => /^\s*[a-z]/m.test(text));
  for (const statement of statements) await tx.run(statement);
  await tx.run('update service set schema_version = $1 where id = 1', [version]);
}

/**
 * Turns on lz4, if the server has it, for uploads of more than 2 KB, which then stay in their row. So a product of
 * 3.3 KB writes half as much to the WAL. Other servers leave uploads uncompressed, because pglz takes too long. This is
 * decided at each start, because a database may have come from another server.
 */
async function chooseCompression(tx: SqlTransaction): Promise<void> {
  const [row] = await tx.rows<{ knowsLz4: boolean; present: string }>(`
    select 'lz4' = any(enumvals) as "knowsLz4", attstorage::text || attcompression::text as present
    from pg_settings, pg_attribute
    where name = 'default_toast_compression' and attrelid = 'document'::regclass and attname = 'raw'`);
  // `main` moves a value to the TOAST table only if it does not fit on a page.
  const { mark, storage, method, target } = row?.knowsLz4
    ? { mark: 'ml', storage: 'main', method: 'lz4', target: 'reset (toast_tuple_target)' }
    : { mark: 'e', storage: 'external', method: 'default', target: 'set (toast_tuple_target = 8160)' };
  if (row?.present === mark) return;
  await tx.run(
    `alter table document alter column raw set storage ${storage}, alter column raw set compression ${method}, ${target}`,
  );
  for (const column of ['identifiers', 'products', 'report'])
    await tx.run(`alter table staged_batch alter column ${column} set compression ${method}`);
}

/** Whether the database has no keys of the service: it has no tables yet, or was interrupted before its first key. */
export async function isEmpty(postgres: Postgres): Promise<boolean> {
  const [keyTable] = await postgres.rows<{ table: string | null }>(
    `select to_regclass('api_key')::text as "table"`,
  );
  if (!keyTable?.table) return true;
  return (await postgres.rows('select 1 from api_key limit 1')).length === 0;
}

/** Facts about a PostgreSQL server and its database, for a program that only reads. */
export type PostgresFacts = Awaited<ReturnType<typeof inspectPostgres>>;

/**
 * Creates and migrates nothing.
 * @throws not_ready when the server cannot be reached or rejects the user
 */
export async function inspectPostgres(settings: PostgresSettings) {
  const postgres = openPostgres({ ...settings, connections: 1 });
  try {
    const [server] = await postgres.rows<{
      version: string;
      number: string;
      isReplica: boolean;
      table: string | null;
    }>(
      `select current_setting('server_version') as version, current_setting('server_version_num') as number,
         pg_is_in_recovery() as "isReplica", to_regclass('service')::text as table`,
    );
    const rows = server?.table
      ? await postgres.rows<{ schema: number; beat: number }>(
          'select schema_version as schema, beat_at as beat from service',
        )
      : [];
    return {
      /** As people write it, such as 18.1. */
      version: server?.version ?? '',
      major: Math.floor(Number(server?.number) / 10_000),
      isReplica: server?.isReplica === true,
      /** 0 if the service has created no tables yet. */
      schema: rows[0]?.schema ?? 0,
      /** The last beat of a service in epoch milliseconds; 0 if there is none. */
      beat: rows[0]?.beat ?? 0,
    };
  } finally {
    await postgres.close();
  }
}
