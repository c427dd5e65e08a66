import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDataFolder } from './data-folder.ts';
import { isBusy } from './sqlite-errors.ts';

/**
 * Keeps a second server out of a data folder. The lock is SQLite's exclusive lock on a file of its own: the operating
 * system drops it with the process, so a crash leaves none behind.
 * @throws Error when another server holds the folder, or there can be none.
 */
export function lockDataFolder(root: string): { release(): void } {
  makeDataFolder(root);
  const lock = new DatabaseSync(join(root, 'server.lock'));
  try {
    lock.exec(
      'pragma journal_mode = delete; pragma locking_mode = exclusive; pragma busy_timeout = 0; begin exclusive',
    );
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new Error(`Another server uses the data folder ${root}: stop it, or set RELATA_DATA_DIR.`);
  }
  return { release: () => lock.close() };
}
