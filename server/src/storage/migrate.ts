import { readdirSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Which of the two kinds of database a file is: the service's own tables, or one project's catalog. */
export type DatabaseKind = 'control' | 'catalog';

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

const migrationsOf = new Map<DatabaseKind | 'postgres', readonly Migration[]>();

/**
 * Brings a database to the newest schema: forward only, all in one transaction, the version in `user_version`.
 * @throws Error when the file was written by a newer program, whose schema this one does not know.
 */
export function migrate(database: DatabaseSync, kind: DatabaseKind): void {
  const migrations = readMigrations(kind);
  const newest = migrations.at(-1)?.version ?? 0;
  if (versionOf(database) === newest) return;
  database.exec('begin immediate');
  try {
    const present = versionOf(database);
    if (present > newest) {
      throw new Error(
        `The ${kind} database has schema ${present}, this program knows ${newest}: use a newer one.`,
      );
    }
    for (const { version, sql } of migrations) {
      if (version > present) database.exec(`${sql}\n; pragma user_version = ${version}`);
    }
    database.exec('commit');
  } catch (error) {
    database.exec('rollback');
    throw error;
  }
}

/** Whether a file has the newest schema of its kind; it is only read. */
export function isNewest(path: string, kind: DatabaseKind): boolean {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return versionOf(database) === readMigrations(kind).at(-1)?.version;
  } finally {
    database.close();
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('pragma user_version').get()?.user_version ?? 0);
}

/** @returns the migrations of a kind, oldest first */
export function readMigrations(kind: DatabaseKind | 'postgres'): readonly Migration[] {
  const known = migrationsOf.get(kind);
  if (known !== undefined) return known;
  const folder = new URL(`../../migrations/${kind}/`, import.meta.url);
  const migrations = readdirSync(folder)
    .filter((name) => /^\d{4}-.*\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), sql: readFileSync(new URL(name, folder), 'utf8') }));
  migrationsOf.set(kind, migrations);
  return migrations;
}
