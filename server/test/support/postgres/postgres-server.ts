import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, existsSync, openSync, readdirSync, readFileSync, statfsSync } from 'node:fs';
import {
  appendFile,
  chown,
  copyFile,
  lchown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import {
  findProcessOwner,
  findTemporaryFolder,
  type ProcessOwner,
  provideBinaries,
} from './postgres-binaries.ts';

/**
 * A real PostgreSQL for tests: on loopback and in a temporary folder. It is removed with the process that started it,
 * however that process ends. Every program that can reach the loopback address has full access.
 */
export interface PostgresServer {
  /** The URL of its superuser for the database `postgres`. */
  readonly url: string;
  /** The major version, such as 15. */
  readonly version: number;
  /** Ends the server and its sessions immediately and keeps its data. `crash`: like a power cut. */
  halt(how?: 'crash'): Promise<void>;
  /** Starts the server again after `halt`, on the same port. */
  start(): Promise<void>;
  /** Suspends the server without ending its connections, which then hang. */
  pause(): void;
  continue(): void;
  /** @returns a streaming standby, once it answers. It is stopped with its primary. */
  startReplica(): Promise<PostgresServer>;
  /** Promotes a standby to primary. */
  promote(): Promise<void>;
  /** Ends the server and its replicas, and removes the data. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** For tests that crash the server: commits survive. Otherwise the server does not wait for the disk. */
  readonly isDurable?: boolean;
  /** Parameters of postgresql.conf in addition to those of all tests. */
  readonly parameters?: Readonly<Record<string, string>>;
}

const USER = 'relata';
const START_MS = 60_000;
const GIB = 1024 ** 3;

/** For all tests. Without unix sockets, the length of TMPDIR does not matter. */
const PARAMETERS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // A test file may have several services with several threads, and other files run at the same time.
  max_connections: '400',
  shared_buffers: '256MB',
  max_wal_size: '1GB',
  // Removed with the data, even after a crash.
  dynamic_shared_memory_type: 'mmap',
  checkpoint_timeout: '30min',
};
const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };

/** The folders and owner that an instance shares with its replicas. */
interface Place {
  /** The folder of the programs and the log. */
  readonly folder: string;
  /** The folder of the data. */
  readonly dataFolder: string;
  readonly bin: string;
  readonly owner: ProcessOwner;
  readonly release: () => Promise<void>;
}

/** @throws Error that names the part missing on this machine */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const owner = await findProcessOwner();
  const disk = findTemporaryFolder(owner);
  const folder = await mkdtemp(join(disk, 'relata-postgres-'));
  const dataFolder = await mkdtemp(join(options.isDurable ? disk : findFastFolder(disk), 'relata-postgres-'));
  const release = guardFolders(folder, dataFolder);
  try {
    for (const path of [folder, dataFolder]) if (owner !== undefined) await chown(path, owner.uid, owner.gid);
    const folders: Place = { folder, dataFolder, owner, release, bin: await provideBinaries(folder, owner) };
    const data = join(dataFolder, 'primary');
    const initdb = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    execFileSync(join(folders.bin, 'initdb'), initdb, {
      ...runAs(folders),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const parameters = { ...PARAMETERS, ...(options.isDurable ? {} : NOT_DURABLE), ...options.parameters };
    await appendFile(join(data, 'postgresql.conf'), toConf(parameters));
    return await startInstance(folders, data);
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * Memory, if there is plenty. A database has 300 files, which are made in 20 ms there and in 200 to 400 ms on a slow
 * disk (2 cores, ext4 in a virtual machine), where tests also wait for each other's syncs. The writes of a killed
 * process survive in both.
 */
export function findFastFolder(disk: string): string {
  const memory = '/dev/shm';
  if (!existsSync(memory) || process.availableMemory() < 8 * GIB) return disk;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize < 4 * GIB ? disk : memory;
}

const toConf = (parameters: Readonly<Record<string, string>>) =>
  Object.entries(parameters)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join('');

/** Without the caller's environment, because its PGDATA, PGPORT and similar variables belong to another server. */
const runAs = ({ folder, owner }: Place) => ({
  cwd: folder,
  env: { PATH: process.env.PATH, LC_ALL: 'C' },
  ...(owner && { uid: owner.uid, gid: owner.gid }),
});

/** Waits for the end of the process that made the folders, then stops the servers in them and removes the folders. */
const GUARD = `
trap '' HUP INT QUIT TERM
cat > /dev/null
for folder; do
  for file in "$folder"/*/*.pid; do
    [ -f "$file" ] || continue
    read -r pid < "$file"
    kill -QUIT "$pid"
    kill -CONT "$pid"
    waited=0
    while [ -f "$file" ] && kill -0 "$pid" && [ $waited -lt 200 ]; do sleep 0.05; waited=$((waited + 1)); done
  done
done
rm -rf "$@"`;

/** @returns a function that ends the guard. The `.pid` files of the folders name the processes. */
export function guardFolders(...folders: string[]): () => Promise<void> {
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', ...folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const ended = once(guard, 'exit');
  guard.unref();
  (guard.stdin as Writable & { unref(): void }).unref();
  return async () => {
    guard.ref();
    guard.stdin.end();
    await ended;
  };
}

async function startInstance(folders: Place, data: string): Promise<PostgresServer> {
  const port = await findPort();
  const url = `postgres://${USER}@127.0.0.1:${port}/postgres`;
  let running = await launch(folders, data, port);
  let replicas = 0;
  return {
    url,
    version: Number.parseInt(await readFile(join(data, 'PG_VERSION'), 'utf8'), 10),
    async halt(how) {
      if (how === 'crash') await killAll(running);
      else await signal(running, 'SIGQUIT');
      // Another process with this number must not be mistaken for the server.
      await rm(join(data, 'postmaster.pid'), { force: true });
    },
    async start() {
      running = await launch(folders, data, port);
    },
    pause: () => signalFamily(running, 'SIGSTOP'),
    continue: () => signalFamily(running, 'SIGCONT'),
    async startReplica() {
      replicas += 1;
      const copy = `${data}-replica-${replicas}`;
      await copyRunning({ url, data, copy, slot: `replica_${replicas}` });
      if (folders.owner !== undefined) await chownAll(copy, folders.owner);
      return startInstance(folders, copy);
    },
    async promote() {
      await query(url, 'select pg_promote()');
    },
    stop: folders.release,
  };
}

/** A free port of loopback. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** @returns the process once its status file says that it answers, which includes standbys */
async function launch(folders: Place, data: string, port: number): Promise<ChildProcess> {
  const logPath = join(folders.folder, 'log');
  const log = openSync(logPath, 'a', 0o600);
  if (folders.owner !== undefined) chownSync(logPath, folders.owner.uid, folders.owner.gid);
  const child = spawn(join(folders.bin, 'postgres'), ['-D', data, '-p', `${port}`], {
    ...runAs(folders),
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  child.unref();
  let failure: unknown;
  child.once('error', (error) => {
    failure = error;
  });
  for (const end = Date.now() + START_MS; ; await delay(20)) {
    const state = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
    const [pid, , , , , , , status = ''] = state.split('\n');
    if (Number(pid) === child.pid && status.trim() === 'ready') return child;
    if (failure === undefined && child.exitCode === null && Date.now() < end) continue;
    child.kill('SIGKILL');
    const logTail = (await readFile(logPath, 'utf8')).split('\n').slice(-20).join('\n');
    throw new Error(`PostgreSQL did not start in ${data}:\n${logTail}`, { cause: failure });
  }
}

async function signal(child: ChildProcess, name: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.ref();
  child.kill(name);
  await ended;
}

/**
 * The processes of the server have their own groups, so each is signalled. The first one is signalled last, because it
 * restarts the others.
 */
function signalFamily(child: ChildProcess, name: NodeJS.Signals): void {
  const parent = child.pid as number;
  if (name !== 'SIGCONT') process.kill(parent, 'SIGSTOP');
  for (const pid of listChildren(parent)) sendSignal(pid, name);
  sendSignal(parent, name);
}

async function killAll(child: ChildProcess): Promise<void> {
  const family = listChildren(child.pid as number);
  const ended = once(child, 'exit');
  child.ref();
  signalFamily(child, 'SIGKILL');
  await ended;
  // As long as one of them lives, the next start is refused.
  while (listProcesses().some(({ pid }) => family.includes(pid))) await delay(10);
}

const listChildren = (parent: number) =>
  listProcesses()
    .filter(({ ppid }) => ppid === parent)
    .map(({ pid }) => pid);

interface RunningProcess {
  readonly pid: number;
  readonly ppid: number;
  readonly state: string;
}

/** @returns living processes. Ended ones may stay in the list until their parent reaps them. */
function listProcesses(): RunningProcess[] {
  const listed = process.platform === 'linux' ? readProcesses() : askProcesses();
  return listed.filter(({ state }) => state !== '' && !state.startsWith('Z'));
}

/** Small Linux images have no `ps`. */
function readProcesses(): RunningProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      const stat = readIfThere(`/proc/${name}/stat`);
      const [state = '', ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { pid: Number(name), ppid: Number(ppid), state };
    });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function askProcesses(): RunningProcess[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, ppid, state = '']) => ({ pid: Number(pid), ppid: Number(ppid), state }));
}

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // The process has ended without the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Runs one statement on a new connection. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

interface Copying {
  readonly url: string;
  readonly data: string;
  readonly copy: string;
  readonly slot: string;
}

/**
 * Copies a running server's files as the data of a standby, by hand: the npm package has no pg_basebackup. Source:
 * PostgreSQL documentation, "Making a Base Backup Using the Low Level API".
 */
async function copyRunning({ url, data, copy, slot }: Copying): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      "select current_setting('server_version_num')::int >= 150000 as is_new",
    );
    const [begin, end] = rows[0].is_new
      ? ['pg_backup_start($1, true)', 'pg_backup_stop()']
      : ['pg_start_backup($1, true, false)', 'pg_stop_backup(false)'];
    await client.query('select pg_create_physical_replication_slot($1, true)', [slot]);
    await client.query(`select ${begin}`, [slot]);
    await copyFolder(data, copy);
    const label = await client.query(`select labelfile from ${end}`);
    await writeFile(join(copy, 'backup_label'), label.rows[0].labelfile);
  } finally {
    await client.end();
  }
  const { hostname, port } = new URL(url);
  const conninfo = `host=${hostname} port=${port} user=${USER}`;
  await appendFile(
    join(copy, 'postgresql.conf'),
    toConf({ primary_conninfo: conninfo, primary_slot_name: slot }),
  );
  await writeFile(join(copy, 'standby.signal'), '');
}

/** These are excluded from backups. The log comes from the primary. */
const NOT_COPIED = /^(?:postmaster\..*|pg_internal\.init.*|pgsql_tmp.*)$/;
const COPIED_EMPTY =
  /^(?:pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)$/;

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (NOT_COPIED.test(entry.name)) continue;
    if (entry.isDirectory() && COPIED_EMPTY.test(entry.name)) await mkdir(target, { mode: 0o700 });
    else if (entry.isDirectory()) await copyFolder(source, target);
    else await copyFile(source, target).catch(ignoreRemoved);
  }
}

/** A running server removes files, and its log contains their changes. */
function ignoreRemoved(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

async function chownAll(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await lchown(path, uid, gid);
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    await lchown(join(entry.parentPath, entry.name), uid, gid);
  }
}
