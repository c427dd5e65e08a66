import type { Static } from 'typebox';
import type { RecordedEvent } from '../events/events.ts';
import type { Sent } from '../http/server/server.ts';
import type { Calls, Program } from '../storage/programs/programs.ts';
import type { Budget } from '../storage/threads/threads.ts';
import type { Commit, RestoreEffect as RestoreEffectSchema } from './commit-schemas.ts';
import type { Derive } from './derivation.ts';
import type { RequestedOntology } from './ontology/changes/changes.ts';
import type { Attribute, Ontology, OntologyMode } from './ontology/ontology.ts';
import type { PackedProducts } from './products/documents/documents.ts';

/** Reads of a store for callers. Each read uses one version of the catalog. */
export interface CatalogReads {
  /** @returns the last committed version of the catalog, never the version of a replica */
  readVersion(): number;
  countProducts(): number;
  /** @returns one page of products, in the order of their identifiers */
  listRange(range: ListedRange): ListedPart;
  /** @returns the products of the list that are in the catalog, in no particular order */
  measureDocuments(identifiers: readonly string[]): readonly MeasuredDocument[];
  hasAny(identifiers: readonly string[]): boolean;
  getOntology(): Ontology;
  /** @returns only the numbers of the batches, in order, because the notes of one batch may have megabytes */
  listStagedBatches(fullUpdateId: number): readonly Pick<StagedBatch, 'batch'>[];
  findStagedBatch(key: BatchKey): StagedBatch | undefined;
  /** @returns the commits and deletes that can be undone, latest first */
  listUndoableCommits(): readonly UndoableCommit[];
  /** @returns the oldest events recorded with changes of the catalog */
  listEvents(limit: number): readonly RecordedEvent[];
}

/** Reads of several statements on one state of the catalog. */
export interface CatalogStateReads {
  findProduct(identifier: string): FoundProduct | undefined;
}

/** Reads that compare whole catalogs; the embedded store has a thread for them. */
export interface CatalogComparisons {
  /** Counts what a commit would change; on request, adds the first identifiers of each kind. */
  compareStaged(update: ComparedUpdate): Difference;
  /**
   * @returns products that a commit would delete, in the order of their identifiers, with the fronts of their uploads
   */
  listDeleted(page: DeletedPage): readonly ListedRow[];
}

/**
 * Changes that are durable when their promise resolves. A change with a `ChangeOrder` is made once, however often
 * its task runs.
 */
export interface CatalogWrites {
  /** @returns the new ontology; `changed` is false if nothing differs. @throws changed_meanwhile */
  replaceOntology(requested: RequestedOntology): { ontology: Ontology; changed: boolean };
  followOntology(followed: ChangeOrder & FollowedProducts): void;
  commit(order: ChangeOrder & CommitOrder): CommitResult;
  applyProducts(order: ChangeOrder & AppliedProducts): ChangeCounts | Stale;
  /** @throws delete_guard */
  deleteProducts(order: ChangeOrder & DeleteOrder): DeleteResult;
  /** @returns null if there is nothing to undo */
  restore(order: ChangeOrder & RestoreOrder): { result: RestoreResult | OtherLast | null };
  dropEvents(ids: readonly string[]): void;
}

/** Changes that a loss of power may undo, because the service repeats them. */
export interface CatalogRepeatables {
  /** Assigns permanent ids to names, which are a JSON list. @returns a JSON list of the ids in the same order */
  reserveNames(reserved: { names: Uint8Array }): Uint8Array;
  /** Assigns permanent ids to names and category paths. */
  reserveIds(reserved: { names: readonly string[]; paths: readonly string[] }): ReadonlyMap<string, number>;
  /** @returns false if the derivation from products has changed since; then nothing is staged */
  stageBatch(staged: StagedProducts): boolean;
  /** Drops staged batches with a product that has changed since they were staged. They must be staged again. */
  dropOutdated(staged: { fullUpdateId: number }): boolean;
  reviewBatch(reviewed: BatchReview): void;
  /**
   * Stages the present version of products that the batches skipped as invalid, so that the commit leaves them
   * unchanged.
   */
  keepSkipped(staged: { fullUpdateId: number }): void;
  /**
   * Reads a part of the reports of all batches, in order. A writing thread reads it, because each report may have 20
   * MB.
   */
  readStagedReports(position: ReportPlace & { readonly fullUpdateId: number }): ReportPart;
  /** Removes a limited part of the garbage. @returns whether there is more */
  collectGarbage(limits: { live: readonly number[] } & Omit<UndoOrder, 'author'>): boolean;
}

type OfProject = [projectId: number];

/**
 * Where catalogs are stored. Every method handles a whole batch, never a single row, so that a store across a
 * network can implement it too.
 */
export interface CatalogStore
  extends Calls<CatalogReads & CatalogStateReads & CatalogComparisons, OfProject>,
    Calls<CatalogWrites & CatalogRepeatables, OfProject> {
  /**
   * @returns the answers of the products in the order of the request, each product once, without unknown
   * identifiers; undefined if the answers are so large that another thread must make them
   */
  findAnswers(order: AnswerOrder): Promise<JoinedAnswers | undefined>;
  /** The same in another thread, for any length. @throws answer_too_large */
  makeAnswers(order: AnswerOrder, signal: AbortSignal): Promise<JoinedAnswers>;
  removeCatalog(projectId: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Reads of one state of a catalog by parsing and scanning threads. They read whole batches, so that the store may
 * be remote.
 */
export interface CatalogStateOperations
  extends CatalogStateReads,
    Pick<
      CatalogReads,
      'countProducts' | 'listRange' | 'measureDocuments' | 'listStagedBatches' | 'findStagedBatch'
    > {
  readOntology(): Ontology;
  readCatalogVersion(): number;
  /** @returns the attributes before a change that a person made; undefined if they are no longer stored */
  readPastOntology(revision: number): readonly Attribute[] | undefined;
  /** @returns the ids of category paths, by path as JSON, without unknown paths */
  findCategories(paths: readonly string[]): ReadonlyMap<string, number>;
  /** @returns the products of the list that are in the catalog, each at the index of its identifier */
  findPresent(identifiers: readonly string[]): readonly (PresentProduct | undefined)[];
  findPatched(identifiers: readonly string[]): readonly PatchedProduct[];
  listOutdated(page: { revision: number; after: number; limit: number }): readonly OutdatedProduct[];
  /** @returns one page of products, in the order of their ids, with their whole uploads */
  listById(range: IdRange): ListedPart;
  /** @returns the largest product id, 0 if there are none */
  readLargestId(): number;
  listCategoryPaths(range: CategoryRange): readonly ListedCategory[];
  findCategoryPath(id: number): readonly string[] | undefined;
  /** @returns the products of these documents, in no particular order, with their whole uploads */
  listDocuments(documents: readonly number[]): readonly PlacedRow[];
  /** The same with the fronts of their uploads. */
  listFronts(documents: readonly number[]): readonly PlacedRow[];
  /** @returns the total bytes of these documents, without reading them */
  weighDocuments(documents: readonly number[]): number;
  /** @returns undefined for a commit that is not in the undo log */
  listCommitChanges(page: ChangePage): readonly CommitChange[] | undefined;
  /** @returns the changes of one product by commit, latest first */
  listProductChanges(identifier: string): readonly ProductChange[];
  /** @returns undefined for a commit that is not in the undo log */
  weighRestore(commit: number): RestoreEffect | undefined;
  listStagedDocuments(staged: BatchKey): readonly StagedDocument[];
}

export interface CatalogSnapshot extends Calls<CatalogStateOperations> {
  /** `revision` rises when the derivation changes. A store does not write data that another revision derived. */
  openDerivation(): Promise<{ readonly revision: number; readonly derive: Derive }>;
  /** Runs a program of a room to the right on this state. */
  perform<Result>(program: Program<Result>): Promise<Result>;
}

/** Where a thread reads catalogs and accepted bodies. */
export interface CatalogSnapshots {
  /** Checks the budget of the question before each read, and charges it for the data that was read. */
  read<Result>(
    projectId: number,
    budget: Budget,
    work: (snapshot: CatalogSnapshot) => Promise<Result>,
  ): Promise<Result>;
  readPayload(projectId: number, name: string): Promise<Uint8Array>;
}

/** A product with everything that its answer is made from. */
export interface FoundProduct {
  readonly id: number;
  readonly identifier: string;
  readonly updatedAt: number;
  readonly updatedBy: number;
  /** The upload as JSON; null if its document is missing, in a damaged file. */
  readonly raw: string | null;
  readonly ontology: Ontology;
  /** The ids of its category paths, by path as JSON. */
  readonly categories: ReadonlyMap<string, number>;
}

/** The bytes before and after answers that are sent together. */
export type Frame = Readonly<Record<'head' | 'tail', Uint8Array>>;

/** A lookup. */
export interface AnswerOrder {
  readonly projectId: number;
  readonly identifiers: readonly string[];
  readonly frame: Frame;
}

/** Serialised products separated by commas, within their frame. */
export interface JoinedAnswers {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Each product of a long answer; absent for other answers. */
  readonly products?: readonly Uint8Array[];
  /** Call it when the bytes are sent; after that they may be overwritten. */
  release(): void;
}

/** Where a part of the reports of staged batches begins: in the first batch from `batch` on, at the character `at`. */
export type ReportPlace = Readonly<Record<'batch' | 'at', number>>;

export interface ReportPart {
  /** Whole lines, of a few megabytes in total. */
  readonly lines: string;
  /** undefined for the last part. */
  readonly next: ReportPlace | undefined;
}

export interface ComparedUpdate {
  readonly fullUpdateId: number;
  readonly withIdentifiers: boolean;
}

export interface DeletedPage {
  readonly fullUpdateId: number;
  /** The last identifier seen, or empty. */
  readonly after: string;
  readonly limit: number;
}

export interface ListedRow {
  readonly id: number;
  readonly identifier: string;
  readonly updatedAt: number;
  /** The upload as JSON, or its front: the fields before its attributes. */
  readonly text: string;
}

/** A product with its document. */
export interface PlacedRow extends ListedRow {
  readonly document: number;
}

/** Identifiers in byte order. */
export interface IdentifierRange {
  readonly from: string;
  /** Whether `from` itself is excluded. */
  readonly isAfter: boolean;
  /** The first identifier after the range; undefined: to the end. */
  readonly to: string | undefined;
}

export interface ListedRange extends IdentifierRange {
  readonly limit: number;
  /** Whether to read the whole upload, or its front. */
  readonly isWhole: boolean;
}

/** A range of product ids. */
export type IdRange = Readonly<Record<'after' | 'upTo' | 'limit', number>>;

export interface ListedPart<Row extends ListedRow = ListedRow> {
  readonly rows: readonly Row[];
  /** Whether there are fewer than the limit because their uploads are large. */
  readonly isCut: boolean;
}

/** Which category paths to list, in text order, out of all paths that products ever had. */
export interface CategoryRange {
  /** Lists only paths below this one; empty: all paths. */
  readonly under: readonly string[];
  /** Lists only paths after this one; empty: from the first. */
  readonly after: readonly string[];
  readonly limit: number;
}

export interface ListedCategory {
  /** Permanent. */
  readonly id: number;
  readonly path: readonly string[];
}

export type BatchKey = Readonly<Record<'fullUpdateId' | 'batch', number>>;

export interface StagedProducts extends BatchKey, StagedNotes {
  readonly packed: PackedProducts;
  /** Identifies the derivation used for the products. */
  readonly derivationRevision: number;
  /** NDJSON; as bytes it passes between threads without a copy. */
  readonly report: string | Uint8Array<ArrayBuffer>;
}

/** Products of an incremental or partial update, with the ontology and derivation used for them. */
export interface AppliedProducts {
  readonly packed: PackedProducts;
  readonly revision: number;
  readonly derivationRevision: number;
}

/** The results for a staged batch under another ontology than the one it was staged with. */
export interface BatchReview extends BatchKey {
  readonly extractedBy: StagedNotes['extractedBy'];
  readonly report: string;
  /** Products of the batch that exist already and gain facts. */
  readonly gaining: readonly number[];
}

export interface CommitOrder extends DeleteLimit, UndoOrder {
  readonly fullUpdateId: number;
  /** The number of batches that must be staged. */
  readonly batches: number;
  readonly revision: number;
  readonly mode: OntologyMode;
  /** A JSON list of attributes, which the writing thread parses. */
  readonly newAttributes: Uint8Array;
}

export interface DeleteResult {
  readonly deleted: number;
  /** How many identifiers belong to no product. */
  readonly unknown: number;
  /** NDJSON: a line for each unknown identifier. */
  readonly report: Uint8Array;
}

export interface DeleteOrder extends UndoOrder {
  /** JSON lists of identifiers, which the writing thread parses. */
  readonly lists: readonly Uint8Array[];
  /** The limit of the pipeline that deletes; absent for other callers, because they name each product. */
  readonly maxDeletePercent?: number;
}

/**
 * Products whose facts follow another ontology from now on. A product that has changed since it was read is
 * skipped.
 */
export interface FollowedProducts {
  /** The revision of the ontology. */
  readonly revision: number;
  readonly products: readonly number[];
  readonly documents: readonly number[];
  /** Whether the facts of each product differ. */
  readonly changed: readonly boolean[];
}

/** The numbers of products that a full update or a delete changed in the catalog. */
export type ChangeCounts = Readonly<Record<'created' | 'changed' | 'unchanged' | 'deleted', number>>;

/** A count, and the first products by identifier. */
export interface CountedProducts {
  readonly count: number;
  readonly identifiers: readonly string[];
}

/** Source: docs/interface §4.4. */
export type Difference = { readonly [Kind in keyof ChangeCounts]: CountedProducts } & {
  readonly present: number;
};

export interface StagedBatch {
  readonly batch: number;
  /** JSON: [name, Observed][] */
  readonly observed: string;
  /** JSON: {revision, drafts: [name, definition][]} */
  readonly extractedBy: string;
}

/** The same in the form in which parsing threads pass it to writing threads. */
export interface StagedNotes {
  readonly observed: string | Uint8Array;
  readonly extractedBy: string | Uint8Array;
}

/** How many products a catalog may lose. */
export interface DeleteLimit {
  readonly maxDeletePercent: number;
  /** The exact number that the caller allows. It takes precedence over the percentage. */
  readonly allowDeletes?: number | undefined;
}

/** The task of an ordered change. Its number recognises a repetition after a crash, which changes nothing. */
export type ChangeOrder = Readonly<Record<'taskNumber' | 'at', number>>;

/** The author of a change, as shown in the list of commits. */
export type ChangeAuthor = NonNullable<UndoableCommit['author']>;

/** The members of a commit or delete for its entry in the undo log. */
export interface UndoOrder {
  /** 0: nothing can be undone. */
  readonly undoDepth: number;
  /** Entries before this instant are dropped; absent: no entry is dropped for its age. */
  readonly undoSince?: number | undefined;
  /** Absent if an earlier version accepted the change. */
  readonly author?: ChangeAuthor | undefined;
}

/** The commits to undo. The number of a commit is the number of its task. */
export interface RestoreOrder {
  /** The oldest commit to undo, with all later ones; absent: only the last commit. */
  readonly commit?: number | undefined;
  /** If another commit is the last one by now, nothing is undone. */
  readonly ifLast?: number | undefined;
}

/** An entry of the undo log. */
export type UndoableCommit = Omit<Sent<Static<typeof Commit>>, 'taskId' | 'origin'>;

export type Stale = { readonly stale: true };

export type ChangeKind = 'created' | 'changed' | 'deleted';

/** A product before and after a commit or delete. */
export interface CommitChange {
  readonly productId: number;
  readonly identifier: string;
  readonly kind: ChangeKind;
  /** The upload as JSON. */
  readonly before: string | null;
  readonly after: string | null;
  /**
   * Whether a later update changed the product again. `after` is the state that the next commit in the log found,
   * or the present state.
   */
  readonly isChangedSince: boolean;
}

/** A page of the changes of a commit. */
export interface ChangePage {
  readonly commit: number;
  readonly kind?: ChangeKind | undefined;
  readonly after: ChangePlace;
  readonly limit: number;
}

/** Created products come last; each part is ordered by product id. */
export interface ChangePlace {
  readonly part: 'present' | 'created';
  readonly productId: number;
}

/** The changes that a restore would make to the catalog. */
export type RestoreEffect = Sent<Static<typeof RestoreEffectSchema>>;

/** The result if the last commit is not the one that the caller expected. */
export type OtherLast = { readonly last: number };

/** The result of a commit: done, refused by the delete guard, or to be prepared again. */
export type CommitResult =
  | { readonly kind: 'done'; readonly counts: ChangeCounts }
  | { readonly kind: 'guarded'; readonly present: number; readonly deleted: number }
  | { readonly kind: 'stale' };

export interface RestoreResult {
  readonly restored: number;
  readonly overwritten: readonly string[];
  /** Whether facts of restored products follow an older ontology. */
  readonly needsExtraction: boolean;
}

/** The state of a present product that an update needs. */
export interface PresentProduct {
  readonly id: number;
  /** In hexadecimal. */
  readonly hash: string;
  readonly document: number;
}

/** A present product whose upload is to be patched. */
export interface PatchedProduct extends PresentProduct {
  readonly identifier: string;
  readonly raw: string;
}

/** A product whose facts follow an older ontology, with its upload. */
export interface OutdatedProduct {
  readonly id: number;
  readonly document: number;
  /** The revision of that ontology. */
  readonly revision: number;
  readonly raw: string;
}

/** A product of a batch: the batch brought its document (`isFresh` 1), or the product was unchanged. */
export interface StagedDocument {
  readonly product: number;
  readonly isFresh: number;
  readonly raw: string;
}

/** A product with the size of its document, which is not read. */
export interface MeasuredDocument {
  readonly identifier: string;
  readonly document: number;
  /** The size of the upload. */
  readonly bytes: number;
}

export interface ProductChange extends CommitChange {
  readonly commit: UndoableCommit;
}
