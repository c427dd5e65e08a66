import type { PlacedRow } from '../catalog/catalog.ts';

/** What the store of the index takes and returns; the rest of search knows it by these types alone. */

/** The progress of the index of search. */
export interface SearchState {
  /** Documents up to this one are in the index. */
  readonly lastDocument: number;
  readonly newestDocument: number;
  /** The catalog version when it was last complete; documents of open full updates come without a version. */
  readonly version: number;
  readonly presentVersion: number;
  /** The documents in the index. */
  readonly documents: number;
}

/** A document with its product, and the number of the product's group. */
export type IndexedDocument = readonly [document: number, product: number, group: number];

/** Documents with their lexemes. */
export interface PreparedWalk {
  /** The document before them. */
  readonly after: number;
  readonly last: number;
  /** Whether these were all there were. */
  readonly isLast: boolean;
  /** An `IndexedDocument` each, as JSON: one text passes the serving thread in a thousandth of the time of 2,000. */
  readonly placed: string;
  /** A line for each, UTF-8 as one character per byte. */
  readonly lexemes: string;
  /** Words consisting only of letters. */
  readonly words: readonly string[];
}

export interface SearchStep {
  readonly lastDocument: number;
  /** Whether nothing that readers can see is missing. */
  readonly isComplete: boolean;
  readonly isTidy: boolean;
}

/** At least one lexeme of each group must match; one that ends with `*` matches all that begin so. */
export type LexemeGroups = readonly (readonly string[])[];

/** Products with the same rank: those that match `all`, but no better tier. */
export interface SearchTier {
  readonly all: LexemeGroups;
  readonly except: readonly LexemeGroups[];
  /** What the index is asked for in place of a lexeme that ends with `*`. */
  readonly begun?: ReadonlyMap<string, readonly string[]> | undefined;
}

export interface CountedTier {
  readonly tier: SearchTier;
  /** Products whose document is after this one are found by their former documents. */
  readonly newer: number | undefined;
}

/** Products of a tier after a document, in the order of the documents by which they are found. */
export interface RequestedHits extends CountedTier {
  readonly after: number;
  readonly limit: number;
}

export interface RequestedUploads extends RequestedHits {
  /** Whether to read the whole uploads, or their fronts. */
  readonly isWhole: boolean;
}

/** A product with the document by which it was found. */
export interface FoundRow extends PlacedRow {
  /** Its present document. */
  readonly present: number;
}

/** A hit: the document by which it was found, and the number of its group. */
export type HitGroup = Readonly<Record<'document' | 'group', number>>;

/** Words that begin with a letter, by their length; in the order of their text. */
export interface SoughtWords {
  readonly first: string;
  /** Words after this one. */
  readonly after: string;
  readonly shortest: number;
  readonly longest: number;
  /** One of these must match, as by `like`. */
  readonly patterns: readonly string[];
}

/** The words found among the next ones of the index. */
export interface WordPart {
  readonly words: readonly string[];
  /** Where the next part continues; undefined: this is the last one. */
  readonly last: string | undefined;
}

/** Lexemes of categories, to find those that a product has. */
export interface SoughtCategories {
  readonly lexemes: readonly string[];
  /** Products whose document is after this one are found by their former documents. */
  readonly newer: number | undefined;
}
