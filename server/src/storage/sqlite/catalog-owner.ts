/**
 * Which installation and project a catalog file belongs to. Projects are numbered from 1 in every installation, so the
 * number of a file does not show whose products it has. The file records both in `meta`, when it is created or first
 * opened after an upgrade.
 */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '../../kernel/errors.ts';
import { catalogPath, type DataFolder, listCatalogs } from '../folder/folder.ts';
import { readVersion } from '../migrations/migrations.ts';
import { isDamaged } from '../sqlite-errors.ts';

export interface CatalogOwner {
  /** The identity of the installation. */
  readonly installation: string;
  readonly projectId: number;
}

type RecordedOwner = { readonly [Field in keyof CatalogOwner]: CatalogOwner[Field] | undefined };

/** The entries of `meta` that record the owner; no other store has them. */
export const OWNER_ENTRIES = ['installation', 'project'] as const;

const BUSY_TIMEOUT_MS = 10_000;

const hasTable = (database: DatabaseSync, name: string): boolean =>
  database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(name) !== undefined;

/** @returns undefined for a control database that is older than identities of installations */
export function readInstallation(control: DatabaseSync): string | undefined {
  if (!hasTable(control, 'installation')) return undefined;
  const row = control.prepare('select identity from installation where id = 1').get();
  return row === undefined ? undefined : String(row.identity);
}

function readOwner(catalog: DatabaseSync): RecordedOwner {
  if (!hasTable(catalog, 'meta')) return { installation: undefined, projectId: undefined };
  const find = catalog.prepare('select value from meta where name = ?');
  const [installation, project] = OWNER_ENTRIES.map((name) => find.get(name)?.value);
  return {
    installation: installation === undefined ? undefined : String(installation),
    projectId: project === undefined ? undefined : Number(project),
  };
}

/** @returns why an open file is not the catalog of this owner; undefined if it is, or if the file records no owner */
export function findOtherOwner(catalog: DatabaseSync, owner: CatalogOwner): string | undefined {
  const { installation, projectId } = readOwner(catalog);
  if (installation !== undefined && installation !== owner.installation)
    return 'its file belongs to another installation';
  if (projectId !== undefined && projectId !== owner.projectId)
    return `its file belongs to project ${projectId}`;
  return undefined;
}

/**
 * Call this before any change of the file.
 * @throws catalog_foreign
 */
export function refuseOtherOwner(catalog: DatabaseSync, owner: CatalogOwner): void {
  if (findOtherOwner(catalog, owner) !== undefined)
    throw new ServiceError('catalog_foreign', { values: [owner.projectId] });
}

/**
 * Records the owner in a file of the newest schema that records none.
 * @throws catalog_foreign if another owner was recorded at the same time
 */
export function recordOwner(catalog: DatabaseSync, { installation, projectId }: CatalogOwner): void {
  const recorded = readOwner(catalog);
  if (recorded.installation === undefined || recorded.projectId === undefined) {
    const insert = catalog.prepare('insert or ignore into meta (name, value) values (?, ?), (?, ?)');
    insert.run('installation', installation, 'project', projectId);
  }
  refuseOtherOwner(catalog, { installation, projectId });
}

/**
 * Checks the owner read-only, in a file that may be in use.
 * @returns undefined also for a file that is missing, or too damaged to read
 */
export function findOtherOwnerOf(path: string, owner: CatalogOwner): string | undefined {
  return readFileNow(path, (catalog) => findOtherOwner(catalog, owner));
}

function readFileNow<Result>(path: string, read: (file: DatabaseSync) => Result): Result | undefined {
  if (!existsSync(path)) return undefined;
  try {
    using file = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    return read(file);
  } catch (error) {
    if (isDamaged(error)) return undefined;
    throw error;
  }
}

/** @returns the identity in the control database of a folder; undefined if there is none yet */
export const findInstallation = ({ control }: Pick<DataFolder, 'control'>): string | undefined =>
  readFileNow(control, readInstallation);

export interface ForeignCatalog {
  readonly projectId: number;
  readonly reason: string;
}

/**
 * Opens each catalog file of a folder, 0.3 ms each.
 * @returns the files of another owner, with the reason
 */
export function listForeignCatalogs(folder: DataFolder): ForeignCatalog[] {
  const installation = findInstallation(folder);
  if (installation === undefined) return [];
  return listCatalogs(folder).flatMap((projectId) => {
    const reason = findOtherOwnerOf(catalogPath(folder, projectId), { installation, projectId });
    return reason === undefined ? [] : [{ projectId, reason }];
  });
}

/**
 * Call this before a start creates or changes anything, while no other process uses the folder. A new control database
 * beside old catalogs would number its projects from 1 and return the products of the old projects.
 * @throws Error that names the remedy, when the control database is missing or belongs to another installation
 */
export function refuseStrayCatalogs(folder: DataFolder): void {
  const catalogs = listCatalogs(folder);
  if (catalogs.length === 0) return;
  if (!hasControl(folder)) throw strayCatalogs(folder, `no control.db, which names their projects and keys`);
  const isOfAnother = isOtherInstallation(folder, catalogs);
  if (isOfAnother) throw strayCatalogs(folder, 'the control.db of another installation');
}

/** An empty control.db is a database without tables. A damaged one is refused when it is opened. */
const hasControl = ({ control }: DataFolder): boolean =>
  existsSync(control) && (statSync(control).size > 0 || readVersion(control) > 0);

/**
 * Reads the newest files first, because usually the first one already belongs to this installation. Otherwise all files
 * are read, 0.3 ms each.
 * @returns whether catalogs record an installation, but none records that of the control database
 */
function isOtherInstallation(folder: DataFolder, catalogs: readonly number[]): boolean {
  const own = findInstallation(folder);
  const changedAt = (id: number) =>
    statSync(catalogPath(folder, id), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const newest = catalogs.map((id) => ({ id, at: changedAt(id) })).sort((a, b) => b.at - a.at);
  let isAnyOther = false;
  for (const { id } of newest) {
    const installation = readFileNow(catalogPath(folder, id), readOwner)?.installation;
    if (installation === undefined) continue;
    if (installation === own) return false;
    isAnyOther = true;
  }
  return isAnyOther;
}

const strayCatalogs = ({ root, catalogs }: DataFolder, found: string) =>
  new Error(
    `The data directory ${root} holds catalogs in ${catalogs}, but ${found}: restore the whole directory from a backup, or move ` +
      'its catalogs and control.db to another place and start with an empty one (docs/operating/backup.md, "A lost control.db").',
  );
