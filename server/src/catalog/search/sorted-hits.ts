import { type Comparable, compareValues, readComparables } from '../filters/filters.ts';
import type { SearchSort } from './search-plan.ts';
import type { Hit } from './search-run.ts';

interface Ranked {
  readonly id: number;
  readonly document: number;
  readonly value: Comparable | undefined;
}

/**
 * Hits in the order of an attribute: by the smallest value, descending by the largest; those without one come last, ties by
 * id, as in the answers of relations.
 */
export class SortedHits {
  private readonly sort: SearchSort;
  private readonly ranked: Ranked[] = [];

  constructor(sort: SearchSort) {
    this.sort = sort;
  }

  add({ row: { id, document }, product }: Hit): void {
    const { attribute, isDescending } = this.sort;
    const values = readComparables(product, attribute).map(({ comparable }) => comparable);
    const value = values.sort(isDescending ? (a, b) => compareValues(b, a) : compareValues)[0];
    this.ranked.push({ id, document, value });
  }

  /** @returns the documents of a page in order */
  page(from: number, limit: number): { readonly documents: readonly number[]; readonly isEnd: boolean } {
    const sign = this.sort.isDescending ? -1 : 1;
    const compare = ({ value: a, id }: Ranked, { value: b, id: other }: Ranked) => {
      if (a === undefined || b === undefined)
        return Number(a === undefined) - Number(b === undefined) || id - other;
      return sign * compareValues(a, b) || id - other;
    };
    const page = this.ranked.sort(compare).slice(from, from + limit);
    return { documents: page.map(({ document }) => document), isEnd: from + limit >= this.ranked.length };
  }
}
