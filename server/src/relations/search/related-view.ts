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
  /** @returns what `make` makes, kept for other products too; only where everything is at hand */
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

/** What a view lacked. */
class Missing {
  readonly sources = new Set<string>();
  readonly pages = new Map<Membership, VariantSearch>();
  /** `WantedLinks` as JSON. */
  readonly links = new Set<string>();
  readonly groups = new Set<string>();
  readonly raws = new Set<number>();
  readonly identifiers = new Set<number>();
  readonly uploads = new Set<string>();
  readonly categories = new Set<string>();

  get count(): number {
    return Object.values(this).reduce((sum: number, { size }: { size: number }) => sum + size, 0);
  }
}

/**
 * A view of what was fetched of one state of a catalog that lies elsewhere. It is made with nothing: run the work on
 * it, fetch what it lacked, and run the work again, until it lacks nothing.
 */
export class FetchedView implements RelationView {
  missing = new Missing();
  /** How often the work asked for what was not there. */
  private isMissing = 0;
  private readonly made = new Map<string, unknown>();
  private readonly sources = new Map<string, FoundSource | undefined>();
  private readonly lists = new Map<Membership, ReadList>();
  private readonly links = new Map<string, readonly LinkedProduct[]>();
  private readonly variants = new Map<string, readonly Variant[]>();
  private readonly raws = new Map<number, string>();
  private readonly identifiers = new Map<number, string>();
  private readonly uploads = new Map<string, StoredUpload | undefined>();
  private readonly categories = new Map<string, number>();

  once<Result>(key: string, make: () => Result): Result {
    if (this.made.has(key)) return this.made.get(key) as Result;
    const before = this.isMissing;
    const made = make();
    if (this.isMissing === before) this.made.set(key, made);
    return made;
  }

  findSource(identifier: string): FoundSource | undefined {
    return this.find(this.sources, this.missing.sources, identifier);
  }

  *listCandidates(search: CandidateSearch): Generator<Candidate, void> {
    const list = this.lists.get(search.opposite);
    yield* list?.candidates ?? [];
    if (list?.isComplete) return;
    const size = list === undefined ? expectCandidates(search.limit) : growPage(list.size);
    this.isMissing += 1;
    this.missing.pages.set(search.opposite, { ...search, size, after: list?.last });
  }

  listVariants(group: string): readonly Variant[] {
    return this.find(this.variants, this.missing.groups, group) ?? [];
  }

  listLinked(search: LinkSearch): readonly LinkedProduct[] {
    return this.find(this.links, this.missing.links, describeLinks(search)) ?? [];
  }

  findRaw(productId: number): string | undefined {
    return this.find(this.raws, this.missing.raws, productId);
  }

  findCategoryId(path: string): number | undefined {
    return this.find(this.categories, this.missing.categories, path);
  }

  findIdentifier(productId: number): string {
    return this.find(this.identifiers, this.missing.identifiers, productId) ?? '';
  }

  findUpload(identifier: string): StoredUpload | undefined {
    return this.find(this.uploads, this.missing.uploads, identifier);
  }

  addSource(identifier: string, source: FoundSource): void {
    this.sources.set(identifier, source);
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

  addVariants(group: string, variants: readonly Variant[]): void {
    this.variants.set(group, variants);
  }

  addLinked(search: LinkSearch, linked: readonly LinkedProduct[]): void {
    this.links.set(describeLinks(search), linked);
  }

  addRaw(productId: number, raw: string): void {
    this.raws.set(productId, raw);
  }

  addIdentifier(productId: number, identifier: string): void {
    this.identifiers.set(productId, identifier);
  }

  addCategoryId(path: string, id: number): void {
    this.categories.set(path, id);
  }

  addUpload(identifier: string, upload: StoredUpload): void {
    this.uploads.set(identifier, upload);
  }

  /** @returns what is known under the key; takes note of it when nothing is */
  private find<Key, Value>(known: ReadonlyMap<Key, Value>, missing: Set<Key>, key: Key): Value | undefined {
    const value = known.get(key);
    if (value !== undefined || known.has(key)) return value;
    missing.add(key);
    this.isMissing += 1;
    return undefined;
  }

  /**
   * All that was missing has been looked for: what did not come is not there.
   * @throws Error for a product that the view itself named
   */
  settle(): void {
    const { sources, uploads, groups, links, raws, identifiers, categories } = this.missing;
    fillAbsent(sources, this.sources, undefined);
    fillAbsent(uploads, this.uploads, undefined);
    fillAbsent(groups, this.variants, []);
    fillAbsent(links, this.links, []);
    fillAbsent(categories, this.categories, 0);
    for (const [ids, found] of [
      [raws, this.raws],
      [identifiers, this.identifiers],
    ] as const) {
      expectAll(ids, found);
    }
    this.missing = new Missing();
  }
}

const describeLinks = ({ build, side, identifier }: LinkSearch) =>
  JSON.stringify({ build, side, identifier } satisfies LinkSearch);

function fillAbsent<Key, Value>(ids: ReadonlySet<Key>, found: Map<Key, Value>, absent: Value): void {
  for (const key of ids) if (!found.has(key)) found.set(key, absent);
}

function expectAll(ids: ReadonlySet<number>, found: ReadonlyMap<number, unknown>): void {
  for (const id of ids) {
    if (!found.has(id)) throw new Error(`the product ${id} is in the join index and not in the catalog`);
  }
}
