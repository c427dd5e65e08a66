import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../sqlite-errors.ts';

/** Set on a connection that must not write its log back, because only a backup may do so. */
export const KEEP_LOG = 'pragma wal_autocheckpoint = 0;';

const BUSY_TIMEOUT_MS = 10_000;
/** More attempts than needed, because the second one finds the file already switched to WAL. */
const ATTEMPTS = 100;

/**
 * Opens a database file and sets it up. When threads or processes open a new file at the same time and switch it to
 * WAL, SQLite refuses all except one, often despite the timeout. Of 240 opens by 4 threads, 156 failed without the
 * timeout and 1 with it. So the switch is retried.
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

/** Adds the path to the error, because SQLite does not report which file failed. */
function openFile(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    (error as Error).message += `: ${path}`;
    throw error;
  }
}

/** @returns what `make` returns for a text, such as a prepared statement; it is made at its first use */
export function onceByText<Made>(make: (text: string) => Made): (text: string) => Made {
  const madeByText = new Map<string, Made>();
  return (text) => madeByText.getOrInsertComputed(text, make);
}
