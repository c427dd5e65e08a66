/** The door of SQLite: how a file is opened, the control database and the catalog files. */

import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  sql as kyselySql,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { ServiceError } from '../../kernel/errors.ts';
import { dataFolderAt } from '../data-folder.ts';
import type { ControlSchema, Database } from '../database.ts';
import { hasNewest, migrate } from '../migrate.ts';
import { type Program, type ProgramSession, performNow, renderFor, type Sql } from '../program.ts';
import { isBusy, isDamaged, isReadOnly, translateSqliteError } from '../sqlite-errors.ts';
import { createThreadPool, type ThreadPool } from '../threads/threads.ts';
import {
  type CatalogOwner,
  findOtherOwnerOf,
  readInstallation,
  recordOwner,
  refuseOtherOwner,
} from './catalog-owner.ts';
import { createMarkMoves, type MarkMoves, openDamageMarks } from './file-check.ts';
import { PageCache, shareOfFile } from './page-cache.ts';

export {
  type CatalogOwner,
  type ForeignCatalog,
  findInstallation,
  findOtherOwner,
  findOtherOwnerOf,
  listForeignCatalogs,
  OWNER_ENTRIES,
  readInstallation,
  recordOwner,
  refuseStrayCatalogs,
} from './catalog-owner.ts';
export {
  checkSqliteFile,
  createMarkMoves,
  findDamage,
  listMarked,
  type MarkMoves,
  openDamageMarks,
} from './file-check.ts';
export { findForeignSchema, findForeignSchemaIn } from './foreign-schema.ts';
export {
  closeUnused,
  copyFrames,
  findWalEnd,
  openOnce,
  WalAppender,
  type WalEnd,
  WalReader,
} from './wal-frames.ts';

/** For a connection that writes where only a backup writes logs back. */
export const KEEP_LOG = 'pragma wal_autocheckpoint = 0;';

const BUSY_TIMEOUT_MS = 10_000;
/** More than enough: the second attempt finds the file already switched. */
const ATTEMPTS = 100;

/**
 * Opens a database file and sets it up. When threads or processes open a new file at once and switch it to WAL, SQLite
 * refuses all except one, often despite the timeout (4 threads: 156 of 240 failed without it, 1 with it), hence the retries.
 */
export function openSqlite(path: string, pragmas: string): DatabaseSync {
  for (let attempt = 1; ; attempt += 1) {
    const database = openFile(path);
    try {
      database.exec(pragmas);
      return database;
    } catch (error) {
      database.close();
      if (!isBusy(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Adds the path to the error, as SQLite does not say which file failed. */
function openFile(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    (error as Error).message += `: ${path}`;
    throw error;
  }
}

/**
 * page_size 16384: products of 1 to 4 KB then fill pages without overflow chains. cache_size in KiB. The WAL grows to
 * 64 MiB before it is written back, so that a batch of 10,000 products is written back at most once.
 */
const CATALOG_PRAGMAS = `
  pragma page_size = 16384;
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma cache_size = -32768;
  pragma mmap_size = 0;
  pragma wal_autocheckpoint = 4096;
`;

/** The session of programs on a file, including the rows of the service's own tables that they read. */
export function programSessionOf(
  file: { prepare(sql: string): StatementSync },
  readControl: (statement: Sql) => unknown[] = () => [],
): ProgramSession {
  function bind<Answer>(statement: Sql, ask: (prepared: StatementSync, values: SQLInputValue[]) => Answer) {
    const { text, values } = renderFor('sqlite', statement);
    return ask(file.prepare(text), values as SQLInputValue[]);
  }
  return {
    rows: (statement) => bind(statement, (prepared, values) => prepared.all(...values)),
    run: (statement) =>
      bind(statement, (prepared, values) => {
        // For a select too: a program that runs one reads nothing of it. See `CatalogFile.prepare`.
        prepared.setReadBigInts(true);
        return Number(prepared.run(...values).changes);
      }),
    controlRows: readControl,
  };
}

export interface CatalogFileOptions {
  readonly readControl?: (statement: Sql) => unknown[];
  readonly projectId?: number;
  /** The installation that the file has to belong to. */
  readonly installation?: string | undefined;
}

/** Refuses a file of another owner before it changes anything. */
function setUpCatalog(database: DatabaseSync, owner: CatalogOwner | undefined): void {
  try {
    if (owner !== undefined) refuseOtherOwner(database, owner);
    migrate(database, 'catalog');
    if (owner !== undefined) recordOwner(database, owner);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** An open catalog file with its prepared statements. */
export class CatalogFile {
  readonly database: DatabaseSync;
  /** Whether it opened read-only, as SQLite does for a file that it cannot write, e.g. on a read-only file system. */
  isReadOnly = false;
  readonly prepare = onceByText((sql) => {
    const made = this.database.prepare(sql);
    // FTS5 leaves a last row id of its own, beyond 2^53; read as a number it would make any later write fail.
    if (made.columns().length === 0) made.setReadBigInts(true);
    return made;
  });
  /** The same for a statement whose rows are read as arrays: objects cost twice as much, and fill the old generation of V8. */
  readonly prepareArrays = onceByText((sql) => {
    const made = this.database.prepare(sql);
    made.setReturnArrays(true);
    return made;
  });
  readonly pages = new PageCache((sql) => this.database.exec(sql));
  private readonly session: ProgramSession;
  private readonly projectId: number | undefined;

  /**
   * @param projectId undefined for a file of no installation
   * @throws storage_full, storage_failed, and, with a project, catalog_damaged, catalog_foreign
   */
  constructor(path: string, { readControl = () => [], projectId, installation }: CatalogFileOptions = {}) {
    this.session = programSessionOf(this, readControl);
    this.projectId = projectId;
    try {
      this.database = openSqlite(path, CATALOG_PRAGMAS);
      const isOwned = projectId !== undefined && installation !== undefined;
      setUpCatalog(this.database, isOwned ? { installation, projectId } : undefined);
    } catch (error) {
      throw translateSqliteError(error, projectId);
    }
  }

  /** @returns the refusal for a result that a sound file cannot give */
  refuseDamaged = () => new ServiceError('catalog_damaged', { values: [this.projectId ?? 0] });

  perform<Result>(program: Program<Result>): Result {
    return performNow(program, this.session);
  }

  /**
   * Runs a transaction whose work can be repeated. A loss of power may lose it, with what followed; the next
   * synced transaction makes it durable, too.
   */
  repeatable<Result>(work: () => Result): Result {
    this.database.exec('pragma synchronous = normal');
    try {
      return this.transaction(work);
    } finally {
      this.database.exec('pragma synchronous = full');
    }
  }

  /** Runs `work` in one transaction, synced; rolled back when it throws. */
  transaction<Result>(work: () => Result): Result {
    return this.pages.whole(() => this.runTransaction(work));
  }

  private runTransaction<Result>(work: () => Result): Result {
    this.database.exec('begin immediate');
    try {
      const result = work();
      this.database.exec('commit');
      return result;
    } catch (error) {
      this.isReadOnly = isReadOnly(error);
      if (this.database.isTransaction) this.database.exec('rollback');
      throw error;
    }
  }

  /**
   * Runs `work` on one snapshot, so that several statements see the same catalog. Asynchronous work keeps it open,
   * and other users of the file would read an old state, so only threads that run one operation at a time may wait.
   */
  snapshot<Result>(work: () => Result): Result {
    this.database.exec('begin');
    let isWaiting = false;
    try {
      const result = work();
      if (!(result instanceof Promise)) return result;
      isWaiting = true;
      return result.finally(() => this.database.exec('commit')) as Result;
    } finally {
      if (!isWaiting) this.database.exec('commit');
    }
  }
}

export type CatalogFiles = ReturnType<typeof createCatalogFiles>;

/** Whether another service writes the files; may change while this service runs. */
export type Follows = Int32Array<SharedArrayBuffer>;

export const createFollows = (isFollowing = false): Follows =>
  new Int32Array(new SharedArrayBuffer(4)).fill(Number(isFollowing));

/** Open files per thread: enough for a busy installation, few enough for memory and file handles. */
const OPEN_CATALOGS = 64;

/**
 * The catalog files of one thread; when there are too many, the least recently used one is closed.
 * @param how `keepsLog`: another thread copies the logs and then writes them back; `follows`: nothing is written here
 */
export function createCatalogFiles(
  folder: string,
  how: { markMoves?: MarkMoves; keepsLog?: boolean; follows?: Follows } = {},
) {
  const { markMoves = createMarkMoves(), keepsLog = false, follows = createFollows() } = how;
  const marks = openDamageMarks(folder, markMoves);
  const files = new Map<number, CatalogFile>();
  const pathOf = (projectId: number) => join(folder, `${projectId}.db`);
  let control = openControlReader(folder);

  function close(projectId: number): void {
    files.get(projectId)?.database.close();
    files.delete(projectId);
    sharePages();
  }

  /** Only a step of the share changes the open files. */
  function sharePages(): void {
    const kib = shareOfFile(files.size);
    for (const { pages } of files.values()) pages.limit(kib);
  }

  function openNew(projectId: number): CatalogFile {
    const isFollowing = Atomics.load(follows, 0) === 1;
    const path = isFollowing && !isReady(pathOf(projectId)) ? ':memory:' : pathOf(projectId);
    const installation = control.findInstallation();
    const file = new CatalogFile(path, { readControl: control.readFor(projectId), projectId, installation });
    // The file may exist the next time.
    file.isReadOnly = path === ':memory:';
    if (keepsLog) file.database.exec(KEEP_LOG);
    return file;
  }

  return {
    pathOf,
    close,
    /** @throws storage_full, storage_failed, catalog_damaged, catalog_foreign */
    open(projectId: number): CatalogFile {
      marks.refuse(projectId);
      if (files.get(projectId)?.isReadOnly) close(projectId);
      const known = files.get(projectId);
      const file = known ?? openNew(projectId);
      files.delete(projectId);
      files.set(projectId, file);
      const oldest = files.keys().next().value;
      if (files.size > OPEN_CATALOGS && oldest !== undefined) close(oldest);
      if (known === undefined) sharePages();
      return file;
    },
    closeAll(): void {
      for (const projectId of [...files.keys()]) close(projectId);
      control.close();
      control = openControlReader(folder);
    },
    /** A file of another owner stays: the project that is removed has no products in it. */
    remove(projectId: number): void {
      close(projectId);
      const installation = control.findInstallation();
      const owner = installation === undefined ? undefined : { installation, projectId };
      if (owner !== undefined && findOtherOwnerOf(pathOf(projectId), owner) !== undefined) return;
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${pathOf(projectId)}${suffix}`, { force: true });
      marks.remove(projectId);
    },
  };
}

/**
 * Whether the writing service has created a file; a service that follows accepts no other.
 * @throws not_ready until the writer has migrated it to the newest schema
 */
function isReady(path: string): boolean {
  if (!existsSync(path)) return false;
  using file = new DatabaseSync(path, { readOnly: true });
  if (!hasNewest(file, 'catalog')) throw new ServiceError('not_ready');
  return true;
}

/** Reads the control database beside the folder of catalogs, as last committed; opened at the first read. */
function openControlReader(folder: string) {
  const path = dataFolderAt(dirname(folder)).control;
  let database: DatabaseSync | undefined;
  let installation: string | undefined;
  const open = () => {
    database ??= new DatabaseSync(path, { readOnly: true });
    return database;
  };
  const prepare = onceByText((text) => open().prepare(text));
  return {
    /** @returns undefined without a control database, and on a standby whose writer is yet to record it */
    findInstallation(): string | undefined {
      if (installation === undefined && existsSync(path)) installation = readInstallation(open());
      return installation;
    },
    readFor: (projectId: number) => (statement: Sql) => {
      // Catalogs can be opened without a control database.
      if (database === undefined && !existsSync(path)) return [];
      const { text, values } = renderFor('sqlite', statement, projectId);
      return prepare(text).all(...(values as SQLInputValue[]));
    },
    close: () => database?.close(),
  };
}

/** WAL lets readers run while the one writer commits. */
export const CONTROL_PRAGMAS = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
`;

/**
 * The control database: reads on the calling thread, writes on a thread of their own, because a commit waits
 * for the disk (0.3 ms idle, 100 ms beside a bulk load) and lookups must not wait with it.
 * @param keepsLog whether another thread copies its log and then writes it back
 */
export function openControlDatabase(path: string, keepsLog = false): Database {
  const reader = openSqlite(path, CONTROL_PRAGMAS);
  const read = new Kysely<ControlSchema>({
    dialect: new ReadingDialect({ database: preparingOnce(reader) }),
  });
  const entry = new URL(`./control-writer${extname(import.meta.url)}`, import.meta.url);
  const thread = createThreadPool(entry, { size: 1, workerData: { path, keepsLog } });
  const writer = new Kysely<ControlSchema>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => createThreadDriver(thread),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  return {
    isShared: false,
    processId: randomBytes(8).toString('hex'),
    read,
    now: kyselySql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
    write: (_of, work) => writer.transaction().execute(work),
    async close() {
      await writer.destroy();
      await thread.close();
      await read.destroy();
    },
  };
}

/**
 * A read has finished when its call returns, so no read waits. Kysely's own queue wakes all waiting reads
 * whenever one starts: 12,000 reads at once took 10 s.
 */
class ReadingDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new ReadingAdapter();
  }
}

class ReadingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** The only connection of the writer's thread; one transaction uses it at a time. */
function createThreadDriver(thread: ThreadPool): Driver {
  let turn: Promise<void> = Promise.resolve();
  let release: () => void = () => {};
  const connection: DatabaseConnection = {
    executeQuery: <Row>({ sql, parameters }: CompiledQuery) =>
      thread.run<QueryResult<Row>>('execute', { sql, parameters }, { key: 0 }),
    streamQuery: () => {
      throw new Error('writes are not streamed');
    },
  };
  const execute = (sql: string) => connection.executeQuery(CompiledQuery.raw(sql));
  return {
    async init() {},
    async acquireConnection() {
      const before = turn;
      const { promise, resolve } = Promise.withResolvers<void>();
      turn = promise;
      await before;
      release = resolve;
      return connection;
    },
    beginTransaction: async () => void (await execute('begin immediate')),
    commitTransaction: async () => void (await execute('commit')),
    rollbackTransaction: async () => void (await execute('rollback')),
    releaseConnection: async () => release(),
    async destroy() {},
  };
}

/** Kysely prepares a statement at every execution; this caches the prepared ones. */
const preparingOnce = (database: DatabaseSync) => ({
  prepare: onceByText((text) => {
    const statement = database.prepare(text);
    return {
      reader: statement.columns().length > 0,
      all: (values: SQLInputValue[]) => orRefuse(() => statement.all(...values)),
      run: (values: SQLInputValue[]) => orRefuse(() => statement.run(...values)),
      iterate: (values: SQLInputValue[]) => statement.iterate(...values),
    };
  }),
  close: () => database.close(),
});

/** @returns what `make` returns for a text, made at its first use, for example the prepared statement */
export function onceByText<Made>(make: (text: string) => Made): (text: string) => Made {
  const known = new Map<string, Made>();
  return (text) => known.getOrInsertComputed(text, make);
}

/** @throws storage_failed, not_ready */
export function orRefuse<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    // SQLite does not say which file failed.
    if (isDamaged(error)) (error as Error).message += ': control.db';
    throw translateSqliteError(error);
  }
}
