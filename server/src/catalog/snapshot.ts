import type { IdentifierRange, ListedRow, PlacedRow } from './browse/browse.ts';
import type { KeptChange, KeptCommit, KeptPage, RestoreEffect } from './change.ts';
import type { OpenDerivation } from './derivation.ts';
import type { Attribute, Ontology } from './ontology/ontology.ts';
import type {
  CategoryRange,
  CountedHits,
  CountedTier,
  HitPart,
  ListedCategory,
  ListedPart,
  ListedRange,
  SoughtCategories,
  StoredProduct,
  WantedHits,
} from './port.ts';
import type { SearchState } from './search/search.ts';

/** What an update must know of a present product. */
export interface PresentProduct {
  readonly id: number;
  /** In hexadecimal. */
  readonly hash: string;
  readonly document: number;
}

/** A present product whose upload is to be patched. */
export interface PatchedProduct extends PresentProduct {
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

/** A change of a product that is asked for. */
export interface ProductChange extends KeptChange {
  readonly commit: KeptCommit;
}

/** One state of a catalog, as the threads that parse read it: by whole batches, so that it may be far away. */
export interface CatalogSnapshot {
  readOntology(): Promise<Ontology>;
  readCatalogVersion(): Promise<number>;
  /** @returns the attributes as they were until a person changed them; undefined when that is long ago */
  readPastOntology(revision: number): Promise<readonly Attribute[] | undefined>;
  openDerivation(): Promise<OpenDerivation>;
  /** @returns those of these products that the catalog holds, each at the place of its identifier */
  findPresent(identifiers: readonly string[]): Promise<readonly (PresentProduct | undefined)[]>;
  /** @returns undefined for a product that is not there */
  findStored(identifier: string): Promise<StoredProduct | undefined>;
  findPatched(identifiers: readonly string[]): Promise<(identifier: string) => PatchedProduct | undefined>;
  /** @returns the ids of category paths, as JSON; unknown ones are left out */
  findCategories(paths: readonly string[]): Promise<ReadonlyMap<string, number>>;
  listOutdated(wanted: {
    revision: number;
    after: number;
    limit: number;
  }): Promise<readonly OutdatedProduct[]>;
  listRange(range: ListedRange): Promise<ListedPart>;
  countRange(range: IdentifierRange): Promise<number>;
  /** @returns products by id, above `after` and up to `upTo`, with their whole uploads */
  listById(wanted: { after: number; upTo: number; limit: number }): Promise<readonly ListedRow[]>;
  /** @returns the largest id of a product, 0 without one */
  readLargestId(): Promise<number>;
  /** @returns undefined: nobody searched yet */
  readSearchState(): Promise<SearchState | undefined>;
  /** @returns products that the index of search knows, with their whole uploads */
  listHits(wanted: WantedHits): Promise<HitPart>;
  countHits(counted: CountedTier): Promise<CountedHits>;
  listCategoryPaths(range: CategoryRange): Promise<readonly ListedCategory[]>;
  findCategoryPath(id: number): Promise<readonly string[] | undefined>;
  /** @returns those lexemes that a product has; in doubt, where many products had one and few have it, also that one */
  findLiving(sought: SoughtCategories): Promise<readonly string[]>;
  /** @returns products whose documents come after this one, of the next few documents; undefined where these are large */
  listTail(after: number): Promise<readonly PlacedRow[] | undefined>;
  /** @returns those of these products that the catalog holds, in no order */
  measureDocuments(identifiers: readonly string[]): Promise<readonly MeasuredDocument[]>;
  /** @returns the products of these documents, in no order */
  listDocuments(documents: readonly number[]): Promise<readonly PlacedRow[]>;
  /** @returns undefined for a commit that is not kept */
  listKeptChanges(wanted: KeptPage): Promise<readonly KeptChange[] | undefined>;
  /** @returns the changes of one product by commit, the last one first */
  listProductChanges(identifier: string): Promise<readonly ProductChange[]>;
  /** @returns undefined for a commit that is not kept */
  weighRestore(commit: number): Promise<RestoreEffect | undefined>;
  listStagedDocuments(wanted: { fullUpdateId: number; batch: number }): Promise<readonly StagedDocument[]>;
}

/** Where a parsing thread reads catalogs and accepted bodies. */
export interface CatalogSnapshots {
  read<Result>(projectId: number, work: (snapshot: CatalogSnapshot) => Promise<Result>): Promise<Result>;
  readPayload(projectId: number, name: string): Promise<Uint8Array>;
}
