import type { Operator } from '../../catalog/filters/filters.ts';
import type { Membership, PackedMembership } from '../memberships/memberships.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';

/**
 * One state of a catalog, as answers read it. A view may not have fetched yet what it is asked for: it then
 * returns the minimum (no candidates, nothing found) and records that. The result is discarded and made again
 * once the missing part is fetched, so code that reads a view must have no effect but its result.
 */
export interface RelationView {
  /**
   * @returns the result of `make`, cached if it lacked nothing the first time. Each call has its own key, and
   * reads whatever it needs from the view itself.
   */
  once<Result>(key: string, make: () => Result): Result;
  /** @returns what `make` makes, remembered for other products too; only where everything is at hand */
  readonly share?: ShareLists;
  findSource(identifier: string): FoundSource | undefined;
  /** @returns matching products by rank, then id; a product with several matching keys is repeated */
  listCandidates(search: CandidateSearch): Iterable<Candidate>;
  /** @returns the products of a group that are on any side of any relation */
  listVariants(group: string): readonly Variant[];
  /** @returns the present products that a product is listed with, in the order of the list, up to `LINKED_AT_MOST` */
  listLinked(search: LinkSearch): readonly LinkedProduct[];
  /** @returns the id of its document; absent if that is only read together with its contents */
  findDocument?(productId: number): number | undefined;
  /** @returns its upload as JSON; undefined only if it is not fetched yet, as the view itself named the product */
  findRaw(productId: number): string | undefined;
  /** @returns the id of a category path, as JSON; undefined only if it is not fetched yet */
  findCategoryId(path: string): number | undefined;
  findIdentifier(productId: number): string;
  findUpload(identifier: string): StoredUpload | undefined;
}

/** What is known about a catalog before it is read. */
export interface CatalogMark {
  readonly version: number;
  /** If statements are prepared: which tables are large by now, as those need another plan. */
  readonly scale: number;
}

/** `weigh`: the approximate size of an item in bytes; `describe`: for a list that may outlive its version of the catalog. */
export type ShareLists = <Item>(
  key: string,
  make: () => readonly Item[],
  how: { weigh(item: Item): number; describe?(list: readonly Item[]): ListBasis },
) => readonly Item[];

/** A list stays the same while its products keep their documents and no new document stands in its places. */
export interface ListBasis {
  readonly products: readonly number[];
  readonly places: readonly string[];
}

/** @param key empty: anywhere on the side */
export const placeOf = ({ build, side }: Pick<Membership, 'build' | 'side'>, key: string) =>
  `${build} ${side} ${key}`;

/** A requested product, with its place in relations. */
export interface FoundSource {
  readonly productId: number;
  readonly group: string;
  readonly memberships: readonly Membership[];
}

/** A matching product on the other side. */
export interface Candidate {
  readonly productId: number;
  readonly group: string;
  /** Its rank, as text with the same order; set for lists that are merged. */
  readonly rank?: string;
  /** Absent if it was not read with it. */
  readonly identifier?: string;
}

/** A search in a list: entries on `side` that are paired with the identifier on the other one. */
export interface LinkSearch {
  readonly build: number;
  readonly side: Side;
  readonly identifier: string;
}

export interface LinkedProduct extends Candidate {
  /** The position of the target among those of the source, from 0. */
  readonly place: number;
  /** The quantity of the target that the source takes; null if not given. */
  readonly quantity: number | null;
}

/** A source has no more targets; a target may have any number of sources, of which the first ones count. */
export const LINKED_AT_MOST = 1_000;

/** A search on a side of a build: for what is opposite `opposite`. */
export interface CandidateSearch {
  readonly build: number;
  readonly side: Side;
  readonly opposite: Membership;
  /** The operators of the rule's comparisons, read from the target. */
  readonly operators: readonly Operator[];
  /** The number of groups. */
  readonly limit: number;
  /** A group to leave out. */
  readonly excluded: string | undefined;
  /** Whether it is read alternately with other lists. */
  readonly isMerged?: boolean;
}

/** @returns the entries of all lists, by rank, then id */
export function mergeRanked<Ranked extends Candidate>(lists: readonly Iterable<Ranked>[]): Iterable<Ranked> {
  const [only] = lists;
  return only !== undefined && lists.length === 1 ? only : mergeAll(lists);
}

function* mergeAll<Ranked extends Candidate>(lists: readonly Iterable<Ranked>[]): Generator<Ranked, void> {
  const heads = lists.flatMap((list) => {
    const rest = list[Symbol.iterator]();
    const { value: next } = rest.next();
    return next === undefined ? [] : [{ rest, next: next as Ranked }];
  });
  while (heads.length > 0) {
    const best = heads.reduce((first, head) => (compareRanked(head.next, first.next) < 0 ? head : first));
    yield best.next;
    const { value: next } = best.rest.next();
    if (next === undefined) heads.splice(heads.indexOf(best), 1);
    else best.next = next as Ranked;
  }
}

function compareRanked({ rank: a = '', ...one }: Candidate, { rank: b = '', ...other }: Candidate): number {
  if (a === b) return one.productId - other.productId;
  return a < b ? -1 : 1;
}

export interface Variant {
  readonly productId: number;
  /** Its memberships as they are stored: of many variants one membership each is looked at. */
  readonly packed: string | readonly PackedMembership[];
}

/** A product in the catalog, with its upload. */
export interface StoredUpload {
  readonly productId: number;
  /** As JSON. */
  readonly raw: string;
}

/** Expected candidates of the group to leave out. */
const OWN_GROUP = 4;

/** @returns how many candidates usually suffice for a number of groups: some have more than one */
export const expectCandidates = (limit: number) => limit * 2 + OWN_GROUP;

/** A row costs at least 1 µs: the first page is expected to suffice, the next ones grow. */
export const growPage = (size: number) => Math.min(size * 4, 4_096);

/**
 * For each of the rule's comparisons, the operator between a row's value on the left and that of `opposite`
 * on the right: matches are read from the target, so for a source they are reversed.
 */
export const SQL_OPERATORS: Readonly<Record<Exclude<Operator, 'equals'>, Readonly<Record<Side, string>>>> = {
  notEquals: { target: '<>', source: '<>' },
  less: { target: '<', source: '>' },
  lessOrEqual: { target: '<=', source: '>=' },
  greater: { target: '>', source: '<' },
  greaterOrEqual: { target: '>=', source: '<=' },
};

/** A condition for members of a list, in the form of the store's values. */
export interface Comparison {
  /** The index among the rule's comparisons, from 0. */
  readonly at: number;
  /** The operator, with the member's value on the left and this one on the right. */
  readonly sql: string;
  readonly value: Uint8Array;
  /** The value as text with the same order. */
  readonly text: string;
}

/** @returns the comparisons of a search for which its product has a value */
export const listComparisons = ({ side, opposite, operators }: CandidateSearch, encoding: 'hex' | 'latin1') =>
  operators.flatMap((operator, at): Comparison[] => {
    const base64 = opposite.compared[at] ?? null;
    if (base64 === null) return [];
    const value = Buffer.from(base64, 'base64');
    const sql = SQL_OPERATORS[operator as 'less'][side];
    return [{ at, sql, value, text: value.toString(encoding) }];
  });

/** @param value null: for an inequality, a member with several values, of which one differs */
export function holdsFor({ sql, text }: Comparison, value: string | null): boolean {
  if (value === null) return sql === '<>';
  if (sql === '<>') return value !== text;
  if (sql.startsWith('<')) return value < text || (sql === '<=' && value === text);
  return value > text || (sql === '>=' && value === text);
}

/**
 * If fewer than this are in reach of a comparison, they are read and sorted, at 1 µs each; else the index is read
 * in the order of rank, where in a million members with 500 in reach each result costs 2,000 rows of 0.15 µs.
 */
export const SORTED_AT_MOST = 500;

/** The next candidates of a list. */
export interface VariantSearch extends CandidateSearch {
  readonly size: number;
  /** Where the previous page ended. */
  readonly after: RankedPlace | undefined;
}

export interface RankedPlace {
  /** In hexadecimal. */
  readonly rank: string;
  readonly productId: number;
}
