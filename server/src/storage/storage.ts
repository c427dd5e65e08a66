/**
 * The door of storage: where things are kept. The control database holds accounts, projects, keys and tasks; each
 * project's catalog is a file of its own; payload files hold accepted bodies until their task ended. Statements live
 * in the `*-store.ts` of the folder whose rows they touch. Storage never knows what a row means.
 */
import { mkdirSync } from 'node:fs';
import type { Kysely, Transaction } from 'kysely';
import { type DataFolder, dataFolderAt } from './data-folder.ts';
import { migrate } from './migrate.ts';
import { openSqlite } from './open-sqlite.ts';
import { createPayloadFiles, type PayloadFiles } from './payload-files.ts';
import type { ControlSchema } from './schema.ts';
import { CONTROL_PRAGMAS, openControlDatabase } from './sqlite.ts';

export { type BackupSummary, createBackup, restoreBackup } from './backup.ts';
export { type ByteCache, type CacheSpace, createByteCache } from './byte-cache.ts';
export { type CatalogFile, type CatalogFiles, createCatalogFiles } from './catalog-files.ts';
export type { DataFolder } from './data-folder.ts';
export { lockDataFolder } from './data-lock.ts';
export type { PayloadFiles } from './payload-files.ts';
export { restoreCatalog } from './restore-catalog.ts';
export type { ControlSchema } from './schema.ts';
export { extensionOf } from './sqlite.ts';
export { type Operation, type OperationAnswer, serveOperations } from './thread-entry.ts';
export { createThreadPool, type ThreadPool } from './thread-pool.ts';

export type ControlTransaction = Transaction<ControlSchema>;

export interface Database {
  /** Many readers. */
  readonly read: Kysely<ControlSchema>;
  /** One writer at a time, in a transaction that is durable when the promise resolves. */
  write<Result>(work: (tx: ControlTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface Storage {
  readonly folder: DataFolder;
  readonly database: Database;
  readonly payloads: PayloadFiles;
}

/** Makes the folder on first use and opens the control database with the newest schema. */
export function openStorage(root: string): Storage {
  const folder = dataFolderAt(root);
  for (const path of [folder.root, folder.catalogs, folder.payloads])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const first = openSqlite(folder.control, CONTROL_PRAGMAS);
  migrate(first, 'control');
  first.close();
  return {
    folder,
    database: openControlDatabase(folder.control),
    payloads: createPayloadFiles(folder.payloads),
  };
}
