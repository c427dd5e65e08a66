import { resolve } from 'node:path';
import { readConfig } from '../config.ts';
import { createBackup, restoreBackup, restoreCatalog } from '../transfer/transfer.ts';

/** `relata backup DIR`: may run beside a serving process. */
export async function backupCommand(target: string): Promise<number> {
  const { catalogs, payloads } = await createBackup(embeddedFolder('backup'), target);
  console.log(`${catalogs} catalogs and ${payloads} bodies of open tasks were copied to ${resolve(target)}`);
  return 0;
}

/** `relata restore DIR`: everything, into an empty data directory; with a project its catalog, beside a serving process. */
export async function restoreCommand(source: string, project: string | undefined): Promise<number> {
  const dataDir = embeddedFolder('restore');
  if (project === undefined) {
    const { catalogs, payloads } = await restoreBackup(source, dataDir);
    console.log(`${catalogs} catalogs and ${payloads} bodies of open tasks are in ${resolve(dataDir)} now`);
    return 0;
  }
  const { products, waiting } = restoreCatalog(source, dataDir, Number(project));
  console.log(`the catalog of project ${project} holds the ${products} products of the backup now`);
  if (waiting > 0) {
    console.log(
      `changes that were still waiting when the backup was made are not in it (${waiting}): send them again`,
    );
  }
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
