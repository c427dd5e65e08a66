import type { FeedRow, RelatedAs } from './feed-row.ts';
import type { Field } from './fields.ts';

export interface RowWriter {
  readonly head: string;
  write(row: FeedRow): string;
  readonly tail: string;
  /** A row that marks a product as gone, for programs that read changes. */
  remove?(row: FeedRow): string;
  /** @returns the parts of a row that are left out because the format requires more with them, in words */
  listLeftOut?(row: FeedRow): readonly string[];
}

export interface WriterOptions {
  readonly columns: readonly Field[];
  readonly as: readonly RelatedAs[];
  readonly channelName: string;
  /** The day of the build, as 2026-11-25. */
  readonly day: string;
  readonly identifiedBy: string | undefined;
  readonly changes: boolean;
}

/** A suggested source of a field: own fields by `field`, others by searching the attributes. */
export interface SuggestedSource {
  readonly field?: string;
  /** Names of attributes, in lower case without punctuation. */
  readonly attributes?: readonly string[];
}

/** Names that shops give attributes, for fields that several formats share. */
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

/** @returns suggestions for fields by their names, in this order */
export const searched = (...names: (keyof typeof ATTRIBUTES)[]): Record<string, SuggestedSource> =>
  Object.fromEntries(names.map((name) => [name, { attributes: ATTRIBUTES[name] }]));

/** An output format: a record in the list of `output-formats.ts`. */
export interface OutputFormat {
  readonly type: string;
  readonly label: string;
  readonly description: string;
  /** `undefined` if every field name is accepted. */
  readonly fields: readonly Field[] | undefined;
  /** Fields that are required when another one has one of these values. */
  readonly conditions?: readonly FieldCondition[];
  readonly takesOthers?: true;
  /** A field besides `fields`, for a format that accepts those of a standard, with the rows of attributes. */
  fieldNamed?(name: string): Field | undefined;
  /** The field by which related products are identified. */
  readonly identifiedBy?: string;
  /** The content of that field; default the identifier. A group has one row, and related products are named by their group. */
  readonly identity?: 'groupIdentifier';
  /** Why a file always has all products: its readers treat missing ones as gone, or know no mark for that. */
  readonly wholeBecause?: string;
  /** The path below its address where a channel is served; such a channel is never built. */
  readonly servedAs?: string;
  readonly suggestions: Readonly<Record<string, SuggestedSource>>;
  /** Whether every attribute of the ontology is suggested, too. */
  readonly suggestsAttributes?: true;
  /** Rows per file; undefined: all in one. */
  readonly rowsPerFile?: number;
  /** The most related products of a product; undefined: as the channel says. */
  readonly mostRelated?: number;
  /** The form that the identifier of a related product must have. */
  readonly relatedIdentifier?: RegExp;
  /** Kinds for which a product also names those that lead to it. */
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
