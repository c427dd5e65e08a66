import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { countAccountKeys } from '../access/keys/keys.ts';
import { createProvider } from '../access/oidc/oidc.ts';
import { openSecrets } from '../app/app.ts';
import { findMissingIn } from '../backup/backup.ts';
import { inspectTarget } from '../backup/timeline/timeline.ts';
import { CHANNEL_SECRETS } from '../channels/channel-definitions/channel-definitions.ts';
import { type Config, readConfig } from '../config.ts';
import { systemClock } from '../kernel/clock.ts';
import { allowAddresses } from '../outbound/outbound.ts';
import { PIPELINE_SECRETS } from '../pipelines/pipeline-definitions/pipeline-definitions.ts';
import {
  catalogPath,
  type DataFolder,
  dataFolderAt,
  findLastBackup,
  listCatalogs,
  listExposedPaths,
} from '../storage/folder/folder.ts';
import { newestOf, readVersion } from '../storage/migrations/migrations.ts';
import { inspectPostgres, type PostgresFacts } from '../storage/postgres/postgres.ts';
import { countUnreadable, type Secrets } from '../storage/secrets/secrets.ts';
import {
  checkSqliteFile,
  findInstallation,
  findOtherOwnerOf,
  listMarked,
  refuseStrayCatalogs,
} from '../storage/sqlite/sqlite.ts';
import { openControl } from '../storage/storage.ts';

/** `relata doctor`: prints problems of an installation with remedies. @returns 1 if there are problems, otherwise 0 */
export async function doctorCommand({ json = false }: { json?: boolean | undefined }): Promise<number> {
  const findings: Finding[] = [];
  for await (const finding of withinLimit(checkInstallation(readConfig()))) {
    findings.push(finding);
    if (!json) console.log(describeFinding(finding));
  }
  const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const summary = `${problems} problems, ${warnings} warnings`;
  console.log(json ? JSON.stringify({ problems, warnings, checks: findings }, null, 2) : summary);
  return Math.min(problems, 1);
}

const INDENT = 9;

function describeFinding({ status, check, message, action }: Finding): string {
  const line = `${status.padEnd(INDENT)}${check}: ${message}`;
  return action === undefined ? line : `${line}\n${' '.repeat(INDENT)}${action}`;
}

/** A finding of `relata doctor`. Checks only read, and work whether or not a service is running. */
export interface Finding {
  /** The subject of the check: a path, a setting or a part of the installation. */
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly message: string;
  /** The remedy. */
  readonly action?: string;
}

/** Findings are printed one by one, because reading every file of a large store takes minutes. */
export type Findings = AsyncGenerator<Finding>;

const ok = (check: string, message: string): Finding => ({ check, status: 'ok', message });
const findingOf = (status: Finding['status']) => (check: string, message: string, action: string) => ({
  check,
  status,
  message,
  action,
});
const [warning, problem] = [findingOf('warning'), findingOf('problem')];

/** @returns the message of the innermost cause, which has the reason of a refusal or a failed fetch */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? reasonOf(cause) : message;
}

/** More than the time limits of a connection and its answer, so that a check usually reports a timeout itself. */
const AWAITED_MS = 90_000;

/** Ends a check that waits for another program. Reading files is synchronous, so its time does not count. */
export async function* withinLimit(findings: Findings, awaitedMs = AWAITED_MS): Findings {
  for (let last = 'the start'; ; ) {
    const next = findings.next();
    const { promise: expired, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), awaitedMs);
    const result = await Promise.race([next, expired]);
    clearTimeout(timer);
    if (result?.done) return;
    if (result === undefined) {
      const action =
        'Check the network and the addresses in the settings. The remaining checks were not made.';
      const message = `the check after ${last} had no answer within ${awaitedMs / 1_000} s`;
      return yield problem('doctor', message, action);
    }
    last = result.value.check;
    yield result.value;
  }
}

export async function* checkInstallation(config: Config): Findings {
  const isReadable =
    config.database === undefined ? yield* checkFolder(config) : yield* checkPostgres(config);
  const secrets = yield* findSecrets(config);
  if (isReadable) yield* checkKeys(config, secrets);
  yield* checkDisk(config);
  yield* checkBackups(config);
  yield* checkContinuousBackup(config);
  yield* checkOutside(config);
}

/** @returns whether the control database is intact and has the schema of this program */
async function* checkFolder({ dataDir }: Config): AsyncGenerator<Finding, boolean> {
  const folder = dataFolderAt(dataDir);
  const stray = findStray(folder);
  if (stray !== undefined) {
    yield problem(dataDir, stray, RESTORE_ALL);
    return false;
  }
  if (!existsSync(folder.control)) {
    const action =
      'Set RELATA_DATA_DIR to the data directory of the service; relata serve creates a new one.';
    yield problem(dataDir, 'it has no store, because control.db is missing', action);
    return false;
  }
  const { uid } = statSync(folder.control);
  const own = process.getuid?.() ?? uid;
  if (uid !== own) {
    const action = `Run relata doctor as that user, for example: sudo -u '#${uid}' relata doctor.`;
    // SQLite would create files of this user, which would prevent the service from opening the database.
    const message = `its files belong to the user ${uid} and not to the user ${own}, so they were not opened`;
    yield problem(dataDir, message, action);
    return false;
  }
  yield* checkPermissions(folder);
  return yield* checkFiles(folder);
}

/** @returns the message with which a start would be refused */
function findStray(folder: DataFolder): string | undefined {
  try {
    refuseStrayCatalogs(folder);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const SHOWN_PATHS = 3;

async function* checkPermissions(folder: DataFolder): Findings {
  const exposed = listExposedPaths(folder);
  const shown = exposed.slice(0, SHOWN_PATHS).join(', ');
  if (exposed.length > 0)
    yield warning(
      'permissions',
      `other users can access ${exposed.length} paths: ${shown}`,
      'Change the mode of folders to 0700 and of files to 0600 with chmod.',
    );
  const { root, catalogs, payloads } = folder;
  const files = [root, catalogs, payloads, ...listDatabases(folder)].filter((path) => existsSync(path));
  const unwritable = files.filter((path) => !isWritable(path));
  if (unwritable.length > 0)
    yield problem(
      'permissions',
      `${unwritable.length} paths cannot be written: ${unwritable.slice(0, SHOWN_PATHS).join(', ')}`,
      'Give the data directory to the user of the service with chown -R, and remount a read-only disk.',
    );
  if (exposed.length + unwritable.length === 0)
    yield ok('permissions', 'only the user of the service can read and write the data directory');
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const listDatabases = (folder: DataFolder): string[] => [
  folder.control,
  ...listCatalogs(folder).map((id) => catalogPath(folder, id)),
];

/** @returns whether control.db is intact and has the newest schema */
async function* checkFiles(folder: DataFolder): AsyncGenerator<Finding, boolean> {
  const databases = listDatabases(folder);
  const marked = new Set(listMarked(folder.catalogs).map((id) => catalogPath(folder, id)));
  const fine: string[] = [];
  for (const path of databases) {
    const finding = checkDatabase(path, folder, marked);
    if (finding === undefined) fine.push(path);
    else yield finding;
  }
  if (fine.length > 0)
    yield ok('integrity', `quick_check finds no damage in ${fine.length} of ${databases.length} databases`);
  const old = fine.filter((path) => readVersion(path) < newestFor(path, folder));
  if (old.length > 0)
    yield warning(
      'schema',
      `${old.length} databases have an older schema`,
      'No action is needed, because the service migrates each database when it opens it. Start the service if it does not run.',
    );
  else if (fine.length > 0)
    yield ok(
      'schema',
      `control.db ${newestOf('control')}, catalogs ${newestOf('catalog')}: the newest versions`,
    );
  const isReadable = fine.includes(folder.control) && !old.includes(folder.control);
  const missing = isReadable ? findMissingIn(folder).problems : [];
  yield* missing.map(({ path, problem: description }) =>
    problem(join(folder.root, path), description, restoreAction(path, folder)),
  );
  return isReadable;
}

const RESTORE_ALL =
  'Restore everything from a backup into an empty data directory (docs/operating/backup.md, "Backup and restore").';
const NEWER_ACTION = 'Use the newer program that wrote it.';

const newestFor = (path: string, { control }: DataFolder): number =>
  newestOf(path === control ? 'control' : 'catalog');

/** @param marked catalogs that the service has marked as damaged, because its check finds more than `quick_check` */
function checkDatabase(path: string, folder: DataFolder, marked: ReadonlySet<string>) {
  const [own] = checkSqliteFile(path).problems;
  const mark = `the service has found damage and does not serve it (${basename(path, '.db')}.damaged has the reason)`;
  const damage = own ?? (marked.has(path) ? mark : undefined);
  if (damage !== undefined) return problem(path, `it is damaged: ${damage}`, restoreAction(path, folder));
  const [version, newest] = [readVersion(path), newestFor(path, folder)];
  if (version > newest)
    return problem(path, `it has schema ${version}, but this program knows only ${newest}`, NEWER_ACTION);
  const foreign = findForeign(path, folder);
  return foreign === undefined
    ? undefined
    : problem(path, `it is not served: ${foreign}`, restoreAction(path, folder));
}

function findForeign(path: string, folder: DataFolder): string | undefined {
  const installation = path === folder.control ? undefined : findInstallation(folder);
  return installation && findOtherOwnerOf(path, { installation, projectId: Number(basename(path, '.db')) });
}

function restoreAction(path: string, { control }: DataFolder): string {
  const [, id] = /(\d+)\.db$/.exec(path) ?? [];
  return path === control || id === undefined
    ? RESTORE_ALL
    : `Stop the service and restore the project from a backup: relata restore DIR --project ${id}. Without a backup, load its catalog again.`;
}

/** docs/operating/postgresql.md, "Set up PostgreSQL", lists the tested versions. */
const OLDEST_POSTGRES = 14;

/** @returns whether the database has the schema of this program */
async function* checkPostgres({ database }: Config): AsyncGenerator<Finding, boolean> {
  if (database === undefined) return false;
  let facts: PostgresFacts;
  try {
    facts = await inspectPostgres(database);
  } catch (error) {
    const action = 'Check RELATA_DATABASE_URL, PGPASSWORD, the network and whether the server runs.';
    yield problem('PostgreSQL', `it cannot be reached: ${reasonOf(error)}`, action);
    return false;
  }
  yield checkServer(facts);
  yield checkSchema(facts);
  for (const url of database.replicaUrls) yield await checkReplica({ ...database, url }, facts);
  return facts.schema === newestOf('postgres');
}

function checkServer({ version, major, isReplica }: PostgresFacts): Finding {
  if (major < OLDEST_POSTGRES)
    return problem('PostgreSQL', `it is version ${version}`, `Upgrade it to ${OLDEST_POSTGRES} or newer.`);
  if (isReplica)
    return problem('PostgreSQL', 'it is a read replica', 'Set RELATA_DATABASE_URL to the primary.');
  return ok('PostgreSQL', `version ${version} answers`);
}

function checkSchema({ schema }: PostgresFacts): Finding {
  const newest = newestOf('postgres');
  if (schema === newest) return ok('schema', `${schema}: the newest version`);
  if (schema > newest)
    return problem('schema', `it is ${schema}, but this program knows only ${newest}`, NEWER_ACTION);
  const action = 'Start the service, which migrates the database.';
  return warning(
    'schema',
    schema === 0 ? 'the database is empty' : `it is ${schema}, and the newest version is ${newest}`,
    action,
  );
}

async function checkReplica(database: NonNullable<Config['database']>, primary: PostgresFacts) {
  const { host } = new URL(database.url);
  const check = `replica ${host}`;
  try {
    const { isReplica, beat, version } = await inspectPostgres(database);
    const delay = primary.beat - beat;
    if (!isReplica) return problem(check, 'it is not a read replica', 'Check RELATA_REPLICA_URLS.');
    if (delay <= database.replicaMaxDelayMs) return ok(check, `version ${version} answers and has caught up`);
    const action = 'Check its replication (pg_stat_wal_receiver).';
    return warning(check, `it is ${delay} ms behind, so it is not used`, action);
  } catch (error) {
    const action = 'Check RELATA_REPLICA_URLS and whether the server runs. Reads use the other servers.';
    return problem(check, `it cannot be reached: ${reasonOf(error)}`, action);
  }
}

/** @returns undefined if the key file cannot be read */
async function* findSecrets(config: Config): AsyncGenerator<Finding, Secrets | undefined> {
  try {
    return openSecrets(config);
  } catch (error) {
    const action = 'Allow the user of the service to read the file, or correct its content.';
    yield problem('secret keys', reasonOf(error), action);
    return undefined;
  }
}

async function* checkKeys(config: Config, secrets: Secrets | undefined): Findings {
  const control = openControl(config);
  try {
    const count = await countAccountKeys(control.read, systemClock.now());
    yield count > 0
      ? ok('account keys', `${count} can manage an account`)
      : problem('account keys', 'no key is valid', 'Create a key: relata key create --scope account.');
    if (secrets !== undefined) yield await checkSecrets(secrets, control);
  } finally {
    await control.close();
  }
}

const LOST_KEY =
  'Add the key that encrypted them to RELATA_SECRET_KEYS or the key file, or enter the secrets again (docs/operating/settings.md, "Secrets").';

async function checkSecrets(secrets: Secrets, control: ReturnType<typeof openControl>) {
  let unreadable = 0;
  for (const { column } of [PIPELINE_SECRETS, CHANNEL_SECRETS])
    unreadable += await countUnreadable(control, secrets, column);
  const subject = 'secrets of sources and destinations';
  if (unreadable > 0) return problem('secret keys', `no key decrypts ${unreadable} ${subject}`, LOST_KEY);
  const action = 'Set RELATA_SECRET_KEYS on each process (openssl rand -base64 32).';
  if (!secrets.canSeal) return warning('secret keys', `there is no key, so ${subject} are refused`, action);
  const message =
    secrets.mark === undefined ? 'the first secret creates a key' : `all ${subject} can be decrypted`;
  return ok('secret keys', message);
}

const GB = 1e9;
/** The limit of the alert RelataDiskFillsUp. */
const LITTLE_BYTES = 5 * GB;
/** A batch, its staging and the WAL of its commit do not fit into less. */
const NO_BYTES = GB;

async function* checkDisk({ dataDir, database }: Config): Findings {
  if (!existsSync(dataDir)) return;
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  const files = database === undefined ? listDatabases(dataFolderAt(dataDir)) : [];
  const sizes = files.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  const largest = Math.max(0, ...sizes);
  const message = `${(free / GB).toFixed(1)} GB are free at ${dataDir}`;
  const action = 'Free some space or enlarge the disk; no restart is needed.';
  if (free < NO_BYTES) yield problem('disk', message, action);
  else if (free < Math.max(LITTLE_BYTES, largest))
    yield warning('disk', `${message}; a full update may need ${(largest / GB).toFixed(1)} GB`, action);
  else yield ok('disk', message);
}

const DAY_MS = 86_400_000;
/** The limit of the alert RelataBackupOld: one nightly backup was missed. */
const OLD_DAYS = 2;

async function* checkBackups({ dataDir, database }: Config): Findings {
  if (database !== undefined)
    return yield ok(
      'backup',
      'this program cannot check the backups of PostgreSQL (docs/operating/postgresql.md, "Backup")',
    );
  if (!existsSync(dataFolderAt(dataDir).control)) return;
  const last = findLastBackup(dataFolderAt(dataDir));
  const action = 'Make a backup: relata backup DIR. With systemd, see journalctl -u relata-backup.';
  if (last === undefined) return yield warning('backup', 'relata backup has not made one yet', action);
  const days = (systemClock.now() - last.at) / DAY_MS;
  const message = `the last one was made at ${new Date(last.at).toISOString()} in ${last.directory}`;
  yield days > OLD_DAYS
    ? warning('backup', `${message}, ${Math.floor(days)} days ago`, action)
    : ok('backup', message);
}

const CONTINUOUS = 'continuous backup';

async function* checkContinuousBackup({ dataDir, database, backup: { url, s3, key } }: Config): Findings {
  if (database !== undefined || url === undefined) return;
  try {
    const { at: restorableAt, problem: targetProblem } = await inspectTarget({ url, s3, key }, dataDir);
    const action =
      'See problems of /health/ready and the log of the service; relata backups URL --verify checks all objects (docs/operating/backup.md, "When the target is damaged or gone").';
    yield targetProblem === undefined
      ? ok(CONTINUOUS, `${url} can be restored as of ${new Date(restorableAt ?? 0).toISOString()}`)
      : problem(CONTINUOUS, `${url}: ${targetProblem}`, action);
  } catch (error) {
    const action = 'Check RELATA_BACKUP_URL, RELATA_BACKUP_KEY, the disk or the network.';
    yield problem(CONTINUOUS, `${url}: ${reasonOf(error)}`, action);
  }
}

async function* checkOutside({ oidc, traces, importDir, fetchAllow }: Config): Findings {
  if (oidc !== undefined) yield await checkProvider(oidc);
  if (traces !== undefined) yield await checkCollector(traces.endpoint);
  if (importDir !== undefined)
    yield existsSync(importDir)
      ? ok('RELATA_IMPORT_DIR', `${importDir} exists`)
      : problem(
          'RELATA_IMPORT_DIR',
          `${importDir} does not exist`,
          'Create the folder, or unset the setting.',
        );
  if (fetchAllow.length > 0) yield checkAllowed(fetchAllow);
}

async function checkProvider(oidc: NonNullable<Config['oidc']>): Promise<Finding> {
  try {
    // Fetches the provider's metadata, which is the first step of a sign-in.
    await createProvider(oidc, systemClock).findSignOutUrl(oidc.issuer);
    return ok('sign-in provider', `${oidc.issuer} answers`);
  } catch (error) {
    const action = 'Check RELATA_OIDC_ISSUER and the network. Owners with a password can still sign in.';
    return problem('sign-in provider', `${oidc.issuer}: ${reasonOf(error)}`, action);
  }
}

/** Any answer is sufficient, because a collector may answer a GET with any status. */
async function checkCollector(endpoint: string): Promise<Finding> {
  try {
    await fetch(endpoint, { signal: AbortSignal.timeout(5_000), redirect: 'manual' });
    return ok('trace collector', `${endpoint} answers`);
  } catch (error) {
    const action = 'Check OTEL_EXPORTER_OTLP_ENDPOINT. The service works without traces.';
    return warning('trace collector', `${endpoint}: ${reasonOf(error)}`, action);
  }
}

/** Addresses of this machine, and addresses at which clouds provide credentials. */
const DANGEROUS = ['127.0.0.1', '::1', '169.254.169.254', 'fd00:ec2::254'];

function checkAllowed(fetchAllow: readonly string[]): Finding {
  const reached = DANGEROUS.filter(allowAddresses(fetchAllow)).join(' and ');
  const check = 'RELATA_FETCH_ALLOW';
  const count = `${fetchAllow.length} ranges of private addresses`;
  if (reached === '') return ok(check, `${count}; a preview of a pipeline shows whether they answer`);
  const action = 'Name only the machines that pipelines, channels and webhooks need.';
  return warning(check, `the author of a pipeline can reach ${reached}`, action);
}
