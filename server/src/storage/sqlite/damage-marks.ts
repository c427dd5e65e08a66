import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../../kernel/errors.ts';
import { writeOwnFile } from '../durable-folders.ts';

/** Counts the marks that came and went, for all threads. */
export type MarkMoves = Int32Array<SharedArrayBuffer>;

export const createMarkMoves = (): MarkMoves => new Int32Array(new SharedArrayBuffer(4));

const MARK = /^(\d+)\.damaged$/;

/** @returns the projects whose catalogs are marked; a damaged file that a restore moved aside, `7.db.damaged`, is no mark */
export const listMarked = (folder: string): number[] =>
  (existsSync(folder) ? readdirSync(folder) : []).flatMap(
    (name) => MARK.exec(name)?.slice(1).map(Number) ?? [],
  );

/**
 * The catalogs that are not served because their file is damaged, or may be. A mark is a file beside the catalog, so it outlives
 * the process; while no mark moves, a question costs one read of shared memory.
 */
export class DamageMarks {
  private readonly folder: string;
  private readonly moves: MarkMoves;
  private readonly known = new Map<number, boolean>();
  /** Also where the disk takes no mark. */
  private readonly own = new Set<number>();
  private seen = 0;

  constructor(folder: string, moves: MarkMoves) {
    this.folder = folder;
    this.moves = moves;
  }

  /** @throws catalog_damaged */
  refuse(projectId: number): void {
    if (this.has(projectId)) throw new ServiceError('catalog_damaged', { values: [projectId] });
  }

  has(projectId: number): boolean {
    const moves = Atomics.load(this.moves, 0);
    if (moves !== this.seen) this.known.clear();
    this.seen = moves;
    const known =
      this.known.get(projectId) ?? (this.own.has(projectId) || existsSync(this.pathOf(projectId)));
    this.known.set(projectId, known);
    return known;
  }

  /** @param why for who looks into the folder. @throws Error when it cannot be written; on this thread it holds all the same */
  add(projectId: number, why: string): void {
    this.own.add(projectId);
    this.known.clear();
    try {
      writeOwnFile(this.pathOf(projectId), `${why}\n`, 'w');
    } finally {
      Atomics.add(this.moves, 0, 1);
    }
  }

  remove(projectId: number): void {
    this.own.delete(projectId);
    rmSync(this.pathOf(projectId), { force: true });
    Atomics.add(this.moves, 0, 1);
  }

  list(): number[] {
    return [...new Set([...this.own, ...listMarked(this.folder)])].sort((a, b) => a - b);
  }

  private pathOf(projectId: number): string {
    return join(this.folder, `${projectId}.damaged`);
  }
}
