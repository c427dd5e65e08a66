import type { Attribute } from '../../catalog/ontology/ontology.ts';
import type { ChangedCatalog } from '../../catalog/store/store.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { Program } from '../../storage/programs/programs.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import type { CatalogMark, RelationView, SearchedRelation } from '../matching/matching.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import type { ChangedIndex } from './build-store.ts';
import type { InspectedCatalog } from './inspected-catalog.ts';

/**
 * The port of relations: how the serving thread reads, how writing threads change, and the catalogs for
 * questions.
 */

export interface InProject {
  readonly projectId: number;
}

/** The reads of the serving thread. */
export interface RelationReads {
  readMark(projectId: number): Promise<CatalogMark>;
  /** For decisions, and for data that was just written. Never reads from a replica. */
  read<Result>(projectId: number, program: Program<Result>): Promise<Result>;
  /** For answers. They may lag as far as a replica does. */
  readForAnswers<Result>(projectId: number, program: Program<Result>): Promise<Result>;
}

/** The reads and changes of a writing thread. */
export interface RelationWriter {
  read<Result>(projectId: number, program: Program<Result>): Result | Promise<Result>;
  /** Runs the program in one transaction. The engine provides the parts that it implements in its own way. */
  transact<Result>(
    projectId: number,
    program: (index: Omit<ChangedIndex, keyof ChangedCatalog>) => Program<Result>,
  ): Result | Promise<Result>;
}

/** The parts of one catalog version that answers need besides the products. */
export interface CatalogRules {
  readonly version: number;
  readonly attributes: readonly Attribute[];
  /** The well configured, built relations. */
  readonly relations: readonly ServedRelation[];
  /** Whether the target side of a build has any product. */
  hasTargets(build: number): boolean;
}

/** The data that answers prepare from the rules of a version. The engine caches it. */
export interface PreparedRules {
  readonly version: number;
}

/** `earlier` was prepared for another version of the same catalog. */
export type PrepareRules<Prepared> = (rules: CatalogRules, earlier?: Prepared) => Prepared;

/** The parts that a remote catalog reads together, because an answer will probably need them. */
export interface Prefetch {
  readonly searches: readonly { readonly relation: SearchedRelation; readonly limit: number }[];
  /** Whether to prefetch the uploads of candidates for their served answers. */
  readonly products: boolean;
  /** `false` if the first candidate of each group suffices, so that its variants are not read. */
  readonly variants?: false;
}

/** A request for related products, with the state of the catalog that its caller has seen. */
export interface AnswerRequest<Prepared> extends InProject, CatalogMark {
  readonly limit: Budget;
  describePrefetch(prepared: Prepared): Prefetch;
}

/** How the threads that answer relations read catalogs. */
export interface RelationCatalogs<Prepared> {
  readonly payloads: PayloadFiles;
  /** Also reads data that was just written. */
  read<Result>(projectId: number, program: Program<Result>, budget: Budget): Promise<Result>;
  /** Runs the work on one state of the catalog. Repeats the work if parts were missing in the view. */
  answer<Result>(
    request: AnswerRequest<Prepared>,
    work: (prepared: Prepared, view: RelationView) => Result,
  ): Promise<Result>;
  /**
   * Runs the work on one state of the catalog, which lasts until the work ends. With `isFresh` it also reads
   * data that was just written; a replica may not have it yet.
   */
  inspect<Result>(
    on: InProject & { readonly limit: Budget; readonly isFresh?: boolean },
    work: (catalog: InspectedCatalog) => Promise<Result>,
  ): Promise<Result>;
}

export type OpenRelationCatalogs = <Prepared extends PreparedRules>(
  prepare: PrepareRules<Prepared>,
) => RelationCatalogs<Prepared>;
