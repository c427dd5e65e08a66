import { randomBytes } from 'node:crypto';
import { extname } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
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
import type { ControlSchema, Database } from '../database.ts';
import { isDamaged, translateSqliteError } from '../sqlite-errors.ts';
import { createThreadPool, type ThreadPool } from '../threads/threads.ts';
import { onceByText, openSqlite } from './open-sqlite.ts';

/** In WAL mode, reads run while the only writer commits. */
export const CONTROL_PRAGMAS = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
`;

/**
 * The control database. Reads run on the calling thread and writes on a separate thread, because a commit waits for the
 * disk (0.3 ms idle, 100 ms during a bulk load) and must not delay lookups.
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
 * A read has finished when its call returns, so no read needs to wait. Kysely's own queue wakes all waiting reads
 * whenever one starts: 12,000 concurrent reads took 10 s.
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

/** The only connection of the writer's thread. One transaction at a time uses it. */
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

/** Caches prepared statements, because Kysely prepares a statement at every execution. */
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

/** @throws storage_failed, not_ready */
export function orRefuse<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    // Adds the path, because SQLite does not report which file failed.
    if (isDamaged(error)) (error as Error).message += ': control.db';
    throw translateSqliteError(error);
  }
}
