import type { PlacedRow } from '../catalog/catalog.ts';

/** The input and output of the store of the index. The other parts of search use only these types. */

/** The progress of the index of search. */
export interface SearchState {
  /** Documents up to this one are in the index. */
  readonly lastDocument: number;
  readonly newestDocument: number;
  /**
   * The catalog version when the index was last complete. Documents of open full updates are added without a new
   * version.
   */
  readonly version: number;
  readonly presentVersion: number;
  /** The number of documents in the index. */
  readonly documents: number;
}

/** A document with its product and the number of its group. */
export type IndexedDocument = readonly [document: number, product: number, group: number];

/** Documents with their lexemes. */
export interface PreparedWalk {
  /** The document before these documents. */
  readonly after: number;
  readonly last: number;
  /** Whether no further documents followed. */
  readonly isLast: boolean;
  /**
   * An `IndexedDocument` for each, as JSON: one text passes the serving thread in a thousandth of the time of 2,000.
   */
  readonly placed: string;
  /** A line for each document: UTF-8, with one character per byte. */
  readonly lexemes: string;
  /** The words of letters only. */
  readonly words: readonly string[];
}

export interface SearchStep {
  readonly lastDocument: number;
  /** Whether the index has everything that readers can see. */
  readonly isComplete: boolean;
  readonly isTidy: boolean;
}

/** At least one lexeme of each group must match. A lexeme that ends with `*` matches all lexemes with this prefix. */
export type LexemeGroups = readonly (readonly string[])[];

/** Products with the same rank: they match `all`, but no better tier. */
export interface SearchTier {
  readonly all: LexemeGroups;
  readonly except: readonly LexemeGroups[];
  /** The lexemes that replace a lexeme that ends with `*` in a query. */
  readonly begun?: ReadonlyMap<string, readonly string[]> | undefined;
}

export interface CountedTier {
  readonly tier: SearchTier;
  /** For documents after this one, the former documents of their products are found. */
  readonly newer: number | undefined;
}

/** Products of a tier after a document, in the order of the documents that the index has. */
export interface RequestedHits extends CountedTier {
  readonly after: number;
  readonly limit: number;
}

export interface RequestedUploads extends RequestedHits {
  /** Whether to read the whole uploads, or their fronts. */
  readonly isWhole: boolean;
}

/** A product with the document that the index found. */
export interface FoundRow extends PlacedRow {
  /** Its present document. */
  readonly present: number;
}

/** A hit: the document that the index found, and the number of its group. */
export type HitGroup = Readonly<Record<'document' | 'group', number>>;

/** Words with the same first letter and similar length, in the order of their text. */
export interface SoughtWords {
  readonly first: string;
  /** Lists only words after this one. */
  readonly after: string;
  readonly shortest: number;
  readonly longest: number;
  /** A word must match one of these patterns of `like`. */
  readonly patterns: readonly string[];
}

/** The words that match, out of the next words of the index. */
export interface WordPart {
  readonly words: readonly string[];
  /** The word after which the next part continues; undefined: this is the last part. */
  readonly last: string | undefined;
}

/** Lexemes of categories. The answer has the lexemes that belong to a product. */
export interface SoughtCategories {
  readonly lexemes: readonly string[];
  /** For documents after this one, the former documents of their products are found. */
  readonly newer: number | undefined;
}
