import { createHash } from 'node:crypto';
import { createReadStream, existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { catalogPath, type DataFolder, writeOwnFile } from '../storage/folder/folder.ts';
import {
  isNewest,
  migrate,
  newestOf,
  refuseNewer,
  refuseNewerFiles,
} from '../storage/migrations/migrations.ts';
import { checkSqliteFile, findForeignSchemaIn, listForeignCatalogs } from '../storage/sqlite/sqlite.ts';
import { findLostTask, listOwnedPayloads } from '../transfer/transfer.ts';

/** The manifest of a backup and its check, which finds missing, truncated or changed files before they are served. */

const NAME = 'manifest.json';
/** The version of the manifest format. A program that changes the meaning of its fields raises it. */
const FORMAT = 1;

interface Manifest {
  readonly format: number;
  /** When the backup was complete, as an ISO 8601 instant. */
  readonly madeAt: string;
  /** Schema versions, which are the same for all files of a kind. */
  readonly schema: { readonly control: number; readonly catalog: number };
  /** All files of the backup, by path relative to its folder. */
  readonly files: readonly BackupFile[];
}

interface BackupFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface CheckOptions {
  /** Checks only this project's catalog and the control database. */
  readonly projectId?: number | undefined;
  /** Whether a backup without a manifest is accepted, and checked as far as possible. */
  readonly withoutManifest?: boolean;
}

/** The manifest is written last, so a backup without one is known to be incomplete. */
export async function writeManifest(folder: DataFolder, madeAt: Date): Promise<void> {
  const files: BackupFile[] = [];
  for (const path of listFiles(folder)) files.push({ path, ...(await digest(join(folder.root, path))) });
  const schema = { control: newestOf('control'), catalog: newestOf('catalog') };
  const manifest: Manifest = { format: FORMAT, madeAt: madeAt.toISOString(), schema, files };
  writeOwnFile(join(folder.root, NAME), `${JSON.stringify(manifest, null, 1)}\n`, 'wx');
}

/**
 * Compares a backup with its manifest, and reads its databases with SQLite's `quick_check`. It also requires a catalog
 * of every project that was filled according to the control database. Writes nothing.
 * @returns `madeAt`: undefined without a manifest; `empty`: the projects without a catalog that were never filled, as
 * far as the control database shows
 * @throws Error that names each file that differs, or reports that there is no manifest
 */
export async function checkBackup(
  folder: DataFolder,
  { projectId, withoutManifest = false }: CheckOptions = {},
) {
  const irregular = listIrregular(folder);
  if (irregular.length > 0) throw refuseDamaged(folder, irregular);
  const manifest = readManifest(folder, withoutManifest);
  const isPart = ({ path }: { path: string }) =>
    projectId === undefined || path === 'control.db' || path === `catalogs/${projectId}.db`;
  const present = listFiles(folder).filter((path) => isPart({ path }));
  const named = manifest?.files.filter(isPart);
  const problems = await listChanges(folder, named, present);
  if (problems.length === 0) refuseNewerFiles(folder);
  const changed = new Set(problems.map(({ path }) => path));
  const databases = present.filter((path) => path.endsWith('.db') && !changed.has(path));
  for (const path of databases)
    for (const problem of findDatabaseProblems(folder, path)) problems.push({ path, problem });
  if (problems.length === 0) problems.push(...listOtherOwners(folder, projectId));
  if (problems.length > 0) throw refuseDamaged(folder, problems);
  // Finds files that the control database names and that are missing.
  const { problems: missing, empty } =
    projectId === undefined ? findMissingIn(folder) : { problems: [], empty: [] };
  if (missing.length > 0) throw refuseDamaged(folder, missing);
  const bytes = present.reduce((sum, path) => sum + statSync(join(folder.root, path)).size, 0);
  return { files: present.length, bytes, madeAt: manifest?.madeAt, empty };
}

const listOtherOwners = (folder: DataFolder, only: number | undefined): Problem[] =>
  listForeignCatalogs(folder)
    .filter(({ projectId }) => only === undefined || projectId === only)
    .map(({ projectId, reason }) => ({ path: `catalogs/${projectId}.db`, problem: reason }));

interface Problem {
  readonly path: string;
  readonly problem: string;
}

/** The limit of the listed problems, because a failing medium would cause thousands. */
const SHOWN_PROBLEMS = 20;

function refuseDamaged({ root }: DataFolder, problems: readonly Problem[]): Error {
  const shown = problems
    .slice(0, SHOWN_PROBLEMS)
    .map(({ path, problem }) => `  ${join(root, path)}: ${problem}`);
  const more = problems.length - shown.length;
  return new Error(
    [
      `The backup ${root} is damaged or not complete:`,
      ...shown,
      ...(more > 0 ? [`  and ${more} more`] : []),
      `Use another backup. A project whose catalog is not named above can be restored from this backup: relata restore ${root} --project ID`,
    ].join('\n'),
  );
}

function readManifest(folder: DataFolder, mayBeMissing: boolean): Manifest | undefined {
  const path = join(folder.root, NAME);
  if (!existsSync(path)) {
    if (mayBeMissing) return undefined;
    throw new Error(
      `The backup ${folder.root} has no ${NAME}: an earlier version made it, or it is incomplete. ` +
        "With --without-manifest, only SQLite's checks run, and each project that was filled must have a catalog.",
    );
  }
  const manifest = parseManifest(path);
  if (manifest.format > FORMAT)
    throw new Error(`The file ${path} was written by a newer program; use that program.`);
  for (const kind of ['control', 'catalog'] as const)
    refuseNewer(`The backup ${folder.root}`, manifest.schema[kind], newestOf(kind));
  return manifest;
}

function parseManifest(path: string): Manifest {
  try {
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
    if (manifest.files.some(({ path: file }) => file === 'control.db') && manifest.schema.control > 0)
      return manifest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
  }
  throw new Error(`The file ${path} is damaged; use another backup.`);
}

/** @param named the files in the manifest; undefined without a manifest */
async function listChanges(
  { root }: DataFolder,
  named: readonly BackupFile[] | undefined,
  present: readonly string[],
): Promise<Problem[]> {
  if (named === undefined) return [];
  const names = new Set(named.map(({ path }) => path));
  const problems: Problem[] = present
    .filter((path) => !names.has(path))
    .map((path) => ({ path, problem: `it is not in ${NAME}` }));
  for (const file of named) {
    const problem = await findChange(root, file);
    if (problem !== undefined) problems.push({ path: file.path, problem });
  }
  return problems;
}

async function findChange(root: string, { path, bytes, sha256 }: BackupFile): Promise<string | undefined> {
  if (!existsSync(join(root, path))) return 'it is missing';
  const actual = await digest(join(root, path));
  if (actual.bytes !== bytes) return `it has ${actual.bytes} bytes, but had ${bytes}`;
  return actual.sha256 === sha256 ? undefined : 'its bytes differ from those in the manifest';
}

/**
 * Lists files that the control database of a backup or a data directory names, but that the folder lacks. A project
 * gets its catalog file with its first product or reader, so a project without a file may be new.
 */
export function findMissingIn(folder: DataFolder) {
  using control = openControl(folder.control);
  const without = control
    .prepare(
      `select p.id, exists (select 1 from catalog_count c where c.project_id = p.id and (c.products > 0 or c.created > 0))
         or exists (select 1 from task t where t.project_id = p.id and t.is_ordered = 1 and t.status = 'FINISHED') as wasFilled
       from project p order by p.id`,
    )
    .all()
    .filter(({ id }) => !existsSync(catalogPath(folder, Number(id))));
  const problems: Problem[] = without
    .filter(({ wasFilled }) => wasFilled === 1)
    .map(({ id }) => ({
      path: `catalogs/${id}.db`,
      problem: 'it is missing, although its project had products',
    }));
  const bodies = listOwnedPayloads(control).map(({ name }) => name);
  const missing = bodies.filter((name) => !existsSync(join(folder.payloads, name)));
  const task = findLostTask(control, missing);
  if (task !== undefined)
    problems.push({ path: 'payloads', problem: `a body of the open task ${task} is missing` });
  return { problems, empty: without.filter(({ wasFilled }) => wasFilled === 0).map(({ id }) => Number(id)) };
}

/**
 * Opens the control database with the newest schema. An older one is migrated in memory, because a backup is never
 * changed.
 */
function openControl(path: string): DatabaseSync {
  if (isNewest(path, 'control')) return new DatabaseSync(path, { readOnly: true });
  const control = new DatabaseSync(':memory:');
  control.deserialize(readFileSync(path));
  migrate(control, 'control');
  return control;
}

/** @returns links, FIFOs and devices, because reading them would lead out of the backup or never end */
function listIrregular(folder: DataFolder): Problem[] {
  const isOther = (path: string, kind: 'isFile' | 'isDirectory') => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats !== undefined && !stats[kind]();
  };
  const folders = [folder.catalogs, folder.payloads].filter((path) => isOther(path, 'isDirectory'));
  const files = folders.length > 0 ? [] : [NAME, ...listFiles(folder)].map((path) => join(folder.root, path));
  return [...folders, ...files.filter((path) => isOther(path, 'isFile'))].map((path) => ({
    path: path.slice(folder.root.length + 1),
    problem: 'it is not a regular file or folder; a backup contains no links, FIFOs or devices',
  }));
}

function findDatabaseProblems(folder: DataFolder, path: string): readonly string[] {
  const { problems } = checkSqliteFile(join(folder.root, path));
  if (problems.length > 0) return problems;
  const foreign = findForeignSchemaIn(join(folder.root, path), path === 'control.db' ? 'control' : 'catalog');
  return foreign.map((object) => `it has a ${object}, which this service did not create`);
}

/** @returns the files that belong to a backup, relative to its folder and sorted */
function listFiles({ root, catalogs, payloads }: DataFolder): string[] {
  const below = [catalogs, payloads].flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name).slice(root.length + 1)) : [],
  );
  return ['control.db', ...below].sort();
}

async function digest(path: string): Promise<Omit<BackupFile, 'path'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const part of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    hash.update(part);
    bytes += part.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
