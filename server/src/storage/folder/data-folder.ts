import fs from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../sqlite-errors.ts';
import { makeFolders } from './durable-files.ts';

/** Paths below the data folder. A backup has the same structure. */
export type DataFolder = Readonly<ReturnType<typeof dataFolderAt>>;

export const dataFolderAt = (root: string) => ({
  root,
  control: join(root, 'control.db'),
  catalogs: join(root, 'catalogs'),
  payloads: join(root, 'payloads'),
  /** No backup contains this file. */
  secretKeys: join(root, 'secret-keys'),
  /** Records the last backup. No backup contains this file. */
  lastBackup: join(root, 'last-backup.json'),
});

/** @throws Error that names the setting */
export function makeDataFolder(root: string): void {
  try {
    makeFolders(root);
    if (fs.statSync(root).isDirectory()) return;
  } catch (error) {
    throw refuseRoot(root, `cannot be made (${(error as Error).message})`);
  }
  throw refuseRoot(root, 'is no folder');
}

/**
 * For commands that need an existing store and create none.
 * @throws Error that names the setting
 */
export function existingDataFolder(root: string): DataFolder {
  const folder = dataFolderAt(root);
  if (fs.existsSync(folder.control)) return folder;
  throw refuseRoot(resolve(root), 'has no store, because control.db is missing');
}

/** @throws Error when the directory to be filled contains anything other than `besides` */
export function refuseFilled(root: string, besides?: string): void {
  if (fs.existsSync(root) && fs.readdirSync(root).some((name) => name !== besides))
    throw new Error(`${resolve(root)} is not empty: name an empty directory, or one that does not exist yet`);
}

const refuseRoot = (root: string, why: string) =>
  new Error(`The data folder ${root} ${why}: set RELATA_DATA_DIR.`);

export function makeStoreFolders({ root, catalogs, payloads }: DataFolder): void {
  for (const path of [root, catalogs, payloads]) makeFolders(path);
}

/** @returns the projects that have a catalog file, in ascending order */
export const listCatalogs = ({ catalogs }: Pick<DataFolder, 'catalogs'>): number[] =>
  (fs.existsSync(catalogs) ? fs.readdirSync(catalogs) : [])
    .flatMap((name) => /^([1-9]\d*)\.db$/.exec(name)?.slice(1).map(Number) ?? [])
    .sort((a, b) => a - b);

export const catalogPath = (folder: Pick<DataFolder, 'catalogs'>, projectId: number): string =>
  join(folder.catalogs, `${projectId}.db`);

/**
 * Prevents a second server in a data folder. The lock is SQLite's exclusive lock on a separate file. The operating
 * system releases it with the process, so a crash leaves no lock behind.
 * @throws Error when another server holds the folder, or it cannot be locked
 */
export function lockDataFolder(root: string): DatabaseSync {
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
  return lock;
}
