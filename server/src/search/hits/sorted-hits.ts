import { type Comparable, compareValues, readComparables } from '../../catalog/filters/filters.ts';
import type { Hit } from './hit-list.ts';
import type { SearchSort } from './search-plan.ts';

interface Ranked {
  readonly id: number;
  readonly document: number;
  readonly value: Comparable | undefined;
}

/** A part of a sorted list, or of groups. */
export interface HitRange {
  readonly offset: number;
  readonly limit: number;
}

/**
 * Hits in the order of an attribute, by the smallest value, or by the largest if descending. Hits without a value
 * come last. Equal hits are sorted by id, as in answers of relations.
 */
export class SortedHits {
  private readonly sort: SearchSort;
  private readonly ranked: Ranked[] = [];

  constructor(sort: SearchSort) {
    this.sort = sort;
  }

  add({ row: { id, present: document }, product }: Hit): void {
    const { attribute, isDescending } = this.sort;
    const values = readComparables(product, attribute).map(({ comparable }) => comparable);
    const value = values.sort(isDescending ? (a, b) => compareValues(b, a) : compareValues)[0];
    this.ranked.push({ id, document, value });
  }

  page({ offset, limit }: HitRange): { readonly documents: readonly number[]; readonly isEnd: boolean } {
    const sign = this.sort.isDescending ? -1 : 1;
    const compare = ({ value: a, id }: Ranked, { value: b, id: other }: Ranked) => {
      if (a === undefined || b === undefined)
        return Number(a === undefined) - Number(b === undefined) || id - other;
      return sign * compareValues(a, b) || id - other;
    };
    const page = this.ranked.sort(compare).slice(offset, offset + limit);
    return { documents: page.map(({ document }) => document), isEnd: offset + limit >= this.ranked.length };
  }
}
