import type { ChangeOrder, DeleteLimit } from '../catalog/catalog.ts';
import type { RawBody } from '../http/http.ts';
import type { ExpectedStates } from '../storage/storage.ts';
import type { RelateInput } from './answers/answers.ts';
import type { Relation, RelationDefinition } from './definitions/definitions.ts';
import type { LinkLine } from './links/links.ts';
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

/** The answers of one step, in their frame. */
export interface RelatedBytes {
  readonly bytes: Buffer;
  /** Says that the bytes are sent; they may be written over from then on. */
  release(): void;
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

/** `change`: of the sources that the list names. */
export type LinkMode = 'replace' | 'change';

/** A list of links as it came. */
export interface SentLinks extends RawBody {
  readonly relationId: number;
  readonly maxMib: number;
  /** Whether the pairs that are there already are counted. */
  readonly isCounted: boolean;
}

export interface AcceptedLinks {
  /** Pieces of the list, in order, each a JSON list of lines. */
  readonly payloadNames: readonly string[];
  /** Pairs of the relation, and those of them that the list has too; 0 where they are not counted. */
  readonly present: number;
  readonly kept: number;
}

export interface StagedPiece {
  /** Of the staged list. */
  readonly build: number;
  readonly lines: readonly LinkLine[];
}

export interface LinkOrder extends ChangeOrder, DeleteLimit {
  readonly relationId: number;
  readonly mode: LinkMode;
  readonly staged: number;
}

export interface ListSize {
  readonly sources: number;
  readonly pairs: number;
}

export type LinkResult =
  | ({ readonly kind: 'done' } & ListSize & Record<'created' | 'deleted' | 'unchanged', number>)
  | { readonly kind: 'guarded'; readonly present: number; readonly deleted: number }
  /** The relation is gone. */
  | { readonly kind: 'missing' };

export interface LinkPage {
  readonly relationId: number;
  /** Of this source only. */
  readonly source: string | undefined;
  /** The last line read before. */
  readonly after: number;
  readonly limit: number;
}

export interface ReadLine extends LinkLine {
  readonly line: number;
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
  remove(projectId: number, removed: RemovedRelation & { readonly at: number }): Promise<boolean>;
  listUnbuilt(projectId: number): Promise<readonly number[]>;
  /** Follows the ontology as it is. @returns relations whose index must be made */
  bind(projectId: number, at: number): Promise<readonly number[]>;
  buildPage(projectId: number, order: BuildOrder): Promise<BuildPage>;
  /** @returns whether there may be more to remove */
  dropBuilds(projectId: number): Promise<boolean>;
  /**
   * Checks a list of links and stores it in pieces.
   * @throws request_invalid that names lines, body_too_large, body_not_unpacked, storage_full; then nothing is kept
   */
  acceptLinks(projectId: number, sent: SentLinks): Promise<AcceptedLinks>;
  /** Begins a list that is staged. @returns its build; undefined when there is no relation */
  beginLinks(projectId: number, relationId: number): Promise<number | undefined>;
  /** @returns sources that have more targets than a source may have @throws not_ready when the list was let go */
  stageLinks(projectId: number, piece: StagedPiece): Promise<readonly string[]>;
  /** @throws not_ready when the list was let go */
  applyLinks(projectId: number, order: LinkOrder): Promise<LinkResult>;
  /** Lets go of a list that was staged, unless it is in place. */
  freeLinks(projectId: number, build: number): Promise<void>;
  /** @returns lines of the list that answers; undefined for a relation without one */
  readLinks(projectId: number, page: LinkPage): Promise<readonly ReadLine[] | undefined>;
  /** Tries a definition on the catalog. @returns how it does, or why it cannot work @throws search_too_long */
  tryDefinition(
    projectId: number,
    /** `id`: of the relation whose links are taken. `hasCards`: whether products are described too. */
    tried: {
      readonly definition: RelationDefinition;
      readonly id?: number | undefined;
      readonly hasCards?: boolean | undefined;
    },
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
  relate(request: RelateInput, frame: Frame, caller: WaitingCaller): Promise<RelatedBytes>;
}
