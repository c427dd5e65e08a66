import type { PlacedRow } from '../../catalog/catalog.ts';
import { viewUpload } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { FoundRow, SearchTier } from '../search-port.ts';
import { holdsAll, isInTier, listLexemes } from '../words/words.ts';
import { FACETED } from './facets.ts';
import type { HitPlace, OpenIndex } from './search-index.ts';
import type { SearchPlan } from './search-plan.ts';

/**
 * The hits of a search in the order of their ranks. They are read from the index and, if the index lacks documents,
 * from the catalog.
 */

/**
 * Hits per read. The first read has the hits of the facets and one more, which shows that there are more hits; later
 * reads have many.
 */
const PAGES = [FACETED + 1, 1_000] as const;

/**
 * A hit, and the position after which the search continues. Its upload is parsed on demand, because the front
 * suffices for its item.
 */
export class Hit {
  readonly row: FoundRow;
  readonly position: HitPlace;
  private parsed: UploadedProduct | undefined;

  constructor(row: FoundRow, position: HitPlace) {
    this.row = row;
    this.position = position;
  }

  get product(): UploadedProduct {
    this.parsed ??= JSON.parse(this.row.text) as UploadedProduct;
    return this.parsed;
  }
}

/** The position before all hits. */
export const FIRST: HitPlace = [0, 0];

export interface HitReads {
  readonly missing: number;
  /** Whether the whole uploads are needed, not only their fronts. */
  readonly isWhole: boolean;
}
export const ALL: HitReads = { missing: Number.POSITIVE_INFINITY, isWhole: true };

/**
 * Checks products that a former version found against their present form, and returns each only once, because the
 * index may have several versions.
 */
export class FormerHits {
  private readonly newer: number;
  private readonly returnedIds = new Set<number>();

  constructor(newer = Number.POSITIVE_INFINITY) {
    this.newer = newer;
  }

  stillHolds({ all }: SearchTier, hit: Hit): boolean {
    const { id, present } = hit.row;
    if (present <= this.newer) return true;
    if (this.returnedIds.has(id) || !holdsAll(all, listLexemes(hit.product))) return false;
    this.returnedIds.add(id);
    return true;
  }
}

export class HitList {
  readonly index: OpenIndex;
  readonly plan: SearchPlan;

  constructor(index: OpenIndex, plan: SearchPlan) {
    this.index = index;
    this.plan = plan;
  }

  /** Whether some hits are missing from the index, or are in it in a former version. */
  get isBeyondIndex(): boolean {
    return this.index.newer !== undefined || !this.index.isMade;
  }

  /** Lists hits after a position: the best tier first, and in each tier the product that was uploaded longest ago. */
  async *listFrom(
    [first, document]: HitPlace,
    next: () => HitReads,
    former = new FormerHits(this.index.newer),
  ): AsyncGenerator<Hit, void> {
    const tiers = [...this.plan.tiers.ranked.entries()].slice(first);
    for (const [index, tier] of tiers)
      for await (const row of this.listTier(tier, index === first ? document : 0, next)) {
        const hit = new Hit(row, [index, row.document]);
        if (former.stillHolds(tier, hit)) yield hit;
      }
  }

  /** Whether a hit satisfies the conditions that the index cannot check. */
  holds(hit: Hit): boolean {
    return this.plan.test?.(viewUpload(hit.product)) ?? true;
  }

  /** @returns the same reads, or as many as possible if each hit must be checked */
  readsOf({ missing, isWhole }: HitReads): HitReads {
    const isLookedAt = this.plan.test !== undefined || this.index.newer !== undefined;
    return isLookedAt ? ALL : { missing: Math.max(missing, 1), isWhole };
  }

  /**
   * @returns rows by their documents: the rows that `read` returns, or without an index the rows of the scanned part
   */
  async placeRows(read: () => Promise<readonly PlacedRow[]>): Promise<ReadonlyMap<number, PlacedRow>> {
    const { tail, isMade } = this.index;
    const rows = isMade ? await read() : tail.map(({ row }) => row);
    return new Map(rows.map((row) => [row.document, row]));
  }

  timeUsedUp(): ServiceError {
    return new ServiceError('search_too_long', { values: [this.index.limits.longestMs / 1_000] });
  }

  private async *listTier(tier: SearchTier, behind: number, next: () => HitReads) {
    const { snapshot, newer, isMade } = this.index;
    let after = behind;
    for (let most: number = PAGES[0], isMore = isMade; isMore; most = PAGES[1]) {
      const { missing, isWhole } = next();
      const limit = Math.min(most, missing);
      const { rows, isCut } = await snapshot.listHits({ tier, after, limit, newer, isWhole });
      yield* rows;
      isMore = rows.length === limit || isCut;
      after = rows.at(-1)?.document ?? after;
    }
    for (const { row, lexemes } of this.index.tail) {
      if (row.document > behind && isInTier(tier, lexemes)) yield row;
    }
  }
}
