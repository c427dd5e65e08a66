/** The parts of a row of an outgoing file. */

/** How a related product relates to the product. Source: Google Merchant Center, `relationship_type`. */
export const RELATED_AS = [
  'accessory',
  'required_part',
  'substitute',
  'often_bought_with',
  'part_of_set',
  'different_brand',
] as const;
export type RelatedAs = (typeof RELATED_AS)[number];
/** Kinds of related products that replace the product. */
export const INSTEAD: readonly RelatedAs[] = ['substitute', 'different_brand'];

/** Related products of one kind, best first. */
export interface RelatedProducts {
  readonly as: RelatedAs;
  readonly identifiers: readonly string[];
  /** The quantity of each that goes with the product, if a list of links states it. */
  readonly quantities?: ReadonlyMap<string, number>;
  /** Whether these are products that lead to this product. */
  readonly isReversed: boolean;
}

/**
 * A product to be written: a list of values for each column, in the order of the columns. An empty list means no value.
 */
export interface FeedRow {
  readonly values: readonly (readonly string[])[];
  readonly related: readonly RelatedProducts[];
  /** For columns of attributes: the row of each value, for formats that have rows. */
  readonly rows?: readonly (readonly (string | number | undefined)[] | undefined)[];
}

/** @returns the identifiers of related products of a kind, each once */
export function relatedBy(row: FeedRow, as: RelatedAs): string[] {
  const forward = row.related.filter((products) => products.as === as && !products.isReversed);
  return [...new Set(forward.flatMap(({ identifiers }) => identifiers))];
}
