import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { ServiceError } from '../../kernel/errors.ts';
import { migrate } from '../migrations/migrations.ts';
import { type Program, type ProgramSession, performNow, renderFor, type Sql } from '../programs/programs.ts';
import { isReadOnly, translateSqliteError } from '../sqlite-errors.ts';
import { type CatalogOwner, recordOwner, refuseOtherOwner } from './catalog-owner.ts';
import { onceByText, openSqlite } from './open-sqlite.ts';
import { PageCache } from './page-cache.ts';

/**
 * page_size 16384: products of 1 to 4 KB then fill pages without overflow chains. cache_size in KiB. The WAL grows to
 * 64 MiB before it is written back, so a batch of 10,000 products causes at most one write-back.
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
  function bind<Answer>(
    statement: Sql,
    execute: (prepared: StatementSync, values: SQLInputValue[]) => Answer,
  ) {
    const { text, values } = renderFor('sqlite', statement);
    return execute(file.prepare(text), values as SQLInputValue[]);
  }
  return {
    rows: (statement) => bind(statement, (prepared, values) => prepared.all(...values)),
    run: (statement) =>
      bind(statement, (prepared, values) => {
        // Programs also run a select whose rows they ignore. `CatalogFile.prepare` gives the reason for big integers.
        prepared.setReadBigInts(true);
        return Number(prepared.run(...values).changes);
      }),
    controlRows: readControl,
  };
}

interface CatalogFileOptions {
  readonly readControl?: (statement: Sql) => unknown[];
  readonly projectId?: number;
  /** The installation that the file must belong to. */
  readonly installation?: string | undefined;
}

/** Refuses a file of another owner before anything in it changes. */
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

/** A statement whose rows are read as arrays. */
interface ArrayStatement {
  get(...values: SQLInputValue[]): readonly SQLOutputValue[] | undefined;
  all(...values: SQLInputValue[]): readonly (readonly SQLOutputValue[])[];
  iterate(...values: SQLInputValue[]): Iterable<readonly SQLOutputValue[]>;
}

/** An open catalog file with its prepared statements. */
export class CatalogFile {
  readonly database: DatabaseSync;
  /**
   * Whether the file was opened read-only. SQLite does so for a file that it cannot write, for example on a read-only
   * file system.
   */
  isReadOnly = false;
  readonly prepare = onceByText((sql) => {
    const statement = this.database.prepare(sql);
    // FTS5 leaves a last row id beyond 2^53. Reading it as a number would make every later write fail.
    if (statement.columns().length === 0) statement.setReadBigInts(true);
    return statement;
  });
  /**
   * Prepares a statement whose rows are read as arrays. Objects would cost twice as much and fill the old generation
   * of V8.
   */
  readonly prepareArrays = onceByText((sql) => {
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(true);
    // Node's types do not reflect that setting.
    return statement as unknown as ArrayStatement;
  });
  readonly pages = new PageCache((sql) => this.database.exec(sql));
  private readonly session: ProgramSession;
  private readonly projectId: number | undefined;

  /**
   * @param projectId undefined for a file that belongs to no installation
   * @throws storage_full, storage_failed; with a project also catalog_damaged, catalog_foreign
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

  /** @returns the refusal for a result that only a damaged file can give */
  refuseDamaged = () => new ServiceError('catalog_damaged', { values: [this.projectId ?? 0] });

  perform<Result>(program: Program<Result>): Result {
    return performNow(program, this.session);
  }

  /**
   * Runs a transaction whose work can be repeated. A loss of power may lose it and everything after it, until the next
   * synced transaction makes them durable.
   */
  repeatable<Result>(work: () => Result): Result {
    this.database.exec('pragma synchronous = normal');
    try {
      return this.transaction(work);
    } finally {
      this.database.exec('pragma synchronous = full');
    }
  }

  /** Runs `work` in one transaction, which is synced at its end. Rolls back when `work` throws. */
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
   * Runs `work` on one snapshot, so that several statements read the same catalog. Asynchronous work keeps the snapshot
   * open, and other users of the file would read an old state. So only threads that run one operation at a time may
   * wait in it.
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
