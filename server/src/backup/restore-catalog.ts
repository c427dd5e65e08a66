import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { catalogPath, existingDataFolder, lockDataFolder } from '../storage/folder/folder.ts';
import { isNewest, migrate, refuseNewerDatabase } from '../storage/migrations/migrations.ts';
import {
  CatalogFile,
  type CatalogOwner,
  checkSqliteFile,
  findInstallation,
  findOtherOwnerOf,
  listMarked,
} from '../storage/sqlite/sqlite.ts';
import type { CheckOptions } from './backup-manifest.ts';
import { openBackup } from './restore-backup.ts';

/** Long enough for a commit of the service that is in progress. */
const WAIT_MS = 300_000;
const STAGED = 'staged_batch';
/** Tables with permanent rows. All rows of the backup are restored, and current rows stay if they do not conflict. */
const JOINED = [
  { table: 'attribute_id', name: 'name' },
  { table: 'category', name: 'path' },
];

/**
 * Restores one project's catalog while the service runs. One transaction on the live file does this, so that readers
 * see the catalog before it or after it. Staged batches are removed; open full updates are staged again from their
 * bodies. A damaged live file cannot be changed by a transaction. Without a running service, it is moved aside, and a
 * new file is filled.
 * @returns the number of products now, the number of changes that still waited in the backup (they are tasks, which are
 * not restored), and the current path of a damaged file
 * @throws Error if the project is unknown on either side, or if its catalog in the backup is damaged
 */
export async function restoreCatalog(
  from: string,
  root: string,
  { projectId, ...options }: CheckOptions & { readonly projectId: number },
): Promise<{ products: number; waiting: number; damaged: string | undefined }> {
  const { folder: backup } = await openBackup(from, { projectId, ...options });
  const source = catalogPath(backup, projectId);
  if (!existsSync(source))
    throw new Error(`The backup ${backup.root} contains no catalog of project ${projectId}`);
  const folder = existingDataFolder(root);
  refuseUnknown(folder.control, projectId);
  const installation = findInstallation(folder);
  // Before the first start after an upgrade there is no owner yet.
  const owner = installation === undefined ? undefined : { installation, projectId };
  if (owner !== undefined) refuseOtherBackup(source, owner);
  const live = catalogPath(folder, projectId);
  // The service checks more than `quick_check` does, such as keys that only an index has.
  const isDamaged =
    listMarked(folder.catalogs).includes(projectId) ||
    checkSqliteFile(live).problems.length > 0 ||
    (owner !== undefined && findOtherOwnerOf(live, owner) !== undefined);
  const damaged = isDamaged && existsSync(live) ? putAside(live, root) : undefined;
  const draft = `${live}.restore`;
  try {
    const products = replaceContents(live, { source: migratedSource(source, draft), owner });
    return { products, waiting: countWaiting(backup.control, projectId), damaged };
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @throws Error if the catalog in the backup belongs to another installation or project */
function refuseOtherBackup(source: string, owner: CatalogOwner): void {
  const reason = findOtherOwnerOf(source, owner);
  if (reason !== undefined)
    throw new Error(
      `The backup contains ${source}, but ${reason}: restore the whole backup into an empty data directory, and transfer its products from there (relata pull, relata push)`,
    );
}

/**
 * @returns the current path of the damaged file @throws Error if a service runs, because it would still use its open
 * file
 */
function putAside(live: string, root: string): string {
  using _lock = lockDamaged(live, root);
  const aside = `${live}.damaged`;
  for (const suffix of ['', '-wal', '-shm']) {
    // The WAL of an earlier damaged file would be read together with this file.
    rmSync(`${aside}${suffix}`, { force: true });
    if (existsSync(`${live}${suffix}`)) renameSync(`${live}${suffix}`, `${aside}${suffix}`);
  }
  return aside;
}

function lockDamaged(live: string, root: string) {
  try {
    return lockDataFolder(root);
  } catch {
    throw new Error(
      `The file ${live} is damaged or belongs to another project, and a service runs. Stop the service, then run this command again.`,
    );
  }
}

function refuseUnknown(control: string, projectId: number): void {
  using database = new DatabaseSync(control, { timeout: 10_000 });
  refuseNewerDatabase(database, 'control');
  const statement = database.prepare('select 1 from project where id = ? and deleted_at is null');
  if (statement.get(projectId) === undefined)
    throw new Error(`There is no project ${projectId} here; only an existing project is restored`);
}

function countWaiting(control: string, projectId: number): number {
  using database = new DatabaseSync(control, { readOnly: true });
  const statement = database.prepare(
    `select count(*) as count from task where project_id = ? and is_ordered = 1 and status in ('PENDING', 'RUNNING')`,
  );
  return Number(statement.get(projectId)?.count);
}

/**
 * The backup itself is never changed. @returns the catalog of the backup, or a copy that is migrated to the newest
 * schema
 */
function migratedSource(source: string, draft: string): string {
  if (isNewest(source, 'catalog')) return source;
  copyFileSync(source, draft);
  using copy = new DatabaseSync(draft);
  migrate(copy, 'catalog');
  return draft;
}

function replaceContents(
  live: string,
  { source, owner }: { source: string; owner: CatalogOwner | undefined },
): number {
  using database = new CatalogFile(live, owner).database;
  database.exec(`pragma busy_timeout = ${WAIT_MS}`);
  database.prepare('attach ? as backup').run(source);
  // `begin immediate` would also take the write lock of the backup.
  database.exec('begin');
  database.exec(`delete from ${STAGED}`);
  // The next search rebuilds the index, because its rows cannot be copied and the current rows may lack restored
  // products.
  for (const table of OF_SEARCH) database.exec(`drop table if exists main.${table}`);
  for (const table of listReplaced(database)) {
    database.exec(`delete from ${table}; insert into ${table} select * from backup.${table}`);
  }
  for (const { table, name } of JOINED)
    database.exec(`
      delete from ${table} where id in (select id from backup.${table})
        or ${name} in (select ${name} from backup.${table});
      insert into ${table} select * from backup.${table}`);
  replaceMeta(database);
  const { count } = database.prepare('select count(*) as count from product').get() ?? {};
  database.exec('commit');
  return Number(count);
}

const OF_SEARCH = ['search_lexeme', 'search_entry', 'search_word', 'search_progress'];

/** Lists the tables that are replaced as a whole. */
function listReplaced(database: DatabaseSync): string[] {
  const others = new Set(['meta', STAGED, ...OF_SEARCH, ...JOINED.map(({ table }) => table)]);
  return database
    .prepare(
      "select name from backup.sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    )
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !others.has(name) && !name.startsWith('search_lexeme_'));
}

/**
 * Task numbers are those of the current control database, so the number of the last task stays unchanged. The ontology
 * revision is raised, so that changes that were prepared from the old contents are prepared again.
 */
function replaceMeta(database: DatabaseSync): void {
  const read = (schema: 'main' | 'backup', name: string) =>
    database.prepare(`select value from ${schema}.meta where name = ?`).get(name)?.value ?? 0;
  const highest = (name: string) => Math.max(Number(read('main', name)), Number(read('backup', name)));
  const write = (name: string, value: number | string) =>
    database.prepare('update meta set value = ? where name = ?').run(value, name);

  const followed = Number(read('backup', 'ontology_revision'));
  const revision = highest('ontology_revision') + 1;
  const revisions = { product: 'ontology_revision', undo_change: 'revision_before' };
  for (const [table, column] of Object.entries(revisions))
    database.prepare(`update ${table} set ${column} = ? where ${column} = ?`).run(revision, followed);
  write('ontology_revision', revision);
  for (const name of ['ontology_mode', 'unit_aliases']) write(name, String(read('backup', name)));
  write('catalog_version', highest('catalog_version') + 1);
  write('derivation_revision', highest('derivation_revision') + 1);
  for (const counter of ['next_product_id', 'next_attribute_id', 'next_relation_id']) {
    write(counter, highest(counter));
  }
}
