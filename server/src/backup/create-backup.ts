import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import {
  catalogPath,
  type DataFolder,
  dataFolderAt,
  existingDataFolder,
  makeFolders,
  makeStoreFolders,
  recordBackup,
  refuseFilled,
  syncFolder,
} from '../storage/folder/folder.ts';
import { type DatabaseKind, migrate, refuseNewerDatabase } from '../storage/migrations/migrations.ts';
import { checkSqliteFile, findOtherOwner, readInstallation, recordOwner } from '../storage/sqlite/sqlite.ts';
import { listOwnedPayloads } from '../transfer/transfer.ts';
import { writeManifest } from './backup-manifest.ts';
import { settleCatalog, settleControl } from './backup-settlement.ts';
import { copyDurably } from './durable-copies.ts';

/**
 * Makes a backup while the service runs. The control database is copied first, then the bodies of open tasks, then the
 * catalogs. So a task that the first copy shows as ended is in its catalog. A task whose body was removed before the
 * copy has ended, so the copy of its catalog has its effect. Then the copy becomes an independent data folder: tasks
 * that its catalogs contain are marked as ended, and task numbers continue above every number that a catalog contains.
 */

/** Copies all pages in one step. So each file is a single moment, and a busy writer cannot make the copy start over. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * @param afterControl awaited once the control database is copied; changes that tests make there are not in the copy
 * @throws Error if the target is not empty, or if there is nothing to back up; then no files are left
 */
export async function createBackup(
  root: string,
  target: string,
  afterControl: () => Promise<void> = async () => {},
) {
  const source = existingDataFolder(root);
  refuseFilled(target);
  const finalPath = resolve(target);
  makeFolders(dirname(finalPath), 0o777);
  const draft = await mkdtemp(`${finalPath}.part-`);
  try {
    const copy = dataFolderAt(draft);
    makeStoreFolders(copy);
    await copyDatabase(source.control, copy.control, 'control');
    await afterControl();
    const summary = await copyRest(source, copy);
    const madeAt = new Date();
    await writeManifest(copy, madeAt);
    await rename(draft, finalPath);
    await syncFolder(dirname(finalPath));
    const isRecorded = recordBackup(source, { at: madeAt.getTime(), directory: finalPath });
    return { ...summary, isRecorded };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

/** @returns the number of copied files */
async function copyRest(source: DataFolder, copy: DataFolder) {
  using control = new DatabaseSync(copy.control);
  const installation = readInstallation(control);
  const owned = listOwnedPayloads(control);
  const missing: string[] = [];
  for (const { name } of owned)
    await copyDurably(join(source.payloads, name), join(copy.payloads, name)).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
      missing.push(name);
    });
  const applied = new Map<number, number>();
  for (const { id } of control.prepare('select id from project order by id').all()) {
    const from = catalogPath(source, Number(id));
    const to = catalogPath(copy, Number(id));
    if (!existsSync(from)) continue;
    await copyDatabase(from, to, 'catalog');
    recordOwnerOf(to, { installation, projectId: Number(id), from });
    applied.set(Number(id), settleCatalog(to));
  }
  settleControl(control, source, { applied, missing });
  for (const folder of [copy.catalogs, copy.payloads, copy.root]) await syncFolder(folder);
  return { catalogs: applied.size, payloads: owned.length - missing.length };
}

/**
 * A copy that was not opened since an upgrade records no owner yet. @throws Error if the copy belongs to another
 * project
 */
function recordOwnerOf(
  copy: string,
  { installation, projectId, from }: { installation: string | undefined; projectId: number; from: string },
): void {
  if (installation === undefined) return;
  using catalog = new DatabaseSync(copy);
  const reason = findOtherOwner(catalog, { installation, projectId });
  if (reason !== undefined)
    throw new Error(
      `The file ${from} is not the catalog of project ${projectId} (${reason}), so no backup was made. ` +
        `Restore the project from the last backup: relata restore DIR --project ${projectId}.`,
    );
  recordOwner(catalog, { installation, projectId });
}

async function copyDatabase(from: string, to: string, kind: DatabaseKind): Promise<void> {
  using source = new DatabaseSync(from, { timeout: 10_000 });
  refuseNewerDatabase(source, kind);
  await backup(source, to, { rate: ALL_PAGES }).catch((error: Error) => {
    throw new Error(`${from} was not copied: ${error.message}`, { cause: error });
  });
  // A backup of a damaged file would replace an earlier intact one.
  const [problem] = checkSqliteFile(to).problems;
  if (problem !== undefined)
    throw new Error(
      `The file ${from} is damaged (${problem}), so no backup was made. Restore the file from the last backup: ` +
        'relata restore DIR --project ID for a catalog, relata restore DIR for control.db.',
    );
  using copy = new DatabaseSync(to);
  // Makes a single file without a WAL, so a copy of the copy is complete, and a read-only medium can hold it.
  copy.exec('pragma journal_mode = delete');
  // After an upgrade, a catalog keeps its old schema until its first reader, but the following code works only with the
  // newest schema.
  migrate(copy, kind);
}
