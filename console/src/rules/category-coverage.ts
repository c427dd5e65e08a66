import type { AttributeCoverage } from '@relata/client';

/** An attribute that products of a category have, and how many. */
export interface CoveredAttribute {
  readonly name: string;
  /** 1: all of them have a fact of it. */
  readonly share: number;
  readonly lacking: number;
}

/** @returns what at least one of the products has a value of, the worst covered first; others do not belong to them */
export const listWorstFirst = (
  attributes: readonly Pick<AttributeCoverage, 'name' | 'withFact' | 'withValue'>[],
  products: number,
): readonly CoveredAttribute[] =>
  attributes
    .filter(({ withValue }) => withValue > 0)
    .map(({ name, withFact }) => ({ name, share: withFact / products, lacking: products - withFact }))
    .sort((a, b) => a.share - b.share || (a.name < b.name ? -1 : 1));
