import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { dataFolderAt, lockDataFolder, makeStoreFolders, syncFolder } from '../storage/folder/folder.ts';
import { type CheckOptions, checkBackup } from './backup-manifest.ts';
import { copyDurably, copyFiles } from './durable-copies.ts';

/** @throws Error if the data folder is in use or not empty, or if the source is not a backup or is damaged */
export async function restoreBackup(from: string, root: string, options: CheckOptions = {}) {
  const { folder: source, empty } = await openBackup(from, options);
  using _lock = lockDataFolder(root);
  const others = (await readdir(root)).filter((name) => !/^(?:server\.lock|secret-keys$)/.test(name));
  if (others.length > 0)
    throw new Error(`The data directory ${resolve(root)} is not empty: ${others.join(', ')}`);
  const draft = dataFolderAt(join(root, 'restore.part'));
  makeStoreFolders(draft);
  const catalogs = await copyFiles(source.catalogs, draft.catalogs);
  const payloads = await copyFiles(source.payloads, draft.payloads);
  await copyDurably(source.control, draft.control);
  // The control database is renamed last. Without it the folder does not look like a data directory, even after a power
  // cut in between.
  const data = dataFolderAt(root);
  for (const part of ['catalogs', 'payloads'] as const) await rename(draft[part], data[part]);
  await syncFolder(root);
  await rename(draft.control, data.control);
  await rm(draft.root, { recursive: true });
  await syncFolder(root);
  return { catalogs, payloads, empty };
}

/**
 * @returns the folder of a complete backup, with the result of its check
 * @throws Error if there is no backup, if it is damaged, or if a server or a newer program has written to it
 */
export async function openBackup(from: string, options: CheckOptions = {}) {
  const folder = dataFolderAt(resolve(from));
  if (!existsSync(folder.control)) throw new Error(`${folder.root} is not a backup: it has no control.db`);
  if (existsSync(`${folder.control}-wal`)) {
    throw new Error(`${folder.root} is no longer a backup, because a server was started on it`);
  }
  return { folder, ...(await checkBackup(folder, options)) };
}
