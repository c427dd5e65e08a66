import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Makes the names in a folder durable. Otherwise a power cut may lose a new name, with everything below it. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

export function syncFolderNow(path: string): void {
  using folder = openNow(path, 'r');
  fs.fsyncSync(folder.fd);
}

/** @returns a file for a `using` declaration, which closes it at the end of its block */
export function openNow(path: string, flags: 'r' | 'r+' | 'w') {
  const fd = fs.openSync(path, flags, 0o600);
  return { fd, [Symbol.dispose]: () => fs.closeSync(fd) };
}

/**
 * Creates missing folders durably, one by one. Node's own recursion never ends below /proc, where no folder can be
 * created.
 * @param mode of the folders that are created
 */
export function makeFolders(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let above = resolve(path); !fs.existsSync(above); above = dirname(above)) missing.unshift(above);
  for (const folder of missing) {
    try {
      fs.mkdirSync(folder, { mode });
    } catch (error) {
      // Another process may create the folder at the same time.
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
    }
    syncFolderNow(dirname(folder));
  }
}

/**
 * Writes a file that only the service's user may read, durable when it returns.
 * @throws Error when the file must be new and exists
 */
export function writeOwnFile(path: string, text: string, flag: 'w' | 'wx'): void {
  fs.writeFileSync(path, text, { mode: 0o600, flag, flush: true });
  syncFolderNow(dirname(path));
}
