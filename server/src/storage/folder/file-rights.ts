import fs from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';

/**
 * The contents of a data folder. If it contains anything else, such as RELATA_IMPORT_DIR, other users may need access.
 */
const OURS =
  /^(?:control\.db.*|server\.lock.*|first-account-key|secret-keys|last-backup\.json|backup-state\.json.*|catalogs|payloads|temp|lost\+found)$/;
const OTHERS = 0o077;

/**
 * Removes the access that older versions gave to all users: 0.1 s for 10,000 catalogs.
 * @returns the paths that others can still access: those of another owner, and a root that contains more than a store
 */
export const tightenDataFolder = (folder: DataFolder): string[] => listExposed(folder, tighten);

/** @returns the paths that others can access; changes nothing */
export const listExposedPaths = (folder: DataFolder): string[] =>
  listExposed(folder, (path) => !isOpenToOthers(path));

/** @param isClosed whether others cannot access one of our paths; it may remove their access first */
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

/**
 * Changes no file of another owner, even if root runs this. Some file systems have no modes.
 * @returns whether others cannot access the path now
 */
function tighten(path: string): boolean {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & OTHERS) === 0) return true;
  if (stats.uid !== process.getuid?.()) return false;
  try {
    fs.chmodSync(path, stats.mode & 0o700);
  } catch {
    return false;
  }
  return !isOpenToOthers(path);
}
