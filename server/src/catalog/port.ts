import type { Static } from 'typebox';
import type { RecordedEvent } from '../events/events.ts';
import type { Sent } from '../http/server/server.ts';
import type { Calls } from '../storage/storage.ts';
import type { Derive } from './derivation.ts';
import type { Attribute, Ontology, OntologyMode, RequestedOntology } from './ontology/ontology.ts';
import type { Commit, PackedProducts, RestoreEffect as RestoreEffectSchema } from './products/products.ts';

/** What a store reads for callers: each of one version of the catalog. */
export interface CatalogReads {
  /** @returns the version of the catalog as last committed, never a replica's */
  readVersion(): number;
  countProducts(): number;
  /** @returns products by identifier, as many as one page reads */
  listRange(range: ListedRange): ListedPart;
  /** @returns those of these products that the catalog holds, in no order */
  measureDocuments(identifiers: readonly string[]): readonly MeasuredDocument[];
  hasAny(identifiers: readonly string[]): boolean;
  getOntology(): Ontology;
  /** @returns the numbers of the batches alone, in their order: what was noted of one may be megabytes */
  listStagedBatches(fullUpdateId: number): readonly Pick<StagedBatch, 'batch'>[];
  findStagedBatch(key: BatchKey): StagedBatch | undefined;
  /** @returns the commits and deletes that can be undone, the last one first */
  listUndoableCommits(): readonly UndoableCommit[];
  /** @returns the oldest events that were recorded with changes of the catalog */
  listEvents(limit: number): readonly RecordedEvent[];
}

/** Reads of several statements, on one state of the catalog. */
export interface CatalogStateReads {
  findProduct(identifier: string): FoundProduct | undefined;
}

/** Reads that compare whole catalogs: the embedded store has a thread for them. */
export interface CatalogComparisons {
  /** Counts what a commit would do; with the first identifiers of each kind if requested. */
  compareStaged(update: ComparedUpdate): Difference;
  /** @returns products that a commit would delete, by identifier, with the fronts of their uploads */
  listDeleted(page: DeletedPage): readonly ListedRow[];
}

/** Changes that are durable when their promise resolves. Those with a `ChangeOrder` are done once, however often a task runs. */
export interface CatalogWrites {
  /** @returns the new ontology; `changed` false when nothing differs. @throws changed_meanwhile */
  replaceOntology(requested: RequestedOntology): { ontology: Ontology; changed: boolean };
  followOntology(followed: ChangeOrder & FollowedProducts): void;
  commit(order: ChangeOrder & CommitOrder): CommitResult;
  applyProducts(order: ChangeOrder & AppliedProducts): ChangeCounts | Stale;
  /** @throws delete_guard */
  deleteProducts(order: ChangeOrder & DeleteOrder): { deleted: number; unknown: readonly string[] };
  /** @returns null when there is nothing to undo */
  restore(order: ChangeOrder & RestoreOrder): { result: RestoreResult | OtherLast | null };
  /** Forgets events, by their ids. */
  dropEvents(ids: readonly string[]): void;
}

/** Changes that a loss of power may take, because they are done again. */
export interface CatalogRepeatables {
  /** Gives names and category paths their ids, the same for ever. */
  reserveIds(reserved: { names: readonly string[]; paths: readonly string[] }): ReadonlyMap<string, number>;
  /** @returns false, with nothing staged, when something else is derived from products by now */
  stageBatch(staged: StagedProducts): boolean;
  /** Drops batches of which a product is another by now than was found: they are to be staged anew. */
  dropOutdated(staged: { fullUpdateId: number }): boolean;
  reviewBatch(reviewed: BatchReview): void;
  /** Stages products as they are now that the batches left out as not valid: the commit leaves them alone. */
  keepSkipped(staged: { fullUpdateId: number }): void;
  /** A part of the reports of all batches, in their order; each may be 20 MB, so that a writing thread reads it. */
  readStagedReports(place: ReportPlace & { readonly fullUpdateId: number }): ReportPart;
  /** Removes a bounded part of what nothing points to. @returns whether there is more */
  collectGarbage(limits: { live: readonly number[] } & Omit<UndoOrder, 'author'>): boolean;
  /** Brings the index of search a step forward, or removes from it a part of what leads nowhere. */
  walkSearch(walked: { readonly prepared?: PreparedWalk | undefined }): SearchStep;
}

type OfProject = [projectId: number];

/**
 * Where catalogs are stored. Every method is about one batch, never one row, so that a store across a network can
 * serve it too.
 */
export interface CatalogStore
  extends Calls<CatalogReads & CatalogStateReads & CatalogComparisons, OfProject>,
    Calls<CatalogWrites & CatalogRepeatables, OfProject> {
  /**
   * @returns what is served of the products found, in the order of the request; each once, unknown ones left out. undefined: so
   * much that it must be made by another thread
   */
  findAnswers(order: AnswerOrder): Promise<JoinedAnswers | undefined>;
  /** The same by another thread, of any length. @throws answer_too_large */
  makeAnswers(order: AnswerOrder, signal: AbortSignal): Promise<JoinedAnswers>;
  removeCatalog(projectId: number): Promise<void>;
  close(): Promise<void>;
}

/** Reads of one state of a catalog by the threads that parse and scan: by whole batches, so that it may be far away. */
export interface CatalogStateOperations
  extends CatalogStateReads,
    Pick<CatalogReads, 'countProducts' | 'listRange' | 'measureDocuments'> {
  readOntology(): Ontology;
  readCatalogVersion(): number;
  /** @returns the attributes as they were until a person changed them; undefined when that is long ago */
  readPastOntology(revision: number): readonly Attribute[] | undefined;
  /** @returns the ids of category paths, as JSON; unknown ones are left out */
  findCategories(paths: readonly string[]): ReadonlyMap<string, number>;
  /** @returns those of these products that the catalog holds, each at the place of its identifier */
  findPresent(identifiers: readonly string[]): readonly (PresentProduct | undefined)[];
  findPatched(identifiers: readonly string[]): readonly PatchedProduct[];
  listOutdated(page: { revision: number; after: number; limit: number }): readonly OutdatedProduct[];
  /** @returns products by id, with their whole uploads */
  listById(range: IdRange): ListedPart;
  /** @returns the largest id of a product, 0 without one */
  readLargestId(): number;
  /** @returns undefined: nothing was searched yet */
  readSearchState(): SearchState | undefined;
  /** What the index of search takes in next, behind a document: another thread than the one that writes makes it. */
  prepareWalk(after: number): PreparedWalk;
  /** @returns products that the index of search knows */
  listHits(query: RequestedUploads): ListedPart<FoundRow>;
  countHits(counted: CountedTier): CountedHits;
  /** @returns hits without their uploads, in the order of their documents */
  listPlaces(query: RequestedHits): readonly HitGroup[];
  /** @returns words of letters alone that products have had */
  listWords(sought: SoughtWords): readonly string[];
  /** @returns products whose documents come after this one, of the next few documents; undefined where these are large */
  listTail(after: number): readonly PlacedRow[] | undefined;
  listCategoryPaths(range: CategoryRange): readonly ListedCategory[];
  findCategoryPath(id: number): readonly string[] | undefined;
  /** @returns those lexemes that a product has; in doubt, where many products had one and few have it, also that one */
  findLiving(sought: SoughtCategories): readonly string[];
  /** @returns the products of these documents, in no order, with their whole uploads */
  listDocuments(documents: readonly number[]): readonly PlacedRow[];
  /** The same with the fronts of their uploads. */
  listFronts(documents: readonly number[]): readonly PlacedRow[];
  /** @returns the bytes of these documents, of which none is read */
  weighDocuments(documents: readonly number[]): number;
  /** @returns undefined for a commit that is not in the undo log */
  listCommitChanges(page: ChangePage): readonly CommitChange[] | undefined;
  /** @returns the changes of one product by commit, the last one first */
  listProductChanges(identifier: string): readonly ProductChange[];
  /** @returns undefined for a commit that is not in the undo log */
  weighRestore(commit: number): RestoreEffect | undefined;
  listStagedDocuments(staged: BatchKey): readonly StagedDocument[];
}

/** One state of a catalog. */
export interface CatalogSnapshot extends Calls<CatalogStateOperations> {
  /** `revision`: raised when anything is derived otherwise; what was derived by another one is not written. */
  openDerivation(): Promise<{ readonly revision: number; readonly derive: Derive }>;
}

/** Where a parsing thread reads catalogs and accepted bodies. */
export interface CatalogSnapshots {
  read<Result>(projectId: number, work: (snapshot: CatalogSnapshot) => Promise<Result>): Promise<Result>;
  readPayload(projectId: number, name: string): Promise<Uint8Array>;
}

/** A product with what its answer is made of. */
export interface FoundProduct {
  readonly id: number;
  readonly identifier: string;
  readonly updatedAt: number;
  readonly updatedBy: number;
  /** JSON of the upload; null: its document is gone, in a damaged file. */
  readonly raw: string | null;
  readonly ontology: Ontology;
  /** The ids of the paths of its categories, as JSON. */
  readonly categories: ReadonlyMap<string, number>;
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

export interface ComparedUpdate {
  readonly fullUpdateId: number;
  readonly withIdentifiers: boolean;
}

export interface DeletedPage {
  readonly fullUpdateId: number;
  /** The identifier of the last one seen, else empty. */
  readonly after: string;
  readonly limit: number;
}

/** A product as a list reads it. */
export interface ListedRow {
  readonly id: number;
  readonly identifier: string;
  readonly updatedAt: number;
  /** JSON of the upload, or of its front: the fields before its attributes. */
  readonly text: string;
}

/** A product of one document. */
export interface PlacedRow extends ListedRow {
  readonly document: number;
}

/** Identifiers in the order of their bytes. */
export interface IdentifierRange {
  readonly from: string;
  /** Whether `from` itself is left out. */
  readonly isAfter: boolean;
  /** The first behind the range; undefined: to the end. */
  readonly to: string | undefined;
}

export interface ListedRange extends IdentifierRange {
  readonly limit: number;
  /** Whether the whole upload is read, or its front. */
  readonly isWhole: boolean;
}

/** Of products. */
export interface IdRange {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

export interface ListedPart<Row extends ListedRow = ListedRow> {
  readonly rows: readonly Row[];
  /** Whether there are fewer than the limit since their uploads are large. */
  readonly isCut: boolean;
}

/** The index of search, as far as it goes. */
export interface SearchState {
  /** Documents up to this one are in the index. */
  readonly lastDocument: number;
  readonly newestDocument: number;
  /** Of the catalog, when it was last complete; documents of open full updates come without a version. */
  readonly version: number;
  readonly presentVersion: number;
}

/** A document with its product, and the number of that one's group. */
export type PlacedDocument = readonly [document: number, product: number, group: number];

/** Documents with their lexemes. */
export interface PreparedWalk {
  /** The document before them. */
  readonly after: number;
  readonly last: number;
  /** Whether these were all there were. */
  readonly isLast: boolean;
  /** JSON of a `PlacedDocument` each: one text passes the serving thread in a thousandth of the time of 2,000. */
  readonly placed: string;
  /** A line for each, UTF-8 with a sign for each byte. */
  readonly lexemes: string;
  /** Words of letters alone. */
  readonly words: readonly string[];
}

export interface SearchStep {
  /** The last one that is in the index. */
  readonly lastDocument: number;
  /** Whether nothing that readers can see is missing. */
  readonly isComplete: boolean;
  readonly isTidy: boolean;
}

/** Of each group at least one lexeme; one that ends with `*` stands for all that begin so. */
export type LexemeGroups = readonly (readonly string[])[];

/** Products that are found alike well: all of `all`, and none that a better tier has. */
export interface SearchTier {
  readonly all: LexemeGroups;
  readonly except: readonly LexemeGroups[];
}

export interface CountedTier {
  readonly tier: SearchTier;
  /** Products whose document is beyond this one are found by their former documents. */
  readonly newer: number | undefined;
}

/** Products of a tier behind a document, in the order of the documents that they are found by. */
export interface RequestedHits extends CountedTier {
  readonly after: number;
  readonly limit: number;
}

export interface RequestedUploads extends RequestedHits {
  /** Whether the whole uploads are read, or their fronts. */
  readonly isWhole: boolean;
}

/** A product with the document that it was found by. */
export interface FoundRow extends PlacedRow {
  /** Its document as it is. */
  readonly present: number;
}

/** A hit: the document that it was found by, and the number of its group. */
export interface HitGroup {
  readonly document: number;
  readonly group: number;
}

/** Words that begin with a letter, by their length. */
export interface SoughtWords {
  readonly first: string;
  readonly shortest: number;
  readonly longest: number;
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

/** A batch of a full update. */
export interface BatchKey {
  readonly fullUpdateId: number;
  readonly batch: number;
}

export interface StagedProducts extends BatchKey {
  readonly packed: PackedProducts;
  /** By which what was derived from the products is what it is. */
  readonly derivationRevision: number;
  readonly observed: string;
  readonly extractedBy: string;
  /** NDJSON; as bytes it passes from thread to thread without a copy. */
  readonly report: string | Uint8Array<ArrayBuffer>;
}

/** Products of an incremental or partial update, by which ontology and derivation they are what they are. */
export interface AppliedProducts {
  readonly packed: PackedProducts;
  readonly revision: number;
  readonly derivationRevision: number;
}

/** What a staged batch is by another ontology than it was staged by. */
export interface BatchReview extends BatchKey {
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

export interface DeleteOrder extends UndoOrder {
  readonly identifiers: readonly string[];
  /** Of the pipeline that deletes; absent: a caller does, who named each of them. */
  readonly maxDeletePercent?: number;
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

/** What a full update or a delete did to the catalog. */
export interface ChangeCounts {
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly deleted: number;
}

/** How many there are, and the first of them by identifier. */
export interface CountedProducts {
  readonly count: number;
  readonly identifiers: readonly string[];
}

/** The rows of a preview. Source: docs/interface.md §4.4. */
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

/** When a catalog may lose products. */
export interface DeleteLimit {
  readonly maxDeletePercent: number;
  /** The exact number that the caller allows, whatever the percentage. */
  readonly allowDeletes?: number | undefined;
}

/** What every ordered change carries: its task, so that a repetition after a crash changes nothing. */
export interface ChangeOrder {
  readonly taskNumber: number;
  readonly at: number;
}

/** Who made a change, as the list of commits says it. */
export type ChangeAuthor = NonNullable<UndoableCommit['author']>;

/** What a commit or delete leaves in the undo log. */
export interface UndoOrder {
  /** 0: nothing can be undone. */
  readonly undoDepth: number;
  /** Older entries are dropped; absent: whatever their age. */
  readonly undoSince?: number | undefined;
  /** Absent: accepted by an earlier version. */
  readonly author?: ChangeAuthor | undefined;
}

/** What is to be undone. Commits have the numbers of their tasks. */
export interface RestoreOrder {
  /** The oldest to be undone, with all after it; absent: the last one. */
  readonly commit?: number | undefined;
  /** Nothing is undone when another one is the last by now. */
  readonly ifLast?: number | undefined;
}

/** An entry of the undo log. */
export type UndoableCommit = Omit<Sent<Static<typeof Commit>>, 'taskId' | 'origin'>;

export type Stale = { readonly stale: true };

/** Of a product, by a commit or delete. */
export type ChangeKind = 'created' | 'changed' | 'deleted';

/** A product before a commit or delete, and after. */
export interface CommitChange {
  readonly productId: number;
  readonly identifier: string;
  readonly kind: ChangeKind;
  /** JSON of the upload. */
  readonly before: string | null;
  readonly after: string | null;
  /** Whether an update changed it again: `after` is what the next commit in the log found, or what there is now. */
  readonly isChangedSince: boolean;
}

/** The changes of a commit behind a place. */
export interface ChangePage {
  readonly commit: number;
  readonly kind?: ChangeKind | undefined;
  readonly after: ChangePlace;
  readonly limit: number;
}

/** Created products come last; each part is in the order of the products' ids. */
export interface ChangePlace {
  readonly part: 'present' | 'created';
  readonly productId: number;
}

/** What a restore would do to the catalog. */
export type RestoreEffect = Sent<Static<typeof RestoreEffectSchema>>;

/** A restore finds another last commit than its caller did. */
export interface OtherLast {
  readonly last: number;
}

/** How a commit ended: done, refused by the delete guard, or to be prepared again. */
export type CommitResult =
  | {
      readonly kind: 'done';
      readonly counts: ChangeCounts;
    }
  | { readonly kind: 'guarded'; readonly present: number; readonly deleted: number }
  | { readonly kind: 'stale' };

export interface RestoreResult {
  readonly restored: number;
  readonly overwritten: readonly string[];
  /** Whether facts of restored products follow an older ontology. */
  readonly needsExtraction: boolean;
}

/** What an update must know of a present product. */
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
  /** Of that ontology. */
  readonly revision: number;
  readonly raw: string;
}

/** A product of a batch: it brought its document (`isFresh` 1) or was found unchanged. */
export interface StagedDocument {
  readonly product: number;
  readonly isFresh: number;
  readonly raw: string;
}

/** A product with its document, which is not read. */
export interface MeasuredDocument {
  readonly identifier: string;
  readonly document: number;
  /** Of the upload. */
  readonly bytes: number;
}

export interface ProductChange extends CommitChange {
  readonly commit: UndoableCommit;
}
