import type { RecordedEvent } from '../events/events.ts';
import type { IdentifierRange, ListedRow, PlacedRow } from './browse/browse.ts';
import type {
  ChangeCounts,
  ChangeOrder,
  CommitResult,
  DeleteLimit,
  Difference,
  KeptCommit,
  OtherLast,
  RestoreOrder,
  RestoreResult,
  StagedBatch,
  Stale,
  UndoOrder,
} from './change.ts';
import type { Attribute, Ontology, OntologyMode, RequestedOntology } from './ontology/ontology.ts';
import type { PackedProducts } from './products/products.ts';
import type { SearchStep, SearchTier } from './search/search.ts';
import type { MeasuredDocument } from './snapshot.ts';

export type {
  ChangeCounts,
  ChangeOrder,
  CommitResult,
  DeleteLimit,
  Difference,
  KeptChange,
  KeptCommit,
  KeptPage,
  KeptPlace,
  OtherLast,
  RestoreEffect,
  RestoreOrder,
  RestoreResult,
  StagedBatch,
  Stale,
  UndoOrder,
} from './change.ts';

/** A product as the catalog keeps it. */
export interface StoredProduct {
  readonly id: number;
  readonly identifier: string;
  readonly updatedAt: number;
  readonly updatedBy: number;
  /** JSON of the upload. */
  readonly raw: string;
}

/** A product with the answer that lookups make of it. */
export interface AnsweredProduct extends StoredProduct {
  /** JSON without id and time. */
  readonly answer: string;
}

/** What stands before and behind answers that are sent together. */
export interface Frame {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

/** A lookup. */
export interface AnswerOrder {
  readonly projectId: number;
  readonly identifiers: readonly string[];
  readonly frame: Frame;
}

/** Serialised products with commas between, in their frame. */
export interface JoinedAnswers {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** The products in it, one by one; of a long answer. */
  readonly products?: readonly Uint8Array[];
  /** Says that the bytes are sent; they may be written over from then on. */
  release(): void;
}

/**
 * Where catalogs are kept. Every method is about one batch, never one row, so that a store across a network can
 * serve it too. Reads see one version of the catalog each.
 */
export interface CatalogStore {
  /**
   * @returns what is served of the products found, in the order asked; each once, unknown ones left out. undefined: so much
   * that it must be made by another thread
   */
  findAnswers(order: AnswerOrder): Promise<JoinedAnswers | undefined>;
  /** The same by another thread, of any length. @throws answer_too_large */
  makeAnswers(order: AnswerOrder, signal: AbortSignal): Promise<JoinedAnswers>;
  findProduct(projectId: number, identifier: string): Promise<AnsweredProduct | undefined>;
  /** @returns those of these products that the catalog holds, in no order */
  measureDocuments(projectId: number, identifiers: readonly string[]): Promise<readonly MeasuredDocument[]>;
  /** @returns products by identifier, after `after`. */
  listProducts(
    projectId: number,
    after: string | undefined,
    limit: number,
  ): Promise<readonly StoredProduct[]>;
  countProducts(projectId: number): Promise<number>;
  /** @returns the version of the catalog as last committed, never a replica's */
  readVersion(projectId: number): Promise<number>;
  /** @returns products by identifier, as many as one page reads */
  listRange(projectId: number, range: ListedRange): Promise<ListedPart>;
  /** Brings the index of search a step forward, or removes from it a part of what leads nowhere. */
  walkSearch(projectId: number): Promise<SearchStep>;
  hasAny(projectId: number, identifiers: readonly string[]): Promise<boolean>;
  /** How many of these, each named once, the catalog holds. */
  countKnown(projectId: number, identifiers: readonly string[]): Promise<number>;

  getOntology(projectId: number): Promise<Ontology>;
  /** @returns the new ontology; `changed` false when nothing differs. @throws changed_meanwhile */
  replaceOntology(
    projectId: number,
    wanted: RequestedOntology,
  ): Promise<{ ontology: Ontology; changed: boolean }>;
  /** Gives names and category paths their ids, the same for ever. */
  reserveIds(
    projectId: number,
    wanted: { names: readonly string[]; paths: readonly string[] },
  ): Promise<ReadonlyMap<string, number>>;

  /** @returns false, with nothing staged, when something else is derived from products by now */
  stageBatch(projectId: number, staged: StagedProducts): Promise<boolean>;
  /** Drops batches of which a product is another by now than was found: they are to be staged anew. */
  dropOutdated(projectId: number, staged: { fullUpdateId: number }): Promise<boolean>;
  reviewBatch(projectId: number, reviewed: BatchReview): Promise<void>;
  /** Stages products as they are now that the batches left out as not valid: the commit leaves them alone. */
  keepSkipped(projectId: number, kept: { fullUpdateId: number }): Promise<void>;
  listStagedBatches(projectId: number, fullUpdateId: number): Promise<readonly StagedBatch[]>;
  /** A part of the reports of all batches, in their order; each may be 20 MB. */
  readStagedReports(
    projectId: number,
    place: ReportPlace & { readonly fullUpdateId: number },
  ): Promise<ReportPart>;
  compareStaged(projectId: number, fullUpdateId: number, withIdentifiers: boolean): Promise<Difference>;
  /** @returns products that a commit would delete, by identifier, with the fronts of their uploads */
  listDeleted(projectId: number, wanted: DeletedPage): Promise<readonly ListedRow[]>;
  commit(projectId: number, order: ChangeOrder & CommitOrder): Promise<CommitResult>;
  applyProducts(projectId: number, change: ChangeOrder & AppliedProducts): Promise<ChangeCounts | Stale>;
  deleteProducts(
    projectId: number,
    change: ChangeOrder & UndoOrder & { identifiers: readonly string[] },
  ): Promise<{ deleted: number; unknown: readonly string[] }>;
  /** @returns the commits and deletes that can be undone, the last one first */
  listKeptCommits(projectId: number): Promise<readonly KeptCommit[]>;
  /** @returns undefined when there is nothing to undo */
  restore(
    projectId: number,
    change: ChangeOrder & RestoreOrder,
  ): Promise<RestoreResult | OtherLast | undefined>;
  followOntology(projectId: number, followed: ChangeOrder & FollowedProducts): Promise<void>;
  /** Removes a bounded part of what nothing points to. @returns whether there is more */
  collectGarbage(
    projectId: number,
    limits: { live: readonly number[] } & Omit<UndoOrder, 'author'>,
  ): Promise<boolean>;
  /** @returns the oldest events that were recorded with changes of the catalog */
  listEvents(projectId: number, limit: number): Promise<readonly RecordedEvent[]>;
  /** Forgets events, by their ids. */
  dropEvents(projectId: number, ids: readonly string[]): Promise<void>;
  removeCatalog(projectId: number): Promise<void>;
  close(): Promise<void>;
}

/** Where a part of the reports of staged batches begins: in the first batch from `batch` on, and there `at` a character. */
export interface ReportPlace {
  readonly batch: number;
  readonly at: number;
}

export interface ReportPart {
  /** Whole lines, some megabytes. */
  readonly lines: string;
  /** undefined: there are no more. */
  readonly next: ReportPlace | undefined;
}

export interface DeletedPage {
  readonly fullUpdateId: number;
  /** The identifier of the last one seen, else empty. */
  readonly after: string;
  readonly limit: number;
}

export interface ListedRange extends IdentifierRange {
  readonly limit: number;
  /** Whether the whole upload is read, or its front. */
  readonly isWhole: boolean;
}

export interface ListedPart {
  readonly rows: readonly ListedRow[];
  /** Whether there are fewer than the limit since their uploads are large. */
  readonly isCut: boolean;
}

export interface CountedTier {
  readonly tier: SearchTier;
  /** Products whose document is beyond this one are found by their former documents. */
  readonly newer: number | undefined;
}

/** Products of a tier behind a document, in the order of the documents that they are found by. */
export interface WantedHits extends CountedTier {
  readonly after: number;
  readonly limit: number;
}

/** A product with the document that it was found by. */
export interface FoundRow extends PlacedRow {
  /** Its document as it is. */
  readonly present: number;
}

export interface HitPart {
  readonly rows: readonly FoundRow[];
  /** Whether there are fewer than the limit since their uploads are large. */
  readonly isCut: boolean;
}

export interface CountedHits {
  readonly count: number;
  /** False: there are so many that documents without a product are counted too. */
  readonly isExact: boolean;
}

/** Which category paths of those that a product ever had, in the order of their texts. */
export interface CategoryRange {
  /** Only those below it; empty: all. */
  readonly under: readonly string[];
  /** Only those behind it; empty: from the first on. */
  readonly after: readonly string[];
  readonly limit: number;
}

export interface ListedCategory {
  /** The same for ever. */
  readonly id: number;
  readonly path: readonly string[];
}

/** Lexemes of categories, of which those are sought that a product has. */
export interface SoughtCategories {
  readonly lexemes: readonly string[];
  /** Products whose document is beyond this one are found by their former documents. */
  readonly newer: number | undefined;
}

export interface StagedProducts {
  readonly fullUpdateId: number;
  readonly batch: number;
  readonly packed: PackedProducts;
  /** By which what was derived from the products is what it is. */
  readonly derivationRevision: number;
  readonly observed: string;
  readonly extractedBy: string;
  readonly report: string;
}

/** Products of an incremental or partial update, by which ontology and derivation they are what they are. */
export interface AppliedProducts {
  readonly packed: PackedProducts;
  readonly revision: number;
  readonly derivationRevision: number;
}

/** What a staged batch is by another ontology than it was staged by. */
export interface BatchReview {
  readonly fullUpdateId: number;
  readonly batch: number;
  readonly extractedBy: string;
  readonly report: string;
  /** Its products that are in the catalog already and gain facts. */
  readonly gaining: readonly number[];
}

export interface CommitOrder extends DeleteLimit, UndoOrder {
  readonly fullUpdateId: number;
  /** How many batches must be staged. */
  readonly batches: number;
  readonly revision: number;
  readonly mode: OntologyMode;
  readonly newAttributes: readonly Attribute[];
}

/** Products that follow another ontology from now on; one that changed meanwhile is left alone. */
export interface FollowedProducts {
  /** Of the ontology. */
  readonly revision: number;
  readonly products: readonly number[];
  readonly documents: readonly number[];
  /** Whether their facts are others. */
  readonly changed: readonly boolean[];
}
