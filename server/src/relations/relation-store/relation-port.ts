import type { Attribute } from '../../catalog/ontology/ontology.ts';
import type { ChangedCatalog } from '../../catalog/store/store.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { Program } from '../../storage/programs/programs.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import type { CatalogMark, RelationView, SearchedRelation } from '../matching/matching.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import type { ChangedIndex } from './build-store.ts';
import type { InspectedCatalog } from './inspected-catalog.ts';

/** What an engine gives to the threads: reads of the serving thread, writes, and catalogs for questions. */

export interface InProject {
  readonly projectId: number;
}

/** How the serving thread reads. */
export interface RelationReads {
  readMark(projectId: number): Promise<CatalogMark>;
  /** For decisions, and to read what was just written: never from a replica. */
  read<Result>(projectId: number, program: Program<Result>): Promise<Result>;
  /** For answers, which may lag as much as a replica may. */
  readForAnswers<Result>(projectId: number, program: Program<Result>): Promise<Result>;
}

/** How a writing thread reads and changes catalogs. */
export interface RelationWriter {
  read<Result>(projectId: number, program: Program<Result>): Result | Promise<Result>;
  /** Runs the program in one transaction, with what the engine does in its own way. */
  transact<Result>(
    projectId: number,
    program: (index: Omit<ChangedIndex, keyof ChangedCatalog>) => Program<Result>,
  ): Result | Promise<Result>;
}

/** What answers need of one version of a catalog besides its products. */
export interface CatalogRules {
  readonly version: number;
  readonly attributes: readonly Attribute[];
  /** The well configured, built relations. */
  readonly relations: readonly ServedRelation[];
  /** Whether the target side of a build holds any product. */
  hasTargets(build: number): boolean;
}

/** What answers make of the rules of a version, which the engine caches. */
export interface PreparedRules {
  readonly version: number;
}

/** `earlier` was prepared for another version of the same catalog. */
export type PrepareRules<Prepared> = (rules: CatalogRules, earlier?: Prepared) => Prepared;

/** What a remote catalog reads at once, because an answer will probably need it. */
export interface Prefetch {
  readonly searches: readonly { readonly relation: SearchedRelation; readonly limit: number }[];
  /** Whether the served answers of candidates are prefetched too. */
  readonly products: boolean;
  /** `false`: the variants of candidates' groups are not read, as the first one of each suffices. */
  readonly variants?: false;
}

/** A request for related products, with the state of the catalog that its caller has seen. */
export interface AnswerRequest<Prepared> extends InProject, CatalogMark {
  readonly limit: Budget;
  describePrefetch(prepared: Prepared): Prefetch;
}

/** Where the threads that answer relations read catalogs. */
export interface RelationCatalogs<Prepared> {
  readonly payloads: PayloadFiles;
  /** Includes what was just written. */
  read<Result>(projectId: number, program: Program<Result>, budget: Budget): Promise<Result>;
  /** Runs the work on one state of the catalog, again if the view lacked something. */
  answer<Result>(
    request: AnswerRequest<Prepared>,
    work: (prepared: Prepared, view: RelationView) => Result,
  ): Promise<Result>;
  /**
   * Runs the work on one state of the catalog, which lasts until the work ends. `isFresh`: it must see what was
   * just written, as a replica may lag.
   */
  inspect<Result>(
    on: InProject & { readonly limit: Budget; readonly isFresh?: boolean },
    work: (catalog: InspectedCatalog) => Promise<Result>,
  ): Promise<Result>;
}

export type OpenRelationCatalogs = <Prepared extends PreparedRules>(
  prepare: PrepareRules<Prepared>,
) => RelationCatalogs<Prepared>;
