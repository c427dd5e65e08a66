import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type DatabaseKind, newestOf, readMigrations } from '../migrations/migrations.ts';
import { isDamaged } from '../sqlite-errors.ts';

/** Tables that are created on use: those of the first search, SQLite's statistics, and the progress of a move. */
const MADE_LATER =
  /^(?:search_(?:lexeme(?:_data|_idx|_content|_docsize|_config)?|entry|word|progress)|sqlite_(?:stat\d|sequence)|move_progress)$/;
/** The most names in a list, because a reader needs no more. */
const MOST_SHOWN = 10;

const expected = new Map<string, ReadonlyMap<string, string>>();

/** @returns the statement of every object that the migrations up to a version create, by type and name */
function readExpected(kind: DatabaseKind, version: number): ReadonlyMap<string, string> {
  return expected.getOrInsertComputed(`${kind} ${version}`, () => {
    using database = new DatabaseSync(':memory:');
    for (const migration of readMigrations(kind))
      if (migration.version <= version) database.exec(migration.sql);
    return readSchema(database);
  });
}

function readSchema(database: DatabaseSync): Map<string, string> {
  const rows = database.prepare('select type, name, sql from sqlite_schema').all();
  return new Map(rows.map(({ type, name, sql }) => [`${type} ${name}`, String(sql ?? '')]));
}

/**
 * Compares the schema of a database with that of its version. SQLite would run a foreign trigger or view at the next
 * write or read.
 * @returns objects that the service did not create, such as `trigger take_over`, at most ten; none for a schema newer
 * than this program
 */
export function findForeignSchema(database: DatabaseSync, kind: DatabaseKind): string[] {
  const version = Number(database.prepare('pragma user_version').get()?.user_version ?? 0);
  if (version > newestOf(kind)) return [];
  const expectedObjects = readExpected(kind, version);
  const foreign = [...readSchema(database)].filter(([key, sql]) => {
    const [type = '', name = ''] = key.split(/ (.*)/s);
    if (expectedObjects.get(key) === sql) return false;
    if (type === 'trigger' || type === 'view') return true;
    // In a file without a version, the migrations create the tables and fail on those that exist already.
    return version > 0 && !MADE_LATER.test(name) && !name.startsWith('sqlite_autoindex_');
  });
  return foreign.slice(0, MOST_SHOWN).map(([key]) => key.slice(0, 100));
}

/** Checks a file that no other process uses. It is opened without its log, and no file is created beside it. */
export function findForeignSchemaIn(path: string, kind: DatabaseKind): string[] {
  try {
    using database = new DatabaseSync(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true });
    return findForeignSchema(database, kind);
  } catch (error) {
    // SQLite itself refuses a damaged file, so the service does not serve it.
    if (isDamaged(error)) return [];
    throw error;
  }
}
