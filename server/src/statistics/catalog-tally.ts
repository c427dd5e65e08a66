import type { CatalogCount } from './catalog-count-store.ts';

/** Products that a task created, changed and deleted. */
export interface ProductCounts {
  readonly created?: number;
  readonly changed?: number;
  readonly deleted?: number;
}

const MINUTE_MS = 60_000;
/** A catalog of a million products takes 50 ms to count: once a minute is often enough. */
const COUNTED_EVERY_MS = MINUTE_MS;

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

/** Counts in memory what happens to catalogs. */
export class CatalogTally {
  private counts = new Map<string, Mutable<CatalogCount>>();
  /** Catalogs whose size may have changed. */
  private readonly toBeCounted = new Set<number>();
  private readonly countedAt = new Map<number, number>();

  addProducts(
    projectId: number,
    { created = 0, changed = 0, deleted = 0 }: ProductCounts,
    now: number,
  ): void {
    const count = this.at(projectId, now);
    count.created += created;
    count.changed += changed;
    count.deleted += deleted;
    this.toBeCounted.add(projectId);
  }

  addTask(projectId: number, hasFailed: boolean, now: number): void {
    const count = this.at(projectId, now);
    count.tasks += 1;
    if (hasFailed) count.failedTasks += 1;
  }

  noteSize(projectId: number, products: number, now: number): void {
    this.at(projectId, now).products = products;
  }

  /** @returns catalogs to be counted now; those that were a moment ago wait. @param isLast nothing may wait */
  takeToBeCounted(now: number, isLast: boolean): number[] {
    for (const [projectId, at] of this.countedAt)
      if (isLast || now - at >= COUNTED_EVERY_MS) this.countedAt.delete(projectId);
    const due = [...this.toBeCounted].filter((projectId) => !this.countedAt.has(projectId));
    for (const projectId of due) {
      this.toBeCounted.delete(projectId);
      this.countedAt.set(projectId, now);
    }
    return due;
  }

  /** Whether there are catalogs that are to be counted later. */
  isWaiting(): boolean {
    return this.toBeCounted.size > 0;
  }

  take(): CatalogCount[] {
    const taken = [...this.counts.values()];
    this.counts = new Map();
    return taken;
  }

  private at(projectId: number, now: number): Mutable<CatalogCount> {
    const at = now - (now % MINUTE_MS);
    const place = `${projectId} ${at}`;
    const known = this.counts.get(place);
    if (known !== undefined) return known;
    const nothing = { products: null, created: 0, changed: 0, deleted: 0, tasks: 0, failedTasks: 0 };
    const added: Mutable<CatalogCount> = { projectId, at, ...nothing };
    this.counts.set(place, added);
    return added;
  }
}
