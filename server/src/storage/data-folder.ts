import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Paths below the data folder. A backup has the same shape. */
export interface DataFolder {
  readonly root: string;
  readonly control: string;
  readonly catalogs: string;
  readonly payloads: string;
}

export function dataFolderAt(root: string): DataFolder {
  return {
    root,
    control: join(root, 'control.db'),
    catalogs: join(root, 'catalogs'),
    payloads: join(root, 'payloads'),
  };
}

/**
 * Makes what is missing one by one: below /proc, where nothing can be made, Node's own recursion never ends.
 * @throws Error that names the setting
 */
export function makeDataFolder(root: string): void {
  const missing: string[] = [];
  for (let path = resolve(root); !existsSync(path); path = dirname(path)) missing.unshift(path);
  try {
    for (const path of missing) makeFolder(path);
    if (statSync(root).isDirectory()) return;
  } catch (error) {
    throw refuseRoot(root, `cannot be made (${(error as Error).message})`);
  }
  throw refuseRoot(root, 'is no folder');
}

/** Another process may make it at the same time. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
}

/** For commands that work on what is there: none of them makes a store. @throws Error that names the setting */
export function existingDataFolder(root: string): DataFolder {
  const folder = dataFolderAt(root);
  if (existsSync(folder.control)) return folder;
  throw refuseRoot(resolve(root), 'holds no store, there is no control.db');
}

const refuseRoot = (root: string, why: string) =>
  new Error(`The data folder ${root} ${why}: set RELATA_DATA_DIR.`);

export const catalogPath = (folder: Pick<DataFolder, 'catalogs'>, projectId: number): string =>
  join(folder.catalogs, `${projectId}.db`);
