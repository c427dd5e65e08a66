import { resolve } from 'node:path';
import { createBackup, openBackup, restoreBackup, restoreCatalog } from '../backup/backup.ts';
import {
  type BackupListing,
  type CheckedTimeline,
  listBackups,
  restoreTimeline,
  verifyTimeline,
} from '../backup/restore/restore.ts';
import { promote } from '../backup/stream/stream.ts';
import { openExisting } from '../backup/target/target.ts';
import { readConfig } from '../config.ts';
import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import { distributeStore, type MoveOptions, moveStore } from '../transfer/transfer.ts';
import { openProgressLine } from './progress-line.ts';

/** `relata backup DIR`: can run while a process serves the store. */
export async function backupCommand(target: string): Promise<number> {
  const dataDir = embeddedFolder('backup');
  const { catalogs, payloads, isRecorded } = await createBackup(dataDir, target);
  console.log(`${catalogs} catalogs and ${payloads} bodies of open tasks were copied to ${resolve(target)}`);
  if (!isRecorded)
    console.error(`${dataDir} cannot be written, so relata doctor and the metrics do not show this backup`);
  return 0;
}

interface RestoreFlags {
  readonly project?: string;
  readonly withoutManifest?: boolean;
}

/**
 * `relata restore --from URL DIR`: restores an instant of a continuous backup, by default the last, to a new directory.
 */
export async function restoreTimelineCommand(
  root: string,
  { from, at, unauthenticated = false }: { from: string; at?: string; unauthenticated?: boolean },
) {
  const { key, s3 } = readConfig().backup;
  const target = await openExisting({ url: from, s3, key, isUnauthenticated: unauthenticated });
  const options = at === undefined ? {} : { at: readInstant(at) };
  const restored = await restoreTimeline(target, root, options);
  console.log(`${restored.files} files were restored to ${resolve(root)}, as of ${showInstant(restored.at)}`);
  if (restored.lostAt === undefined) return 0;
  console.error(
    `The backup has instants up to ${showInstant(restored.lostAt)} that cannot be restored, because an object is missing: run relata backups ${from} --verify`,
  );
  return 1;
}

/** `relata promote`: makes a restored data directory, or the standby that runs in it, the writer. */
export async function promoteCommand({ dataDir }: { dataDir?: string }): Promise<number> {
  const config = readConfig();
  const root = dataDir ?? config.dataDir;
  const { at: instant } = await promote(root, config.backup);
  console.log(`${resolve(root)} is now the writer, as of ${showInstant(instant)}`);
  return 0;
}

const showInstant = (instant: number) => new Date(instant).toISOString();

function readInstant(text: string): number {
  const instant = Date.parse(text);
  if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(instant)) return instant;
  throw new Error(`${text} is not an instant: use the form 2026-11-23T10:15:00Z`);
}

function describeRanges(listing: BackupListing | undefined): string[] {
  if (listing === undefined)
    return ['the instants that can be restored are unknown because of these problems:'];
  if (listing.ranges.length === 0) return ['nothing can be restored: there is no complete base copy'];
  return listing.ranges.map(
    ({ from, to, points, kind }) =>
      `${from} to ${to}: ${points} instants${kind === 'hours' ? ', hourly' : ''}`,
  );
}

function describeCheck(checked: CheckedTimeline | undefined): readonly string[] {
  if (checked === undefined) return [];
  if (checked.problems.length > 0) return checked.problems;
  return [`${checked.objects} objects, ${checked.bytes} bytes: all are intact`];
}

/** `relata backups URL`: lists the instants of a continuous backup that can be restored; `verify` checks all of it. */
export async function backupsCommand(
  url: string,
  {
    verify = false,
    json = false,
    unauthenticated = false,
  }: { verify?: boolean; json?: boolean; unauthenticated?: boolean },
): Promise<number> {
  const { key, s3 } = readConfig().backup;
  const target = await openExisting({ url, s3, key, isUnauthenticated: unauthenticated });
  const checked = verify ? await verifyTimeline(target) : undefined;
  // If the check has found problems, they explain why the backup cannot be listed.
  const listing = await listBackups(target).catch((error: unknown) => {
    if ((checked?.problems.length ?? 0) === 0) throw error;
    return undefined;
  });
  if (json) console.log(JSON.stringify({ ...listing, ...(checked && { verified: checked }) }, null, 2));
  else for (const line of [...describeRanges(listing), ...describeCheck(checked)]) console.log(line);
  return (checked?.problems.length ?? 0) > 0 ? 1 : 0;
}

/** `relata restore DIR`: restores all to an empty data directory, or one project's catalog while the service runs. */
export async function restoreCommand(source: string, { project, withoutManifest = false }: RestoreFlags) {
  const dataDir = embeddedFolder('restore');
  if (project === undefined) {
    const { catalogs, payloads, empty } = await restoreBackup(source, dataDir, { withoutManifest });
    console.log(
      `${catalogs} catalogs and ${payloads} bodies of open tasks were restored to ${resolve(dataDir)}`,
    );
    tellEmpty(withoutManifest ? empty : []);
    return 0;
  }
  const options = { projectId: Number(project), withoutManifest };
  const { products, waiting, damaged } = await restoreCatalog(source, dataDir, options);
  console.log(`the catalog of project ${project} now has the ${products} products of the backup`);
  if (damaged !== undefined)
    console.log(`the former file was moved to ${damaged}: delete it when you no longer need it`);
  if (waiting > 0) {
    console.log(
      `the backup does not have the changes that were waiting when it was made (${waiting}): send them again`,
    );
  }
  return 0;
}

/** `relata verify DIR`: checks whether a backup can be restored. Only reads the backup, and works with either store. */
export async function verifyCommand(
  source: string,
  { withoutManifest = false }: Pick<RestoreFlags, 'withoutManifest'>,
): Promise<number> {
  const { folder, files, bytes, madeAt, empty } = await openBackup(source, { withoutManifest });
  const since = madeAt === undefined ? 'SQLite finds no damage' : `all match the manifest of ${madeAt}`;
  console.log(`${folder.root}: ${files} files, ${bytes} bytes, ${since}`);
  tellEmpty(withoutManifest ? empty : []);
  return 0;
}

/** Names projects without a catalog file, because without a manifest nothing shows whether they ever had one. */
function tellEmpty(projects: readonly number[]): void {
  if (projects.length === 0) return;
  console.log(
    `projects without a catalog file, probably because they never had products: ${projects.join(', ')}`,
  );
}

/** @throws Error on PostgreSQL, which has its own tools for backups */
function embeddedFolder(command: string): string {
  const { database, dataDir } = readConfig();
  if (database === undefined) return dataDir;
  throw new Error(
    `relata ${command} works only with the embedded store. Back up PostgreSQL with its own tools, such as pg_dump (docs/operating/postgresql.md).`,
  );
}

/** The maximum number of printed differences. The first ones show where to look. */
const SHOWN_DIFFERENCES = 20;

/** `relata migrate-store --from … --to …`: moves a data directory to PostgreSQL or back, while neither is served. */
export async function migrateStoreCommand(flags: {
  readonly from: string;
  readonly to: string;
  readonly force?: boolean;
}): Promise<number> {
  const { from, to, force: isForced = false } = flags;
  const { catalogs, rows, payloads, differences } = await moveShown({ from, to, isForced });
  if (differences.length > 0) {
    for (const difference of differences.slice(0, SHOWN_DIFFERENCES)) console.error(difference);
    console.error(
      `The two stores differ in ${differences.length} places, so the target is not served: empty it and move again.`,
    );
    return 1;
  }
  console.log(
    `${catalogs} catalogs, ${rows} rows and ${payloads} bodies of open tasks were moved and compared: both stores are the same`,
  );
  return 0;
}

const WHAT: Partial<Record<FailureCode, string>> = {
  storage_full: 'The disk is full',
  storage_failed: 'The disk reports errors',
};

async function moveShown(options: MoveOptions) {
  const line = openProgressLine(process.stderr);
  try {
    return await moveStore({ ...options, onProgress: (progress) => line.show(progress) });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const problem = WHAT[error.code] ?? 'The database cannot be reached';
    const why = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    throw new Error(`${problem}${why}: run the same command again to resume the move`);
  } finally {
    line.end();
  }
}

/**
 * `relata distribute`: distributes the projects of RELATA_DATABASE_URL over workers of Citus, while it is not served.
 */
export async function distributeCommand(flags: { shards: string; dryRun?: boolean }): Promise<number> {
  const { database } = readConfig();
  if (database === undefined)
    throw new Error(
      'relata distribute works only with PostgreSQL and Citus: set RELATA_DATABASE_URL to the coordinator.',
    );
  const { shards, dryRun = false } = flags;
  const { url } = database;
  const result = await distributeStore({ url, shards: Number(shards), isDryRun: dryRun });
  if (dryRun) for (const statement of result.statements) console.log(`${statement};`);
  const state = result.statements.length === 0 ? 'are already' : dryRun ? 'would be' : 'are now';
  console.log(`the projects ${state} in ${result.shards} shards on ${result.workers} workers`);
  return 0;
}
