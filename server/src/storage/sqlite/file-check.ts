import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '../../kernel/errors.ts';
import { writeOwnFile } from '../folder/folder.ts';
import { isBusy, isDamaged } from '../sqlite-errors.ts';

export interface FileCheck {
  /** Messages of SQLite, at most ten; empty if it found no damage. */
  readonly problems: readonly string[];
  /** Whether the whole file was read within the time limit. */
  readonly isComplete: boolean;
}

/** The first problems suffice, because a badly damaged file has thousands. */
const MOST_PROBLEMS = 10;
const BUSY_TIMEOUT_MS = 10_000;

/**
 * Reads a database file with SQLite's `quick_check`, which checks pages, rows and the order of keys, but not whether
 * indexes agree with their tables. The file is opened read-only, and other connections may write to it meanwhile. A
 * call reads the whole file on the calling thread, and SQLite cannot stop it, so use it in a thread or a command.
 * @param limitMs with a limit, tables are checked one after another until it is reached (0: no table), and problems of
 * pages that belong to two tables or to none are not found; without one, the file is checked as a whole
 * @throws Error when the file is locked for ten seconds
 */
export function checkSqliteFile(path: string, limitMs?: number): FileCheck {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return { problems: ['it is missing'], isComplete: true };
  // SQLite would accept an empty file as a database without tables.
  if (size === 0) return { problems: ['it is empty'], isComplete: true };
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    return limitMs === undefined
      ? { problems: findProblems(database, `quick_check(${MOST_PROBLEMS})`), isComplete: true }
      : checkTables(database, performance.now() + limitMs);
  } catch (error) {
    if (isBusy(error) || (error as { errcode?: number }).errcode === undefined) throw error;
    return { problems: [(error as Error).message], isComplete: true };
  }
}

function checkTables(database: DatabaseSync, until: number): FileCheck {
  const tables = database.prepare("select name from sqlite_schema where type = 'table'").all();
  for (const { name } of tables) {
    if (performance.now() >= until) return { problems: [], isComplete: false };
    const problems = findProblems(database, `quick_check("${String(name).replaceAll('"', '""')}")`);
    if (problems.length > 0) return { problems: problems.slice(0, MOST_PROBLEMS), isComplete: false };
  }
  return { problems: [], isComplete: true };
}

function findProblems(database: DatabaseSync, check: string): string[] {
  const rows = database.prepare(`pragma ${check}`).all();
  return rows.flatMap((row) => Object.values(row).map(String)).filter((line) => line !== 'ok');
}

/**
 * Reads a catalog file with SQLite's `integrity_check`, which also compares each index with its table: no other check
 * finds damage within a key, which makes an existing row look absent. For 100,000 products (140 MiB) it takes 0.14 s of
 * processor time, and `quick_check` 0.12 s.
 * @param strays a query for rows that an undamaged catalog never has
 * @returns SQLite's messages; empty if it found no damage
 * @throws Error when the file cannot be read now, because the disk fails or another process holds it
 */
export function findDamage(path: string, strays: string): string[] {
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    const problems = findProblems(database, `integrity_check(${MOST_PROBLEMS})`);
    const strayed = database.prepare(strays).all();
    return [...problems, ...strayed.map((row) => JSON.stringify(row))];
  } catch (error) {
    if (isDamaged(error)) return [(error as Error).message];
    throw error;
  }
}

/** Counts how often marks were added or removed, in memory that all threads share. */
export type MarkMoves = Int32Array<SharedArrayBuffer>;

export const createMarkMoves = (): MarkMoves => new Int32Array(new SharedArrayBuffer(4));

const MARK = /^(\d+)\.damaged$/;

/**
 * @returns the projects whose catalogs are marked. A damaged file that a restore moved aside, such as `7.db.damaged`,
 * does not count.
 */
export const listMarked = (folder: string): number[] =>
  (existsSync(folder) ? readdirSync(folder) : []).flatMap(
    (name) => MARK.exec(name)?.slice(1).map(Number) ?? [],
  );

/**
 * Marks of catalogs that are not served because their file is damaged, or may be. A mark is a file beside the catalog,
 * so it outlives the process. As long as no mark changes, a check costs one read of shared memory.
 */
export function openDamageMarks(folder: string, moves: MarkMoves) {
  const isMarkedById = new Map<number, boolean>();
  /** Marks of this thread. They count even if the disk could not store them. */
  const own = new Set<number>();
  let lastMoves = 0;
  const pathOf = (projectId: number) => join(folder, `${projectId}.damaged`);

  function has(projectId: number): boolean {
    const present = Atomics.load(moves, 0);
    if (present !== lastMoves) isMarkedById.clear();
    lastMoves = present;
    return isMarkedById.getOrInsertComputed(
      projectId,
      () => own.has(projectId) || existsSync(pathOf(projectId)),
    );
  }

  return {
    has,
    /** @throws catalog_damaged */
    refuse(projectId: number): void {
      if (has(projectId)) throw new ServiceError('catalog_damaged', { values: [projectId] });
    },
    /**
     * @param why a text for people who look into the folder
     * @throws Error when the mark cannot be written; this thread respects it anyway
     */
    add(projectId: number, why: string): void {
      own.add(projectId);
      isMarkedById.clear();
      try {
        writeOwnFile(pathOf(projectId), `${why}\n`, 'w');
      } finally {
        Atomics.add(moves, 0, 1);
      }
    },
    remove(projectId: number): void {
      own.delete(projectId);
      rmSync(pathOf(projectId), { force: true });
      Atomics.add(moves, 0, 1);
    },
    list: () => [...new Set([...own, ...listMarked(folder)])].sort((a, b) => a - b),
  };
}
