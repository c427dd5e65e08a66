import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { ServiceError } from '../../kernel/errors.ts';
import { dataFolderAt } from '../data-folder.ts';
import { migrate } from '../migrate.ts';
import { type Program, type ProgramSession, performNow } from '../program.ts';
import { renderFor, type Sql } from '../sql-statement.ts';
import { isReadOnly, translateSqliteError } from '../sqlite-errors.ts';
import { createMarkMoves, DamageMarks, type MarkMoves } from './file-check.ts';
import { KEEP_LOG, openSqlite } from './open-sqlite.ts';

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

/** An open catalog file with its prepared statements. */
export class CatalogFile {
  readonly database: DatabaseSync;
  /** SQLite opens a file to read it where it cannot write it, for example while the file system is read-only, and so it stays. */
  isReadOnly = false;
  private readonly prepared = new Map<string, StatementSync>();
  private readonly session: ProgramSession = {
    rows: (statement) => this.bind(statement, (prepared, values) => prepared.all(...values)),
    run: (statement) => this.bind(statement, (prepared, values) => Number(prepared.run(...values).changes)),
    controlRows: (statement) => this.readControl(statement),
  };
  private readonly readControl: (statement: Sql) => unknown[];
  private readonly projectId: number | undefined;

  /** @throws storage_full, storage_failed, and catalog_damaged of a project */
  constructor(path: string, readControl: (statement: Sql) => unknown[] = () => [], projectId?: number) {
    this.readControl = readControl;
    this.projectId = projectId;
    try {
      this.database = openSqlite(path, CATALOG_PRAGMAS);
      migrate(this.database, 'catalog');
    } catch (error) {
      throw translateSqliteError(error, projectId);
    }
  }

  /** @returns the refusal of what could only be read from a sound file */
  refuseDamaged = () => new ServiceError('catalog_damaged', { values: [this.projectId ?? 0] });

  /** @returns the statement, prepared at its first use. */
  prepare(sql: string): StatementSync {
    const known = this.prepared.get(sql);
    if (known !== undefined) return known;
    const made = this.database.prepare(sql);
    // FTS5 leaves its own row ids behind as the last one, beyond 2^53: told as a number, any write after it would fail.
    if (made.columns().length === 0) made.setReadBigInts(true);
    this.prepared.set(sql, made);
    return made;
  }

  private bind<Answer>(
    statement: Sql,
    ask: (prepared: StatementSync, values: SQLInputValue[]) => Answer,
  ): Answer {
    const { text, values } = renderFor('sqlite', statement);
    return ask(this.prepare(text), values as SQLInputValue[]);
  }

  /** Runs a program to its end. */
  perform<Result>(program: Program<Result>): Result {
    return performNow(program, this.session);
  }

  /**
   * Runs a transaction whose work can be done again. A loss of power may take it, with what followed: the next transaction that
   * is synced keeps it, too.
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
   * Runs `work` on one snapshot, so that several statements see the same catalog. Asynchronous work keeps it open, and
   * other users of the file would read an old state, so only threads that run one operation at a time may wait.
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

export interface CatalogFiles {
  /** @throws storage_full, storage_failed, catalog_damaged */
  open(projectId: number): CatalogFile;
  close(projectId: number): void;
  closeAll(): void;
  pathOf(projectId: number): string;
  remove(projectId: number): void;
}

/** Open files per thread: enough for a busy installation, few enough for memory and file handles. */
const OPEN_CATALOGS = 64;

/**
 * The catalog files of one thread; the least recently used one is closed when there are too many.
 * @param how  `keepsLog`: another thread copies the logs, and writes them back then
 */
export function createCatalogFiles(
  folder: string,
  { markMoves = createMarkMoves(), keepsLog = false }: { markMoves?: MarkMoves; keepsLog?: boolean } = {},
): CatalogFiles {
  const marks = new DamageMarks(folder, markMoves);
  const files = new Map<number, CatalogFile>();
  const pathOf = (projectId: number) => join(folder, `${projectId}.db`);
  const control = openControlReader(folder);

  function close(projectId: number): void {
    files.get(projectId)?.database.close();
    files.delete(projectId);
  }

  return {
    pathOf,
    close,
    open(projectId) {
      marks.refuse(projectId);
      if (files.get(projectId)?.isReadOnly) close(projectId);
      const known = files.get(projectId);
      files.delete(projectId);
      const file = known ?? new CatalogFile(pathOf(projectId), control.readFor(projectId), projectId);
      files.set(projectId, file);
      if (known === undefined && keepsLog) file.database.exec(KEEP_LOG);
      const oldest = files.keys().next().value;
      if (files.size > OPEN_CATALOGS && oldest !== undefined) close(oldest);
      return file;
    },
    closeAll() {
      for (const projectId of [...files.keys()]) close(projectId);
      control.close();
    },
    remove(projectId) {
      close(projectId);
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${pathOf(projectId)}${suffix}`, { force: true });
      marks.remove(projectId);
    },
  };
}

/** Reads the control database beside the folder of catalogs, as last committed; opened at the first read. */
function openControlReader(folder: string) {
  const path = dataFolderAt(dirname(folder)).control;
  let database: DatabaseSync | undefined;
  const prepared = new Map<string, StatementSync>();

  function prepare(text: string): StatementSync {
    database ??= new DatabaseSync(path, { readOnly: true });
    const known = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, known);
    return known;
  }

  return {
    readFor: (projectId: number) => (statement: Sql) => {
      // Catalogs can be opened without a service around them.
      if (database === undefined && !existsSync(path)) return [];
      const { text, values } = renderFor('sqlite', statement, projectId);
      return prepare(text).all(...(values as SQLInputValue[]));
    },
    close() {
      database?.close();
      database = undefined;
      prepared.clear();
    },
  };
}
