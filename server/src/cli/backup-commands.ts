import { resolve } from 'node:path';
import { readConfig } from '../config.ts';
import { createBackup, restoreBackup, restoreCatalog } from '../storage/storage.ts';

/** `relata backup DIR`: may run beside a serving process. */
export async function backupCommand(target: string | undefined): Promise<number> {
  if (target === undefined) throw new Error('relata backup DIR: the directory is missing');
  const { catalogs, payloads } = await createBackup(embeddedFolder('backup'), target);
  console.log(`${catalogs} catalogs and ${payloads} bodies of open tasks were copied to ${resolve(target)}`);
  return 0;
}

/** `relata restore DIR`: everything, into an empty data directory; with a project its catalog, beside a serving process. */
export async function restoreCommand(
  source: string | undefined,
  project: string | undefined,
): Promise<number> {
  if (source === undefined) throw new Error('relata restore DIR [--project N]: the directory is missing');
  const dataDir = embeddedFolder('restore');
  if (project === undefined) {
    const { catalogs, payloads } = await restoreBackup(source, dataDir);
    console.log(`${catalogs} catalogs and ${payloads} bodies of open tasks are in ${resolve(dataDir)} now`);
    return 0;
  }
  if (!/^[1-9]\d{0,14}$/.test(project))
    throw new Error('relata restore DIR --project N: N is the id of a project');
  const products = restoreCatalog(source, dataDir, Number(project));
  console.log(`the catalog of project ${project} holds the ${products} products of the backup now`);
  return 0;
}

/** @throws Error on PostgreSQL, which brings its own tools */
function embeddedFolder(command: string): string {
  const { database, dataDir } = readConfig();
  if (database === undefined) return dataDir;
  throw new Error(
    `relata ${command} is of the embedded store. Back PostgreSQL up with its own tools, e.g. pg_dump (docs/operating.md).`,
  );
}
