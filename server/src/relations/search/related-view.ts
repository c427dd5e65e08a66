import type { Operator } from '../../catalog/filters/filters.ts';
import type { Side } from '../definitions/definitions.ts';
import type { Membership, PackedMembership } from '../memberships/memberships.ts';

/**
 * One state of a catalog, as answers read it. A view may not have fetched yet what it is asked for: it then gives the
 * least that it can (no candidates, nothing found) and takes note. What was made of it is thrown away and made again
 * once that is fetched; so a reader of a view has no effect but its result.
 */
export interface RelationView {
  /**
   * @returns what `make` makes of the view, out of memory where it lacked nothing the first time. Each has its own key,
   * and reads by itself whatever it needs of the view.
   */
  once<Result>(key: string, make: () => Result): Result;
  /** @returns what `make` makes, remembered for other products too; only where everything is at hand */
  readonly share?: ShareLists;
  findSource(identifier: string): FoundSource | undefined;
  /** @returns matching products by rank, then id; of a product with several matching keys several times */
  listCandidates(search: CandidateSearch): Iterable<Candidate>;
  /** @returns the products of a group that stand on any side of any relation */
  listVariants(group: string): readonly Variant[];
  /** @returns what a product is listed with and is in the catalog, in the order of the list, up to `LINKED_AT_MOST` */
  listLinked(search: LinkSearch): readonly LinkedProduct[];
  /** @returns the id of its document; absent: only together with all that the document holds */
  findDocument?(productId: number): number | undefined;
  /** @returns its upload as JSON; undefined only when it is not fetched yet: the product is one that the view named */
  findRaw(productId: number): string | undefined;
  /** @returns the id of a category path, as JSON; undefined only when it is not fetched yet */
  findCategoryId(path: string): number | undefined;
  findIdentifier(productId: number): string;
  findUpload(identifier: string): StoredUpload | undefined;
}

/** What is met of a catalog before it is read. */
export interface CatalogMark {
  readonly version: number;
  /** Where statements are prepared: which tables are large by now, for another plan is right then. */
  readonly scale: number;
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
  /** Where it stands, as text that sorts so; those of lists that are merged have it. */
  readonly rank?: string;
}

/** What is looked for in a list: those on `side` that stand with the identifier on the other one. */
export interface LinkSearch {
  readonly build: number;
  readonly side: Side;
  readonly identifier: string;
}

export interface LinkedProduct extends Candidate {
  /** Of the target among those of the source, from 0. */
  readonly place: number;
  /** How many of the target the source takes; null where that is not said. */
  readonly quantity: number | null;
}

/** A source has no more targets; a target may have any number of sources, of which the first ones count. */
export const LINKED_AT_MOST = 1_000;

/** What is looked for on a side of a build: what stands opposite to `opposite`. */
export interface CandidateSearch {
  readonly build: number;
  readonly side: Side;
  readonly opposite: Membership;
  /** Of the rule's comparisons, read from the target. */
  readonly operators: readonly Operator[];
  /** How many groups. */
  readonly limit: number;
  /** A group that is left out. */
  readonly excluded: string | undefined;
  /** Whether other lists are read in turn with it. */
  readonly isMerged?: boolean;
}

/** @returns what all lists have, by rank, then id */
export function* mergeRanked<Ranked extends Candidate>(
  lists: readonly Iterable<Ranked>[],
): Generator<Ranked, void> {
  const [only] = lists;
  // A statement that is read row by row is open until its list ends, or its reader does.
  if (only !== undefined && lists.length === 1) return yield* only;
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

/** What a member of a list must have, as the store writes values. */
export interface Comparison {
  /** Of the rule's comparisons, from 0. */
  readonly at: number;
  /** Left of it stands the member's value, right of it this one. */
  readonly sql: string;
  readonly value: Uint8Array;
  /** The value as text that sorts so. */
  readonly text: string;
}

/** @returns those of a search whose product has a value to compare with */
export const listComparisons = (
  { side, opposite, operators }: CandidateSearch,
  encoding: 'hex' | 'latin1',
): Comparison[] =>
  operators.flatMap((operator, at): Comparison[] => {
    const base64 = opposite.compared[at] ?? null;
    if (base64 === null) return [];
    const value = Buffer.from(base64, 'base64');
    const sql = SQL_OPERATORS[operator as 'less'][side];
    return [{ at, sql, value, text: value.toString(encoding) }];
  });

/** @param value  null: of an inequality a member has none when it has several values, of which one differs */
export function holdsFor({ sql, text }: Comparison, value: string | null): boolean {
  if (value === null) return sql === '<>';
  if (sql === '<>') return value !== text;
  if (sql.startsWith('<')) return value < text || (sql === '<=' && value === text);
  return value > text || (sql === '>=' && value === text);
}

/**
 * Fewer than this in reach of a comparison are read and sorted, which takes 1 µs each; else the index is read in the
 * order of rank, where in a million members with 500 in reach each result costs 2,000 rows of 0.15 µs.
 */
export const SORTED_AT_MOST = 500;

/** The next candidates of a list. */
export interface VariantSearch extends CandidateSearch {
  readonly size: number;
  /** Where the page before ended. */
  readonly after: RankedPlace | undefined;
}

export interface RankedPlace {
  /** In hexadecimal. */
  readonly rank: string;
  readonly productId: number;
}

/** Candidates as far as they are read. */
interface ReadList {
  readonly candidates: Candidate[];
  readonly last: RankedPlace | undefined;
  readonly size: number;
  readonly isComplete: boolean;
}

/** What a view has of one kind. */
class Fetched<Key, Value> {
  /** What it was asked for and did not have. */
  readonly missing = new Set<Key>();
  /** How often. */
  misses = 0;
  private readonly known = new Map<Key, Value>();
  private readonly absent: (key: Key) => Value;

  /** @param absent  what stands for what is looked for and does not come */
  constructor(absent: (key: Key) => Value) {
    this.absent = absent;
  }

  add(key: Key, value: Value): void {
    this.known.set(key, value);
  }

  find(key: Key): Value | undefined {
    const value = this.known.get(key);
    if (value !== undefined || this.known.has(key)) return value;
    this.missing.add(key);
    this.misses += 1;
    return undefined;
  }

  settle(): void {
    for (const key of this.missing) if (!this.known.has(key)) this.known.set(key, this.absent(key));
    this.missing.clear();
  }
}

function refuseAbsent(productId: number): never {
  throw new Error(`the product ${productId} is in the join index and not in the catalog`);
}

/**
 * A view of what was fetched of one state of a catalog that lies elsewhere. It is made with nothing: run the work on
 * it, fetch what it lacked, and run the work again, until it lacks nothing.
 */
export class FetchedView implements RelationView {
  readonly sources = new Fetched<string, FoundSource | undefined>(() => undefined);
  readonly variants = new Fetched<string, readonly Variant[]>(() => []);
  /** By their `LinkSearch` as JSON. */
  readonly links = new Fetched<string, readonly LinkedProduct[]>(() => []);
  readonly raws = new Fetched<number, string>(refuseAbsent);
  readonly identifiers = new Fetched<number, string>(refuseAbsent);
  readonly uploads = new Fetched<string, StoredUpload | undefined>(() => undefined);
  readonly categories = new Fetched<string, number>(() => 0);
  /** The next pages of lists that were read to their end. */
  readonly pages = new Map<Membership, VariantSearch>();
  private readonly lists = new Map<Membership, ReadList>();
  private readonly made = new Map<string, unknown>();
  private missedPages = 0;

  once<Result>(key: string, make: () => Result): Result {
    if (this.made.has(key)) return this.made.get(key) as Result;
    const before = this.misses;
    const made = make();
    if (this.misses === before) this.made.set(key, made);
    return made;
  }

  findSource(identifier: string): FoundSource | undefined {
    return this.sources.find(identifier);
  }

  *listCandidates(search: CandidateSearch): Generator<Candidate, void> {
    const list = this.lists.get(search.opposite);
    yield* list?.candidates ?? [];
    if (list?.isComplete) return;
    const size = list === undefined ? expectCandidates(search.limit) : growPage(list.size);
    this.missedPages += 1;
    this.pages.set(search.opposite, { ...search, size, after: list?.last });
  }

  listVariants(group: string): readonly Variant[] {
    return this.variants.find(group) ?? [];
  }

  listLinked({ build, side, identifier }: LinkSearch): readonly LinkedProduct[] {
    return this.links.find(JSON.stringify({ build, side, identifier } satisfies LinkSearch)) ?? [];
  }

  findRaw(productId: number): string | undefined {
    return this.raws.find(productId);
  }

  findCategoryId(path: string): number | undefined {
    return this.categories.find(path);
  }

  findIdentifier(productId: number): string {
    return this.identifiers.find(productId) ?? '';
  }

  findUpload(identifier: string): StoredUpload | undefined {
    return this.uploads.find(identifier);
  }

  /** Adds the page to what was read of its list. */
  addPage(
    opposite: Membership,
    { page, last, size }: { page: readonly Candidate[]; last: RankedPlace | undefined; size: number },
  ): void {
    const before = this.lists.get(opposite);
    this.lists.set(opposite, {
      candidates: [...(before?.candidates ?? []), ...page],
      last: last ?? before?.last,
      size,
      isComplete: page.length < size,
    });
  }

  get isComplete(): boolean {
    return this.pages.size === 0 && this.kinds.every(({ missing }) => missing.size === 0);
  }

  /**
   * All that was missing has been looked for: what did not come is not there.
   * @throws Error for a product that the view itself named
   */
  settle(): void {
    for (const kind of this.kinds) kind.settle();
    this.pages.clear();
  }

  private get kinds() {
    const { sources, variants, links, raws, identifiers, uploads, categories } = this;
    return [sources, variants, links, raws, identifiers, uploads, categories];
  }

  private get misses(): number {
    return this.kinds.reduce((sum, { misses }) => sum + misses, this.missedPages);
  }
}
