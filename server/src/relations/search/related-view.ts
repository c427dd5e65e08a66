import type { Operator } from '../../catalog/catalog.ts';
import type { Side } from '../definitions/definitions.ts';
import type { Membership, PackedMembership } from '../memberships/memberships.ts';

/**
 * One state of a catalog, as answers read it. A view may not have fetched yet what it is asked for: it then gives the
 * least that it can (no candidates, nothing found) and takes note. What was made of it is thrown away and made again
 * once that is fetched; so whoever reads a view has no effect but its result.
 */
export interface RelationView {
  /**
   * @returns what `make` makes of the view, out of memory where it lacked nothing the first time. Each has its own key,
   * and reads by itself whatever it needs of the view.
   */
  once<Result>(key: string, make: () => Result): Result;
  /** @returns what `make` makes, kept for other products too; only where everything is at hand */
  readonly share?: ShareLists;
  findSource(identifier: string): FoundSource | undefined;
  /** @returns matching products by rank, then id; of a product with several matching keys several times */
  listCandidates(wanted: Wanted): Iterable<Candidate>;
  /** @returns the products of a group that stand on any side of any relation */
  listVariants(group: string): readonly Variant[];
  /** @returns what a product is listed with and is in the catalog, in the order of the list, up to `LINKED_AT_MOST` */
  listLinked(wanted: WantedLinks): readonly LinkedProduct[];
  /** @returns the id of its document; absent: only together with all that the document holds */
  findDocument?(productId: number): number | undefined;
  /** @returns its upload as JSON; undefined only when it is not fetched yet: the product is one that the view named */
  findRaw(productId: number): string | undefined;
  /** @returns the id of a category path, as JSON; undefined only when it is not fetched yet */
  findCategoryId(path: string): number | undefined;
  findIdentifier(productId: number): string;
  findUpload(identifier: string): StoredUpload | undefined;
}

/** `weigh`: how many bytes an item takes, about. */
export type ShareLists = <Item>(
  key: string,
  make: () => readonly Item[],
  weigh: (item: Item) => number,
) => readonly Item[];

/** A product that is asked about, with what it is in relations. */
export interface FoundSource {
  readonly productId: number;
  readonly group: string;
  readonly memberships: readonly Membership[];
}

/** A product on the other side that matches. */
export interface Candidate {
  readonly productId: number;
  readonly group: string;
}

/** What is looked for in a list: those on `side` that stand with the identifier on the other one. */
export interface WantedLinks {
  readonly build: number;
  readonly side: Side;
  readonly identifier: string;
}

export interface LinkedProduct extends Candidate {
  /** Of the target among those of the source, from 0. */
  readonly place: number;
}

/** A source has no more targets; a target may have any number of sources, of which the first ones count. */
export const LINKED_AT_MOST = 1_000;

/** What is looked for on a side of a build: what stands opposite to `opposite`. */
export interface Wanted {
  readonly build: number;
  readonly side: Side;
  readonly opposite: Membership;
  /** Of the rule's comparisons, read from the target. */
  readonly operators: readonly Operator[];
  /** How many groups. */
  readonly limit: number;
  /** A group that is left out. */
  readonly excluded: string | undefined;
}

export interface Variant {
  readonly productId: number;
  /** Its memberships as they are kept: of many variants one membership each is looked at. */
  readonly packed: string | readonly PackedMembership[];
}

/** A product in the catalog, with its upload. */
export interface StoredUpload {
  readonly productId: number;
  /** JSON. */
  readonly raw: string;
}

/** Candidates of the group that is left out. */
const OWN_GROUP = 4;

/** @returns how many candidates will do, mostly, for so many groups: some have more than one */
export const expectCandidates = (limit: number) => limit * 2 + OWN_GROUP;

const LARGEST_PAGE = 4_096;

/** A row costs 1 µs and more: the first page is what is expected to do, the next ones grow. */
export const growPage = (size: number) => Math.min(size * 4, LARGEST_PAGE);

/**
 * Of the rule's comparisons, what a row must have left of the operator, right of which stands the value of `opposite`:
 * matches are read from the target, so for a source they are turned round.
 */
export const SQL_OPERATORS: Readonly<Record<Exclude<Operator, 'equals'>, Readonly<Record<Side, string>>>> = {
  notEquals: { target: '<>', source: '<>' },
  less: { target: '<', source: '>' },
  lessOrEqual: { target: '<=', source: '>=' },
  greater: { target: '>', source: '<' },
  greaterOrEqual: { target: '>=', source: '<=' },
};

/**
 * Fewer than this in reach of a comparison are read and sorted, which takes 1 µs each; else the index is read in the
 * order of rank, where in a million members with 500 in reach each result costs 2,000 rows of 0.15 µs.
 */
export const SORTED_AT_MOST = 500;
