import type { FeedRow, RelatedAs } from './feed-row.ts';
import type { Field } from './fields.ts';

export interface RowWriter {
  readonly head: string;
  write(row: FeedRow): string;
  readonly tail: string;
  /** Writes a row that marks a product as removed, for programs that read changes. */
  remove?(row: FeedRow): string;
  /** @returns in words the parts of a row that are left out because the format requires other values with them */
  listLeftOut?(row: FeedRow): readonly string[];
}

export interface WriterOptions {
  readonly columns: readonly Field[];
  readonly as: readonly RelatedAs[];
  readonly channelName: string;
  /** The day of the build, such as 2026-11-25. */
  readonly day: string;
  readonly identifiedBy: string | undefined;
  readonly changes: boolean;
}

/** A suggested source of a field: an own field by `field`, or attributes to search for. */
export interface SuggestedSource {
  readonly field?: string;
  /** Names of attributes, in lower case without punctuation. */
  readonly attributes?: readonly string[];
}

/** Attribute names that shops use, for fields that several formats share. */
const ATTRIBUTES = {
  description: ['beschreibung', 'longdescription', 'produktbeschreibung'],
  availability: ['verfugbarkeit', 'stockstatus'],
  brand: ['marke', 'manufacturer', 'hersteller'],
  gtin: ['ean', 'upc', 'barcode', 'gtin13'],
  mpn: ['manufacturerpartnumber', 'herstellernummer', 'herstellerartikelnummer'],
  condition: ['zustand'],
  color: ['colour', 'farbe'],
  size: ['grosse', 'groesse'],
  material: [],
} satisfies Record<string, readonly string[]>;

/** @returns suggestions for the fields with these names, in this order */
export const searched = (...names: (keyof typeof ATTRIBUTES)[]): Record<string, SuggestedSource> =>
  Object.fromEntries(names.map((name) => [name, { attributes: ATTRIBUTES[name] }]));

/** An output format: a record in the list of `output-formats.ts`. */
export interface OutputFormat {
  readonly type: string;
  readonly label: string;
  readonly description: string;
  /** `undefined` if the format accepts every field name. */
  readonly fields: readonly Field[] | undefined;
  /** Fields that are required when another field has one of these values. */
  readonly conditions?: readonly FieldCondition[];
  readonly takesOthers?: true;
  /**
   * Finds a field besides `fields`, for a format that accepts the fields of a standard, with the rows of attributes.
   */
  fieldNamed?(name: string): Field | undefined;
  /** The field that identifies related products. */
  readonly identifiedBy?: string;
  /**
   * The content of that field; by default the identifier. With a group, the file has one row per group, and related
   * products are named by their group.
   */
  readonly identity?: 'groupIdentifier';
  /**
   * Why a file always contains all products: its readers treat missing products as removed, or the format has no mark
   * for removal.
   */
  readonly wholeBecause?: string;
  /** The path of a served channel below its address. Such a channel is never built. */
  readonly servedAs?: string;
  readonly suggestions: Readonly<Record<string, SuggestedSource>>;
  /** Whether every attribute of the ontology is suggested too. */
  readonly suggestsAttributes?: true;
  /** Rows per file; undefined: one file for all rows. */
  readonly rowsPerFile?: number;
  /** The maximum number of related products of a product; undefined: the setting of the channel applies. */
  readonly mostRelated?: number;
  /** The form that the identifier of a related product must have. */
  readonly relatedIdentifier?: RegExp;
  /** Kinds for which a product also names the products that lead to it. */
  readonly reversed?: ReadonlySet<RelatedAs>;
  readonly variants: Readonly<Record<string, FormatVariant>>;
  readonly defaultVariant: string;
}

export interface FieldCondition {
  readonly field: string;
  readonly values: readonly string[];
  readonly requires: string;
}

export interface FormatVariant {
  readonly ending: string;
  readonly mediaType: string;
  /** Default: none. */
  readonly compression?: 'gzip';
  open(options: WriterOptions): RowWriter;
}
