import type { ExpectedStates } from '../storage/storage.ts';
import type { RelateInput } from './answers/answers.ts';
import type { Relation, RelationDefinition } from './definitions/definitions.ts';
import type { BuildOrder, BuildPage } from './memberships/memberships.ts';
import type {
  ExplainInput,
  ProductRelation,
  ProductRelationsInput,
  RelationExplanation,
  RelationSurvey,
} from './search/search.ts';

/** What stands before and behind the answers of one step. */
export interface Frame {
  readonly head: string;
  readonly tail: string;
}

/** What is met of a catalog before it is read. */
export interface CatalogMark {
  readonly version: number;
  /** Where statements are prepared: which tables are large by now, for another plan is right then. */
  readonly scale: number;
}

/** Who waits for an answer. */
export interface WaitingCaller {
  readonly signal: AbortSignal;
  /** What it has just met of the catalog. */
  readonly met: CatalogMark | undefined;
}

export interface MetRelations {
  readonly mark: CatalogMark;
  readonly relations: readonly Relation[];
}

export interface SavedRelation {
  /** Of the one that is replaced. */
  readonly id: number | undefined;
  /** Of the one that is replaced, by `markOfRelation`. */
  readonly expected?: ExpectedStates;
  readonly definition: RelationDefinition;
  readonly at: number;
}

export interface RemovedRelation {
  readonly id: number;
  readonly expected?: ExpectedStates;
}

/**
 * Where relations and their join index are kept: with the catalog, so that both change in one instant. Questions end
 * when their `signal` is aborted.
 */
export interface RelationStore {
  list(projectId: number): Promise<readonly Relation[]>;
  /** The relations for an answer: they may be as old as answers may be. */
  lookAt(projectId: number): Promise<MetRelations>;
  find(projectId: number, id: number): Promise<Relation | undefined>;
  /** Creates or, with an id, replaces. @returns undefined when there is none to replace @throws changed_meanwhile */
  save(projectId: number, saved: SavedRelation): Promise<Relation | undefined>;
  /** @returns whether it was there @throws changed_meanwhile */
  remove(projectId: number, removed: RemovedRelation): Promise<boolean>;
  listUnbuilt(projectId: number): Promise<readonly number[]>;
  /** Follows the ontology as it is. @returns relations whose index must be made */
  bind(projectId: number): Promise<readonly number[]>;
  buildPage(projectId: number, order: BuildOrder): Promise<BuildPage>;
  /** @returns whether there may be more to remove */
  dropBuilds(projectId: number): Promise<boolean>;
  /** Tries a definition on the catalog. @returns how it does, or why it cannot work @throws search_too_long */
  tryDefinition(
    projectId: number,
    definition: RelationDefinition,
    signal: AbortSignal,
  ): Promise<RelationSurvey | { readonly problem: string }>;
  /** @returns how a relation does; undefined when it is not built */
  survey(projectId: number, id: number, signal: AbortSignal): Promise<RelationSurvey | undefined>;
  /**
   * @returns undefined when the relation is not built, the identifier when a product is not there
   * @throws search_too_long
   */
  explain(
    request: ExplainInput,
    signal: AbortSignal,
  ): Promise<RelationExplanation | { readonly unknown: string } | undefined>;
  /**
   * @returns what each relation that is built does with a product; undefined when that is not there
   * @throws search_too_long
   */
  relateProduct(
    request: ProductRelationsInput,
    signal: AbortSignal,
  ): Promise<readonly ProductRelation[] | undefined>;
  /**
   * Related products of one product, `{"tags":[…]}`, or in the bulk form of several, as members of an object with
   * commas between, and within `head` and `tail`; in the order asked, out of memory where it can be.
   * @throws search_too_long
   */
  relate(request: RelateInput, frame: Frame, caller: WaitingCaller): Promise<Buffer>;
}
