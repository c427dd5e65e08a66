import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './sqlite-errors.ts';

/** Paths below the data folder. A backup has the same shape. */
export type DataFolder = Readonly<ReturnType<typeof dataFolderAt>>;

export const dataFolderAt = (root: string) => ({
  root,
  control: join(root, 'control.db'),
  catalogs: join(root, 'catalogs'),
  payloads: join(root, 'payloads'),
  /** Not in any backup. */
  secretKeys: join(root, 'secret-keys'),
  /** Records the last backup; not in any backup itself. */
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

/** For commands that need an existing store: none of them creates one. @throws Error that names the setting */
export function existingDataFolder(root: string): DataFolder {
  const folder = dataFolderAt(root);
  if (fs.existsSync(folder.control)) return folder;
  throw refuseRoot(resolve(root), 'holds no store, there is no control.db');
}

/** @throws Error when a directory that is to be filled contains anything other than `besides` */
export function refuseFilled(root: string, besides?: string): void {
  if (fs.existsSync(root) && fs.readdirSync(root).some((name) => name !== besides))
    throw new Error(`${resolve(root)} is not empty: name a directory that is empty or not there yet`);
}

/** What a data folder contains. If there is anything else, e.g. RELATA_IMPORT_DIR, other users may need access. */
const OURS =
  /^(?:control\.db.*|server\.lock.*|first-account-key|secret-keys|last-backup\.json|backup-state\.json.*|catalogs|payloads|temp|lost\+found)$/;
const OTHERS = 0o077;

/**
 * Removes the access that older versions gave to everybody: 0.1 s for 10,000 catalogs.
 * @returns the paths that others can still access: those of another owner, and a root that holds more than a store
 */
export const tightenDataFolder = (folder: DataFolder): string[] => listExposed(folder, tighten);

/** @returns the paths that others can access; changes nothing */
export const listExposedPaths = (folder: DataFolder): string[] =>
  listExposed(folder, (path) => !isOpenToOthers(path));

/** @param isClosed whether others cannot access one of our paths, or no longer */
function listExposed({ root, catalogs, payloads }: DataFolder, isClosed: (path: string) => boolean) {
  // Windows has no such modes.
  if (process.getuid === undefined) return [];
  const names = fs.readdirSync(root);
  const ours = names
    .filter((name) => OURS.test(name) && name !== 'lost+found')
    .map((name) => join(root, name));
  const inside = [catalogs, payloads].flatMap((path) => fs.readdirSync(path).map((name) => join(path, name)));
  const open = [...ours, ...inside].filter((path) => !isClosed(path));
  const isRootOurs = names.every((name) => OURS.test(name));
  return (isRootOurs ? isClosed(root) : !isOpenToOthers(root)) ? open : [root, ...open];
}

function isOpenToOthers(path: string): boolean {
  return ((fs.statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS) !== 0;
}

/** Files of another owner are left alone, even by root. Some file systems have no modes. */
function tighten(path: string): boolean {
  const found = fs.statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & OTHERS) === 0) return true;
  if (found.uid !== process.getuid?.()) return false;
  try {
    fs.chmodSync(path, found.mode & 0o700);
  } catch {
    return false;
  }
  return !isOpenToOthers(path);
}

const refuseRoot = (root: string, why: string) =>
  new Error(`The data folder ${root} ${why}: set RELATA_DATA_DIR.`);

/** @returns the projects that have a catalog file, in order */
export const listCatalogs = ({ catalogs }: Pick<DataFolder, 'catalogs'>): number[] =>
  (fs.existsSync(catalogs) ? fs.readdirSync(catalogs) : [])
    .flatMap((name) => /^([1-9]\d*)\.db$/.exec(name)?.slice(1).map(Number) ?? [])
    .sort((a, b) => a - b);

export const catalogPath = (folder: Pick<DataFolder, 'catalogs'>, projectId: number): string =>
  join(folder.catalogs, `${projectId}.db`);

/** The last complete backup. */
export interface LastBackup {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly directory: string;
}

/**
 * Records a backup for the service's metrics and `relata doctor`, in a file of the folder's owner even if root makes the backup.
 * @returns whether it could be written: a backup counts even if the data folder is full or read-only
 */
export function recordBackup({ root, lastBackup }: DataFolder, made: LastBackup): boolean {
  try {
    writeOwnFile(lastBackup, `${JSON.stringify(made)}\n`, 'w');
    const { uid, gid } = fs.statSync(root);
    if (process.getuid?.() === 0) fs.chownSync(lastBackup, uid, gid);
    return true;
  } catch {
    return false;
  }
}

/** @returns undefined if no backup was made, or the file is unreadable */
export function findLastBackup({ lastBackup }: DataFolder): LastBackup | undefined {
  try {
    const { at, directory } = JSON.parse(fs.readFileSync(lastBackup, 'utf8'));
    return Number.isSafeInteger(at) ? { at, directory: String(directory) } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Keeps a second server out of a data folder. The lock is SQLite's exclusive lock on a file of its own: the
 * operating system drops it with the process, so a crash leaves none behind.
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

/** Makes names in a folder durable: otherwise a power cut loses a new one, with everything below it. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

export function syncFolderNow(path: string): void {
  using folder = openNow(path, 'r');
  fs.fsyncSync(folder.fd);
}

/** Closed at the end of the block that it is used in. */
export function openNow(path: string, flags: 'r' | 'r+' | 'w') {
  const fd = fs.openSync(path, flags, 0o600);
  return { fd, [Symbol.dispose]: () => fs.closeSync(fd) };
}

/**
 * Creates missing folders one by one, durably: below /proc, where none can be created, Node's own recursion never ends.
 * @param mode of the folders that are created
 */
export function makeFolders(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let above = resolve(path); !fs.existsSync(above); above = dirname(above)) missing.unshift(above);
  for (const folder of missing) {
    try {
      fs.mkdirSync(folder, { mode });
    } catch (error) {
      // Another process may create it at the same time.
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
    }
    syncFolderNow(dirname(folder));
  }
}

export function makeStoreFolders({ root, catalogs, payloads }: DataFolder): void {
  for (const path of [root, catalogs, payloads]) makeFolders(path);
}

/** Writes a file for the service's own user, durable when it returns. @throws Error when it must be new and exists */
export function writeOwnFile(path: string, text: string, flag: 'w' | 'wx'): void {
  fs.writeFileSync(path, text, { mode: 0o600, flag, flush: true });
  syncFolderNow(dirname(path));
}
