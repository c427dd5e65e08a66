import type { Operator } from '../../catalog/filters/filters.ts';
import type { Membership, PackedMembership } from '../memberships/memberships.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';

/**
 * One state of a catalog in the form that answers read. If a view has not fetched the requested part yet, it
 * records that part and returns the minimum: no candidates, no product. The caller then discards its result
 * and repeats the work after the fetch. Code that reads a view must therefore have no other effect than its
 * result.
 */
export interface RelationView {
  /**
   * @returns the result of `make`, which is cached if nothing was missing. Each call has its own key, and
   * `make` reads everything from the view itself.
   */
  once<Result>(key: string, make: () => Result): Result;
  /**
   * @returns the result of `make`, which other products reuse. Only views that are always complete have this
   * method.
   */
  readonly share?: ShareLists;
  findSource(identifier: string): FoundSource | undefined;
  /** @returns matching products by rank, then id. A product with several matching keys is repeated. */
  listCandidates(search: CandidateSearch): Iterable<Candidate>;
  /** @returns the products of a group that are on any side of any relation */
  listVariants(group: string): readonly Variant[];
  /**
   * @returns the present products that a list links with a product, in the order of the list, up to
   * `LINKED_AT_MOST`
   */
  listLinked(search: LinkSearch): readonly LinkedProduct[];
  /**
   * @returns the id of the product's document. The method is absent if the view reads the id only with the
   * contents.
   */
  findDocument?(productId: number): number | undefined;
  /**
   * @returns the product's upload as JSON; undefined only if it is not fetched yet, because the view itself
   * named the product
   */
  findRaw(productId: number): string | undefined;
  /** @returns the id of a category path, which is given as JSON; undefined only if it is not fetched yet */
  findCategoryId(path: string): number | undefined;
  findIdentifier(productId: number): string;
  findUpload(identifier: string): StoredUpload | undefined;
}

/** The state of a catalog that the caller has seen before a thread reads it. */
export interface CatalogMark {
  readonly version: number;
  /**
   * For stores with prepared statements: which tables are already large, because large tables need another
   * plan.
   */
  readonly scale: number;
}

/**
 * `weigh` returns the approximate size of an item in bytes. `describe` is for a list that may outlive its
 * catalog version.
 */
export type ShareLists = <Item>(
  key: string,
  make: () => readonly Item[],
  how: { weigh(item: Item): number; describe?(list: readonly Item[]): ListBasis },
) => readonly Item[];

/**
 * A list remains valid while its products keep their documents and no new document appears at its index
 * positions.
 */
export interface ListBasis {
  readonly products: readonly number[];
  readonly positions: readonly string[];
}

/** @param key '' means any key on the side */
export const positionOf = ({ build, side }: Pick<Membership, 'build' | 'side'>, key: string) =>
  `${build} ${side} ${key}`;

/** A requested product with its memberships. */
export interface FoundSource {
  readonly productId: number;
  readonly group: string;
  readonly memberships: readonly Membership[];
}

/** A matching product on the other side. */
export interface Candidate {
  readonly productId: number;
  readonly group: string;
  /** The rank as text with the same order; set only for lists that are merged. */
  readonly rank?: string;
  /** Absent if the statement did not read it. */
  readonly identifier?: string;
}

/** A search in a list: entries on `side` that the list pairs with `identifier` on the other side. */
export interface LinkSearch {
  readonly build: number;
  readonly side: Side;
  readonly identifier: string;
}

export interface LinkedProduct extends Candidate {
  /** The position of the target among those of the source, from 0. */
  readonly place: number;
  /** The quantity of the target for the source; null if the list gives none. */
  readonly quantity: number | null;
}

/**
 * The limit of targets for one source. A target may have more sources; only the first 1,000 of them count.
 */
export const LINKED_AT_MOST = 1_000;

/** A search on one side of a build, for the product with the membership `opposite` on the other side. */
export interface CandidateSearch {
  readonly build: number;
  readonly side: Side;
  readonly opposite: Membership;
  /** The operators of the rule's comparisons, read from the target. */
  readonly operators: readonly Operator[];
  /** The most groups to find. */
  readonly limit: number;
  /** The group to exclude. */
  readonly excluded: string | undefined;
  /** Whether the list is merged with other lists and therefore read alternately with them. */
  readonly isMerged?: boolean;
}

/** @returns the entries of all lists, by rank, then id */
export function mergeRanked<Ranked extends Candidate>(lists: readonly Iterable<Ranked>[]): Iterable<Ranked> {
  const [only] = lists;
  return only !== undefined && lists.length === 1 ? only : mergeAll(lists);
}

function* mergeAll<Ranked extends Candidate>(lists: readonly Iterable<Ranked>[]): Generator<Ranked, void> {
  const heads = lists.flatMap((list) => {
    const iterator = list[Symbol.iterator]();
    const { value: next } = iterator.next();
    return next === undefined ? [] : [{ iterator, next: next as Ranked }];
  });
  while (heads.length > 0) {
    const best = heads.reduce((first, head) => (compareRanked(head.next, first.next) < 0 ? head : first));
    yield best.next;
    const { value: next } = best.iterator.next();
    if (next === undefined) heads.splice(heads.indexOf(best), 1);
    else best.next = next as Ranked;
  }
}

function compareRanked(
  { rank: a = '', ...first }: Candidate,
  { rank: b = '', ...second }: Candidate,
): number {
  if (a === b) return first.productId - second.productId;
  return a < b ? -1 : 1;
}

export interface Variant {
  readonly productId: number;
  /** The stored memberships. They stay packed because each of many variants needs only one of them. */
  readonly packed: string | readonly PackedMembership[];
}

/** A product in the catalog, with its upload. */
export interface StoredUpload {
  readonly productId: number;
  /** The upload as JSON. */
  readonly raw: string;
}

/** Candidates that a search may find in its excluded group. */
const OWN_GROUP = 4;

/**
 * @returns how many candidates usually suffice for a number of groups; some groups have more than one
 * candidate
 */
export const expectCandidates = (limit: number) => limit * 2 + OWN_GROUP;

/** The first page usually suffices. Later pages grow, because each row costs at least 1 µs. */
export const growPage = (size: number) => Math.min(size * 4, 4_096);

/**
 * For each comparison of the rule, the operator between the value of a row on the left and that of `opposite`
 * on the right. Matches are read from the target, so the operators for a source are reversed.
 */
export const SQL_OPERATORS: Readonly<Record<Exclude<Operator, 'equals'>, Readonly<Record<Side, string>>>> = {
  notEquals: { target: '<>', source: '<>' },
  less: { target: '<', source: '>' },
  lessOrEqual: { target: '<=', source: '>=' },
  greater: { target: '>', source: '<' },
  greaterOrEqual: { target: '>=', source: '<=' },
};

/** A condition on members of a list, with its value encoded as in the store. */
export interface Comparison {
  /** The index of the comparison within the rule, from 0. */
  readonly index: number;
  /** The operator. The value of the member is on its left, and this value is on its right. */
  readonly sql: string;
  readonly value: Uint8Array;
  /** The value as text with the same order. */
  readonly text: string;
}

/** @returns the comparisons of a search for which its product has a value */
export const listComparisons = ({ side, opposite, operators }: CandidateSearch, encoding: 'hex' | 'latin1') =>
  operators.flatMap((operator, index): Comparison[] => {
    const base64 = opposite.compared[index] ?? null;
    if (base64 === null) return [];
    const value = Buffer.from(base64, 'base64');
    const sql = SQL_OPERATORS[operator as 'less'][side];
    return [{ index, sql, value, text: value.toString(encoding) }];
  });

/** @param value null for an inequality whose member has several values, because one of them always differs */
export function holdsFor({ sql, text }: Comparison, value: string | null): boolean {
  if (value === null) return sql === '<>';
  if (sql === '<>') return value !== text;
  if (sql.startsWith('<')) return value < text || (sql === '<=' && value === text);
  return value > text || (sql === '>=' && value === text);
}

/**
 * The limit for sorting. If fewer members are within reach of a comparison, they are read and sorted at 1 µs
 * each. Otherwise the index is read in the order of rank. With 500 of a million members in reach, each result
 * then costs 2,000 rows of 0.15 µs.
 */
export const SORTED_AT_MOST = 500;

/** The next candidates of a list. */
export interface VariantSearch extends CandidateSearch {
  readonly size: number;
  /** The end of the previous page; undefined for the first page. */
  readonly after: RankedPlace | undefined;
}

export interface RankedPlace {
  /** The rank in hexadecimal. */
  readonly rank: string;
  readonly productId: number;
}
