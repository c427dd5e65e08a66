import { CATALOG_COUNTS, type CatalogCount, sumOf } from './count-store.ts';
import { MinuteCounts, type Mutable } from './minute-counts.ts';

export type ProductCounts = Readonly<Partial<Record<'created' | 'changed' | 'deleted', number>>>;

/** Counting a catalog of a million products takes 50 ms, so each catalog is counted at most once a minute. */
const COUNTED_EVERY_MS = 60_000;

/** Counts changes of catalogs since the last write, and collects the catalogs whose products must be counted again. */
export class CatalogTally {
  private readonly counts = new MinuteCounts<CatalogCount>();
  /** Catalogs whose size may have changed. */
  private readonly toBeCounted = new Set<number>();
  private readonly countedAt = new Map<number, number>();

  addProducts(projectId: number, { created = 0, changed = 0, deleted = 0 }: ProductCounts, now: number) {
    const count = this.countOf(projectId, now);
    count.created += created;
    count.changed += changed;
    count.deleted += deleted;
    this.toBeCounted.add(projectId);
  }

  addTask(projectId: number, hasFailed: boolean, now: number): void {
    const count = this.countOf(projectId, now);
    count.tasks += 1;
    if (hasFailed) count.failedTasks += 1;
  }

  noteSize(projectId: number, products: number, now: number): void {
    this.countOf(projectId, now).products = products;
  }

  /** @param isLast includes catalogs that were counted within the last minute. @returns the catalogs to count now */
  takeToBeCounted(now: number, isLast: boolean): number[] {
    for (const [projectId, lastCountedAt] of this.countedAt)
      if (isLast || now - lastCountedAt >= COUNTED_EVERY_MS) this.countedAt.delete(projectId);
    const due = [...this.toBeCounted].filter((projectId) => !this.countedAt.has(projectId));
    for (const projectId of due) {
      this.toBeCounted.delete(projectId);
      this.countedAt.set(projectId, now);
    }
    return due;
  }

  /** @returns whether catalogs remain to be counted later */
  isWaiting(): boolean {
    return this.toBeCounted.size > 0;
  }

  take = () => this.counts.take();

  private countOf(projectId: number, now: number): Mutable<CatalogCount> {
    return this.counts.of(`${projectId}`, now, (beginsAt) => ({
      projectId,
      at: beginsAt,
      products: null,
      ...sumOf(CATALOG_COUNTS, []),
    }));
  }
}
