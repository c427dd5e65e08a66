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
 * Backup while the service runs. The control database is copied first, then the bodies of open
 * tasks, then the catalogs: a task that the first copy shows as ended is in its catalog, and one whose body is gone by
 * then has ended, so the copy of its catalog has its effect. The copy is then made a data folder of its own: tasks that
 * its catalogs already contain are marked as done, and task numbers go on above every number that a catalog knows.
 */

/** Copies all pages in one step: each file is a single moment, and a busy writer cannot make the copy start over. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * @param afterControl awaited once the control database is copied: what tests change there, the copy does not have
 * @throws Error when the target is not empty, or there is nothing to back up; then nothing is left behind
 */
export async function createBackup(
  root: string,
  target: string,
  afterControl: () => Promise<void> = async () => {},
) {
  const source = existingDataFolder(root);
  refuseFilled(target);
  const place = resolve(target);
  makeFolders(dirname(place), 0o777);
  const draft = await mkdtemp(`${place}.part-`);
  try {
    const copy = dataFolderAt(draft);
    makeStoreFolders(copy);
    await copyDatabase(source.control, copy.control, 'control');
    await afterControl();
    const summary = await copyRest(source, copy);
    const at = new Date();
    await writeManifest(copy, at);
    await rename(draft, place);
    await syncFolder(dirname(place));
    const isRecorded = recordBackup(source, { at: at.getTime(), directory: place });
    return { ...summary, isRecorded };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

/** @returns the number of files copied */
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

/** A copy that was not opened since an upgrade records no owner yet. @throws Error when it belongs to another one */
function recordOwnerOf(
  copy: string,
  { installation, projectId, from }: { installation: string | undefined; projectId: number; from: string },
): void {
  if (installation === undefined) return;
  using catalog = new DatabaseSync(copy);
  const reason = findOtherOwner(catalog, { installation, projectId });
  if (reason !== undefined)
    throw new Error(
      `The file ${from} is not the catalog of project ${projectId} (${reason}), so there is no backup of this instant. ` +
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
      `The file ${from} is damaged (${problem}), so there is no backup of this instant. Bring it back from the last one: ` +
        'relata restore DIR --project ID for a catalog, relata restore DIR for control.db.',
    );
  using copy = new DatabaseSync(to);
  // A single file without a WAL: a copy of the copy is complete, and it can be read from a read-only medium.
  copy.exec('pragma journal_mode = delete');
  // After an upgrade a catalog keeps its old schema until its first reader; the code below knows only the newest.
  migrate(copy, kind);
}
