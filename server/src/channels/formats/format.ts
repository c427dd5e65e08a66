/** What a format of channels is. To add one is a folder-less file with a record of this kind, and a line in `formats.ts`. */
import type { Field } from './field.ts';

/** What a related product is to the product. Source: Google Merchant Center, `relationship_type`. */
export const RELATED_AS = [
  'accessory',
  'required_part',
  'substitute',
  'often_bought_with',
  'part_of_set',
  'different_brand',
] as const;
export type RelatedAs = (typeof RELATED_AS)[number];

/** Related products of one kind, best first. */
export interface RelatedProducts {
  readonly as: RelatedAs;
  readonly identifiers: readonly string[];
  /** Products that lead to this one instead. */
  readonly isReversed: boolean;
}

/** A product on its way out: one value list for each column, in their order; an empty list is no value. */
export interface FeedRow {
  readonly values: readonly (readonly string[])[];
  readonly related: readonly RelatedProducts[];
}

/** Writes rows as the format has them. Pure. */
export interface RowWriter {
  /** What a file begins with. */
  readonly head: string;
  write(row: FeedRow): string;
  readonly tail: string;
}

export interface WriterOptions {
  readonly columns: readonly Field[];
  /** Kinds of related products that the channel has. */
  readonly as: readonly RelatedAs[];
  readonly channelName: string;
}

/** A suggested source of a field: names of own fields go by `field`, others are looked for among the attributes. */
export interface SuggestedSource {
  readonly field?: string;
  /** Names of attributes, in lower case without signs. */
  readonly attributes?: readonly string[];
}

export interface ChannelFormat {
  readonly type: string;
  readonly label: string;
  readonly description: string;
  /** `undefined` where every field name is taken. */
  readonly fields: readonly Field[] | undefined;
  /** Fields that are required where another one has one of these values. */
  readonly conditions?: readonly FieldCondition[];
  /** The field that related products name a product by. */
  readonly identifiedBy?: string;
  readonly suggestions: Readonly<Record<string, SuggestedSource>>;
  /** Whether every attribute of the ontology is suggested, too. */
  readonly suggestsAttributes: boolean;
  /** Rows of a file; undefined: all in one. */
  readonly rowsPerFile: number | undefined;
  /** Related products of one product; undefined: as many as the channel says. */
  readonly mostRelated: number | undefined;
  /** What an identifier of a related product may be. */
  readonly relatedIdentifier?: RegExp;
  /** Kinds for which the product also names those that lead to it. */
  readonly reversed: ReadonlySet<RelatedAs>;
  readonly variants: Readonly<Record<string, FormatVariant>>;
  readonly defaultVariant: string;
}

export interface FieldCondition {
  readonly field: string;
  readonly values: readonly string[];
  readonly requires: string;
}

export interface FormatVariant {
  /** Of the file's name. */
  readonly ending: string;
  readonly mediaType: string;
  readonly compression: 'gzip' | 'none';
  open(options: WriterOptions): RowWriter;
}

/** A field that every value may stand in. */
export const freeField = (name: string): Field => ({ name, kind: 'text', most: Number.POSITIVE_INFINITY });
