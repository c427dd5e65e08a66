import { type Migration, readMigrations, refuseNewer } from '../migrate.ts';
import { chooseCompression } from './compression.ts';
import type { Postgres, SqlTransaction } from './connections.ts';

/** Migrates a PostgreSQL database to the newest schema; one of several processes that start together does it. */
export async function migratePostgres(postgres: Postgres): Promise<void> {
  await postgres
    .run(
      `create table if not exists service (
         id bigint primary key check (id = 1), schema_version bigint not null, beat_at bigint not null default 0)`,
    )
    .catch(ignoreRace);
  await postgres.run('insert into service (id, schema_version) values (1, 0) on conflict do nothing');
  await postgres.transaction((tx) => bringToNewest(tx, readMigrations('postgres')));
}

/** Despite `if not exists`, two processes that create a table at once collide in PostgreSQL's own tables. */
function ignoreRace(error: unknown): void {
  if (!['23505', '42P07'].includes((error as { code?: string }).code ?? '')) throw error;
}

/** @throws Error when the database was written by a newer program */
async function bringToNewest(tx: SqlTransaction, migrations: readonly Migration[]): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0;
  const [row] = await tx.rows<{ version: number }>(
    'select schema_version as version from service where id = 1 for update',
  );
  const present = row?.version ?? 0;
  refuseNewer('The database', present, newest);
  for (const migration of migrations) if (migration.version > present) await apply(tx, migration);
  await chooseCompression(tx);
}

async function apply(tx: SqlTransaction, { version, sql }: Migration): Promise<void> {
  for (const statement of splitStatements(sql)) await tx.run(statement);
  await tx.run('update service set schema_version = $1 where id = 1', [version]);
}

/** Statements end with a semicolon at the end of a line. */
const splitStatements = (sql: string) => sql.split(/;\s*$/m).filter((text) => /^\s*[a-z]/m.test(text));
