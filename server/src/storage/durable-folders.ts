import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** A power cut takes a new name away again, and all that is below it, unless its folder was synced. */

/** Makes names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function syncFolderNow(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Creates missing folders one by one, durably: below /proc, where none can be created, Node's own recursion never ends.
 * @param mode of those that are missing
 */
export function makeFolders(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let above = resolve(path); !existsSync(above); above = dirname(above)) missing.unshift(above);
  for (const folder of missing) {
    makeFolder(folder, mode);
    syncFolderNow(dirname(folder));
  }
}

/** Another process may create it at the same time. */
function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
}

/** A file for the service's own user, durable when it returns. @throws Error when it must be new and is there */
export function writeOwnFile(path: string, text: string, flag: 'w' | 'wx'): void {
  writeFileSync(path, text, { mode: 0o600, flag, flush: true });
  syncFolderNow(dirname(path));
}
