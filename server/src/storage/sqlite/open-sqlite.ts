import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../sqlite-errors.ts';

/** For a connection that writes where only a backup writes logs back. */
export const KEEP_LOG = 'pragma wal_autocheckpoint = 0;';

const BUSY_TIMEOUT_MS = 10_000;
/** More than enough: the second attempt finds the file already switched. */
const ATTEMPTS = 100;

/**
 * Opens a database file and sets it up. When threads or processes open a new file at once and switch it to WAL, SQLite
 * refuses all except one, often despite the timeout (4 threads: 156 of 240 failed without it, 1 with it), hence the retries.
 */
export function openSqlite(path: string, pragmas: string): DatabaseSync {
  for (let attempt = 1; ; attempt += 1) {
    const database = openFile(path);
    try {
      database.exec(pragmas);
      return database;
    } catch (error) {
      database.close();
      if (!isBusy(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Adds the path to the error, as SQLite does not say which file failed. */
function openFile(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    (error as Error).message += `: ${path}`;
    throw error;
  }
}

/** @returns what `make` returns for a text, made at its first use, for example the prepared statement */
export function onceByText<Made>(make: (text: string) => Made): (text: string) => Made {
  const known = new Map<string, Made>();
  return (text) => known.getOrInsertComputed(text, make);
}
