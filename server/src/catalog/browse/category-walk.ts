import { type UploadFront, visitCategories } from './product-list.ts';

/**
 * The index of categories: which documents stand under which category. It is made when somebody first asks for a
 * category, and brought up to date when somebody asks again, so that updates pay nothing for it: written with the
 * products it would cost each of them 4 to 8 % (docs/decisions/0016). A document never changes its categories, so
 * walking those that are new is enough; rows of documents that are gone lead nowhere.
 */
export interface CategoryWalk {
  /** Documents up to this one are in the index. DROPPING: the rows of a former walk are being removed. */
  readonly lastDocument: number;
  /** Documents since the walk began. */
  readonly walked: number;
}

/** How far it is, and how far it could be. */
export interface WalkState extends CategoryWalk {
  readonly newestDocument: number;
}

/** What one step did. */
export interface WalkStep {
  readonly isComplete: boolean;
}

export const FIRST_WALK: CategoryWalk = { lastDocument: 0, walked: 0 };
export const DROPPING = -1;

/** Documents a step: about 30 ms, in which an update of the project waits. */
export const WALK_STEP = 2_000;
/** Rows a step, when they are removed. */
export const DROP_STEP = 20_000;

/** Rows of the index that are read for a page, at 3 µs each: many may lead nowhere. */
export const READ_FOR_PAGE = 5_000;

/** By then most walked documents are removed, so the index is rebuilt. @param largestId of all products that ever were */
export const isOvergrown = ({ walked }: CategoryWalk, largestId: number): boolean =>
  walked > 3 * largestId + 100_000;

export const isComplete = ({ lastDocument, newestDocument }: WalkState): boolean =>
  lastDocument >= newestDocument;

/** A document with the JSON of its upload's front. */
export interface WalkedDocument {
  readonly id: number;
  readonly front: string;
}

/** What a step writes. */
export interface CategoryRows {
  /** In the order of the index's key. */
  readonly rows: readonly (readonly [key: number, document: number])[];
  /** Each category once; few are new to the index, and only these are written. */
  readonly paths: ReadonlyMap<number, readonly string[]>;
}

export function deriveCategoryRows(documents: readonly WalkedDocument[]): CategoryRows {
  const rows: [number, number][] = [];
  const paths = new Map<number, readonly string[]>();
  for (const { id, front } of documents) {
    visitCategories(JSON.parse(front) as UploadFront, (key, path) => {
      rows.push([key, id]);
      if (!paths.has(key)) paths.set(key, path);
    });
  }
  rows.sort(([a, one], [b, other]) => a - b || one - other);
  return { rows, paths };
}

/** @returns the walk behind a step of these documents, of at most WALK_STEP */
export const advance = (walk: CategoryWalk, documents: readonly WalkedDocument[]): CategoryWalk => ({
  lastDocument: documents.at(-1)?.id ?? walk.lastDocument,
  walked: walk.walked + documents.length,
});
