import type { Budget } from '../../storage/threads/threads.ts';
import type { RelationView, SearchedRelation, StoredUpload } from '../matching/matching.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';

/** One state of a catalog for work that takes long. */
export interface SurveyedCatalog {
  /**
   * Runs the work on a view, and repeats it after a fetch if parts were missing. `searches` are the searches
   * that the work begins with.
   * @throws search_too_long if the work exceeds `limit`; further work may still run
   */
  read<Result>(
    work: (view: RelationView) => Result,
    searches?: readonly { readonly relation: SearchedRelation; readonly limit: number }[],
    limit?: Budget,
  ): Promise<Result>;
  countMembers(build: number, side: Side): Promise<number>;
  /** @returns by id, the products for which only the first combinations of values count */
  listCut(build: number): Promise<readonly string[]>;
  /** @returns the identifier of every `every`th product on the side, by id */
  sampleMembers(build: number, side: Side, every: number): Promise<readonly string[]>;
}

/** One state of a catalog on which an unstored rule is tried. */
export interface TriedCatalog {
  readonly version: number;
  /**
   * @returns products by id, after `after`. A page is shorter than `limit` if its uploads are large, and
   * empty at the end.
   */
  listUploads(after: number, limit: number): Promise<readonly PresentUpload[]>;
  /**
   * @param identifiers at most `UPLOADS_AT_ONCE` if a caller chose them, because an upload has up to 2 MB
   * @returns the existing products, in no particular order
   */
  findUploads(identifiers: readonly string[]): Promise<readonly PresentUpload[]>;
}

/** The upload of a present product, with its document. */
export interface PresentUpload extends StoredUpload {
  readonly document: number;
  /** The time of the last change of its data or facts. */
  readonly updatedAt: number;
}

/** The build number of an unstored rule. */
export const TRIED_BUILD = 0;

/** The time limits of a survey. */
export interface SurveyTime {
  /** The limit of the caller. */
  readonly limit: Budget;
  /** The time for searching, in milliseconds. */
  readonly searchMs: number;
  /** Set if the survey adds cards, which describe products. */
  readonly cards?: CardWords | undefined;
}

/** The locale of the sentences on cards. */
export interface CardWords {
  readonly locale: string;
}

/**
 * The time for reading, in multiples of the time for searching. A catalog that takes longer has no preview,
 * because its first products are not a sample of it.
 */
const READING_TIMES = 6;

export const readingLimit = ({ limit, searchMs }: SurveyTime): Budget =>
  limit.within(searchMs * READING_TIMES);
