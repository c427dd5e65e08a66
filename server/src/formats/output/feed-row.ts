/** What a row of an outgoing file is made of. */

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
/** Kinds that replace the product. */
export const INSTEAD: readonly RelatedAs[] = ['substitute', 'different_brand'];

/** Related products of one kind, best first. */
export interface RelatedProducts {
  readonly as: RelatedAs;
  readonly identifiers: readonly string[];
  /** How many of each go with the product, if a list of links says so. */
  readonly quantities?: ReadonlyMap<string, number>;
  /** Whether these are products that lead to this one. */
  readonly isReversed: boolean;
}

/** A product to be written: a list of values for each column, in their order; an empty list means no value. */
export interface FeedRow {
  readonly values: readonly (readonly string[])[];
  readonly related: readonly RelatedProducts[];
  /** For columns of attributes, the row of each value, for formats with rows. */
  readonly rows?: readonly (readonly (string | number | undefined)[] | undefined)[];
}

/** @returns identifiers of related products of a kind, each once */
export function relatedBy(row: FeedRow, as: RelatedAs): string[] {
  const found = row.related.filter((one) => one.as === as && !one.isReversed);
  return [...new Set(found.flatMap(({ identifiers }) => identifiers))];
}
