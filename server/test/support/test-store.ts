import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { openStorage, type Storage } from '../../src/storage/storage.ts';
import { findFastFolder, query, startPostgres } from './postgres/postgres-server.ts';
import { createDatabase, type TestDatabase } from './postgres/test-database.ts';
import type { Stopping } from './stops.ts';

/**
 * The store of services under test: embedded, or PostgreSQL if RELATA_TEST_STORE is `postgres`. Test files that import
 * this module run on both (run-tests.ts).
 */
export interface TestStore {
  readonly kind: StoreKind;
  readonly dataDir: string;
  /** RELATA_ settings for a service on this store. */
  readonly settings: Readonly<Record<string, string>>;
  /** Opens the store like a service. */
  open(): Promise<Storage>;
  /** @returns the rows of a statement on the catalog tables of one project */
  readCatalog<Row>(projectId: number, sql: string): Promise<Row[]>;
  /** Runs statements on the service's own tables. */
  change(sql: string): Promise<void>;
  /** @returns the names of accepted bodies whose tasks have not ended */
  listBodies(): Promise<string[]>;
  /** @returns the whole stored content, so that a test can search in it */
  readAll(): Promise<Buffer>;
  /** Blocks all changes of a project's catalog until the returned function is called. */
  lockCatalog(projectId: number): Promise<() => Promise<void>>;
  /** Makes a change, and blocks the catalog writes of its tasks until they are released. */
  holdBack<Result>(projectId: number, change: () => Promise<Result>): Promise<Held<Result>>;
  /** Registers a function to stop users of the store before its removal. */
  onRemove(stop: () => Promise<unknown>): void;
  remove(): Promise<void>;
}

export interface Held<Result> {
  readonly answer: Result;
  release(): Promise<void>;
}

/** All processes on one database share this key. A service on the embedded store makes its own key. */
const SECRET_KEY = Buffer.alloc(32, 'tests').toString('base64');

export type StoreKind = 'embedded' | 'postgres';

/** The store that the tests of this process use. */
export const testedStore = readKind(process.env.RELATA_TEST_STORE || 'embedded');

function readKind(text: string): StoreKind {
  assert.ok(text === 'embedded' || text === 'postgres', `RELATA_TEST_STORE=${text} is not a store`);
  return text;
}

/** Options for a test that does not apply to PostgreSQL. @param reason why */
export const embeddedOnly = (reason: string) => ({
  skip: testedStore !== 'embedded' && `only for the embedded store: ${reason}`,
});

/** An empty store, removed when the test ends. */
export async function createTestStore(t: Stopping): Promise<TestStore> {
  const store = await makeTestStore();
  t.after(store.remove);
  return store;
}

/** The same, but the caller removes the store. */
export async function makeTestStore(): Promise<TestStore> {
  const dataDir = await mkdtemp(join(findFastFolder(tmpdir()), 'relata-test-'));
  return testedStore === 'embedded'
    ? embeddedStoreAt(dataDir)
    : postgresStoreOn(await createDatabase(await findServer()), dataDir);
}

let ownServer: Promise<string> | undefined;

/** @returns the server of all test files. A file that runs alone starts a server, which ends with its process. */
export async function findServer(): Promise<string> {
  const given = process.env.RELATA_TEST_DATABASE_URL;
  if (given) return given;
  ownServer ??= startPostgres().then(({ url }) => url);
  return ownServer;
}

/** The embedded store in a folder, such as a folder that a backup made. */
export function embeddedStoreAt(dataDir: string): TestStore {
  const catalogOf = (projectId: number) => join(dataDir, 'catalogs', `${projectId}.db`);
  return {
    kind: 'embedded',
    dataDir,
    settings: { RELATA_DATA_DIR: dataDir },
    open: () => openStorage({ dataDir, database: undefined }),
    async readCatalog<Row>(projectId: number, sql: string) {
      return withFile(catalogOf(projectId), (file) => file.prepare(sql).all() as Row[]);
    },
    change: (sql) => changeFile(join(dataDir, 'control.db'), sql),
    listBodies: () => readdir(join(dataDir, 'payloads')),
    async readAll() {
      const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
      const files = entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name));
      return Buffer.concat(await Promise.all(files.map((file) => readFile(file))));
    },
    lockCatalog: async (projectId) => lockFile(catalogOf(projectId)),
    async holdBack(projectId, change) {
      const answer = await change();
      // Synchronous, because the steps of the service's tasks start on this thread, so none starts before the lock is
      // taken.
      return { answer, release: lockFile(catalogOf(projectId)) };
    },
    ...removal(() => rm(dataDir, { recursive: true, force: true })),
  };
}

const LOCK_TIMEOUT_MS = 10_000;
const HELD_AT_MOST_MS = 60_000;

const LOCKED = 5;

/** A wait inside SQLite would block this thread, and with it the transaction of a service that holds the lock. */
async function changeFile(path: string, sql: string): Promise<void> {
  for (const start = performance.now(); ; await delay(10)) {
    try {
      return withFile(path, (file) => file.exec(sql), 0);
    } catch (error) {
      const isLocked = (error as { errcode?: number }).errcode === LOCKED;
      if (!isLocked || performance.now() - start > LOCK_TIMEOUT_MS) throw error;
    }
  }
}

function withFile<Result>(
  path: string,
  work: (file: DatabaseSync) => Result,
  timeout = LOCK_TIMEOUT_MS,
): Result {
  const file = new DatabaseSync(path, { timeout });
  try {
    return work(file);
  } finally {
    file.close();
  }
}

function lockFile(path: string): () => Promise<void> {
  const file = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
  file.exec('begin immediate');
  return async () => {
    file.exec('rollback');
    file.close();
  };
}

/** A database, with a folder for the private files of a process. */
export function postgresStoreOn(database: TestDatabase, dataDir: string): TestStore {
  const { url } = database;
  const settings = { RELATA_DATA_DIR: dataDir, RELATA_DATABASE_URL: url, RELATA_SECRET_KEYS: SECRET_KEY };
  return {
    kind: 'postgres',
    dataDir,
    settings,
    open: () => openStorage(readConfig(settings)),
    readCatalog: (projectId, sql) => readProject(url, projectId, sql),
    change: async (sql) => void (await query(url, sql)),
    async listBodies() {
      const rows = await query<{ name: string }>(url, 'select distinct name from payload order by name');
      return rows.map(({ name }) => name);
    },
    async readAll() {
      const tables = await query<{ name: string }>(
        url,
        "select tablename as name from pg_tables where schemaname = 'public'",
      );
      const sql = tables.map(({ name }) => `select ${name}::text as row from ${name}`).join(' union all ');
      return Buffer.from((await query<{ row: string }>(url, sql)).map(({ row }) => row).join('\n'));
    },
    lockCatalog: (projectId) =>
      lock(
        url,
        `insert into catalog (project_id) values (${projectId}) on conflict do nothing;
         select from catalog where project_id = ${projectId} for update`,
      ),
    async holdBack(_, change) {
      // The tasks may be done before the change is answered. Only they write the locked tables.
      const release = await lock(
        url,
        'lock table document, relation_document, relation_member, relation_link in share mode',
      );
      return { answer: await change(), release };
    },
    ...removal(async () => {
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    }),
  };
}

/** @returns a function that releases the lock */
async function lock(url: string, sql: string): Promise<() => Promise<void>> {
  // The lock of a failed test must not block the stop of the service forever.
  const options = `-c idle_in_transaction_session_timeout=${HELD_AT_MOST_MS}`;
  const client = new pg.Client({ connectionString: url, options });
  client.on('error', () => {});
  await client.connect();
  await client.query('begin');
  await client.query(sql);
  return async () => {
    await client.query('rollback');
    await client.end();
  };
}

/**
 * The `after` hooks of a test run in the order of registration. A store is made first, so its hook waits until its
 * users have stopped.
 */
function removal(remove: () => Promise<void>): Pick<TestStore, 'onRemove' | 'remove'> {
  const stops: (() => Promise<unknown>)[] = [];
  return {
    onRemove: (stop) => void stops.push(stop),
    async remove() {
      for (const stop of stops) await stop();
      await remove();
    },
  };
}

/** Views with the names of the tables hide other projects, so that a statement is the same for both stores. */
async function readProject<Row>(url: string, projectId: number, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      "select table_name from information_schema.columns where table_schema = 'public' and column_name = 'project_id'",
    );
    for (const { table_name: name } of rows) {
      const where = `where project_id = ${Number(projectId)}`;
      await client.query(`create temp view ${name} as select * from public.${name} ${where}`);
    }
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end();
  }
}
