import type { Budget } from '../../storage/threads/threads.ts';
import type { RelationView, SearchedRelation, StoredUpload } from '../matching/matching.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';

/** One state of a catalog, for work that takes long. */
export interface SurveyedCatalog {
  /**
   * Does the work on a view, repeatedly if the view lacked something. `searches`: what it will do first.
   * @throws search_too_long if it exceeds `limit`; the next work may continue
   */
  read<Result>(
    work: (view: RelationView) => Result,
    searches?: readonly { readonly relation: SearchedRelation; readonly limit: number }[],
    limit?: Budget,
  ): Promise<Result>;
  countMembers(build: number, side: Side): Promise<number>;
  /** @returns the products of which only the first combinations of values count, by id */
  listCut(build: number): Promise<readonly string[]>;
  /** @returns identifiers of a side, one in `every`, by id */
  sampleMembers(build: number, side: Side, every: number): Promise<readonly string[]>;
}

/** One state of a catalog, on which an unstored rule is tried. */
export interface TriedCatalog {
  readonly version: number;
  /** @returns products by id, after `after`; fewer than `limit` where their uploads are large, and none at the end */
  listUploads(after: number, limit: number): Promise<readonly PresentUpload[]>;
  /** @param identifiers `UPLOADS_AT_ONCE` of them where any product may be meant @returns the existing ones, in no order */
  findUploads(identifiers: readonly string[]): Promise<readonly PresentUpload[]>;
}

/** A present product's document. */
export interface PresentUpload extends StoredUpload {
  readonly document: number;
  /** When its data or facts last changed. */
  readonly updatedAt: number;
}

/** The build number of an unstored rule. */
export const TRIED_BUILD = 0;

/** Time limits of a survey. */
export interface SurveyTime {
  /** The caller's limit. */
  readonly limit: Budget;
  /** The time for searching. */
  readonly searchMs: number;
  /** Set if products are described too. */
  readonly cards?: CardWords | undefined;
}

/** The locale of the sentences on cards. */
export interface CardWords {
  readonly locale: string;
}

/** The whole catalog is read in time, or there is no preview: its first products are not a sample of it. */
const READING_TIMES = 6;

export const readingLimit = ({ limit, searchMs }: SurveyTime): Budget =>
  limit.within(searchMs * READING_TIMES);
