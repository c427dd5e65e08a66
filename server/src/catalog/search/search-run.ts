import { ServiceError } from '../../kernel/errors.ts';
import type { Operation, StopFlag } from '../../storage/threads/threads.ts';
import {
  type ListedPage,
  type ListForm,
  readFront,
  toListItem,
  toTableItem,
  writeTableItem,
} from '../browse/browse.ts';
import { type Comparable, compareValues, readComparables, viewUpload } from '../filters/filters.ts';
import type { CatalogSnapshot, CatalogSnapshots, FoundRow, PlacedRow, SearchTier } from '../port.ts';
import type { UploadedProduct } from '../products/products.ts';
import { type CategoryQuestion, listCategories } from './category-list.ts';
import { FACETED, type Facet, FacetTally } from './facets.ts';
import {
  type HitPlace,
  type IndexOrder,
  LIMITS,
  type OpenIndex,
  openIndex,
  readPlace,
  type SearchLimits,
  startPart,
  writePlace,
} from './search-index.ts';
import { planSearch, type SearchPlan, type SearchQuestion, type SearchSort } from './search-plan.ts';
import { holdsAll, isInTier } from './tiers.ts';
import { listLexemes } from './words.ts';

export interface SearchOrder extends IndexOrder {
  readonly question: SearchQuestion;
}

/** A page of a listing, which has neither facets nor a total. Source: docs/interface.md §14.3 rule 6. */
export interface ListOrder extends SearchOrder {
  readonly form: ListForm;
}

export interface CategoryOrder extends IndexOrder {
  readonly question: CategoryQuestion;
}

export interface SearchAnswer {
  readonly items: readonly FoundProduct[];
  readonly total: number;
  readonly isTotalExact: boolean;
  /** False: products that were changed lately may be missing. */
  readonly isComplete: boolean;
  readonly facets: readonly Facet[];
  /** How many of the best hits the facets are of. */
  readonly facetsOf: number;
  readonly nextCursor: string | null;
}

export type IndexOutcome<Answer> =
  | {
      readonly answer: Answer;
      /** The index lacks a little, which was read beside it. */
      readonly isBehind: boolean;
    }
  | { readonly missing: string };

/** A hit, and where the search goes on behind it. */
export interface Hit {
  readonly row: FoundRow;
  readonly product: UploadedProduct;
  readonly place: HitPlace;
}

/** Its upload is parsed when it is needed: for its item the front is enough. */
class FoundHit implements Hit {
  readonly row: FoundRow;
  readonly place: HitPlace;
  private parsed: UploadedProduct | undefined;

  constructor(row: FoundRow, place: HitPlace) {
    this.row = row;
    this.place = place;
  }

  get product(): UploadedProduct {
    this.parsed ??= JSON.parse(this.row.text) as UploadedProduct;
    return this.parsed;
  }
}

const FIRST: HitPlace = [0, 0];

/** Products that are compared with a filter to count hits, or hits that are sorted. */
export const EXAMINED = 100_000;
/** Hits that are read at once: those of the facets with the next one, which says that there are more; then many. */
const PAGES = [FACETED + 1, 1_000] as const;

/** Of the items of one page of a listing. */
const LISTED_CHARACTERS = 4 * 1024 * 1024;

export function searchOperations(
  snapshots: CatalogSnapshots,
  limits: SearchLimits = LIMITS,
): Record<string, Operation> {
  type Work = (index: OpenIndex) => Promise<unknown>;
  /** @param plan  refuses what cannot be answered, also where there is no index yet */
  const onIndex =
    <Order extends IndexOrder>(plan: (order: Order, snapshot: CatalogSnapshot) => Work | Promise<Work>) =>
    async (order: Order, stop?: StopFlag) => ({
      output: await snapshots.read(order.projectId, async (snapshot) => {
        const work = await plan(order, snapshot);
        const index = await openIndex(snapshot, order.mayLack, { stop, limits });
        return 'missing' in index ? index : { answer: await work(index), isBehind: index.isBehind };
      }),
    });
  const planOf = async (snapshot: CatalogSnapshot, question: SearchQuestion) =>
    planSearch(question, (await snapshot.readOntology()).attributes);
  return {
    searchProducts: onIndex(async ({ question }: SearchOrder, snapshot) => {
      const plan = await planOf(snapshot, question);
      return (index) => new Search(index, plan).answer(question);
    }),
    listFound: onIndex(async ({ question, form }: ListOrder, snapshot) => {
      const plan = await planOf(snapshot, question);
      return (index) => new Search(index, plan).list(question, form);
    }),
    listCategories: onIndex(
      ({ question }: CategoryOrder) =>
        (index) =>
          listCategories(index, question),
    ),
  };
}

class Search {
  private readonly index: OpenIndex;
  private readonly plan: SearchPlan;

  constructor(index: OpenIndex, plan: SearchPlan) {
    this.index = index;
    this.plan = plan;
  }

  async answer(question: SearchQuestion): Promise<SearchAnswer> {
    const { limit, cursor } = question;
    const { sort, byKey } = this.plan;
    const facets = new FacetTally(byKey);
    const sorted = sort && new SortedHits(sort);
    const surveyed = await this.countHits(facets, { most: limit + 1, sorted });
    const counted = this.plan.test === undefined ? await this.count() : surveyed;
    const page = sorted
      ? await this.pageOfSorted(sorted, surveyed, { limit, cursor })
      : toPage(await this.fillPage(surveyed, { limit, cursor }), limit);
    const { total } = counted;
    const isTotalExact = counted.isExact && this.index.newer === undefined;
    const isComplete = this.index.newer === undefined;
    return { ...page, total, isTotalExact, isComplete, facets: facets.list(), facetsOf: facets.products };
  }

  /** Hits in their order; a page ends early with so many characters, or where its time is over. */
  async list({ limit, cursor }: SearchQuestion, form: ListForm): Promise<ListedPage> {
    const isOver = startPart(this.index);
    const items: string[] = [];
    let last = cursor === undefined ? FIRST : readPlace(cursor);
    let characters = 0;
    for await (const hit of this.listFrom(last)) {
      if (items.length === limit || characters > LISTED_CHARACTERS || isOver())
        return { items, nextCursor: writePlace(last) };
      last = hit.place;
      if (!this.holds(hit)) continue;
      const item = form === 'table' ? writeTableItem(hit.row) : toListItem(hit.row);
      items.push(item);
      characters += item.length;
    }
    return { items, nextCursor: null };
  }

  /** Looks at the hits from the first on, as far as facets, a filter or an order need it. */
  private async countHits(facets: FacetTally, request: HitsRequest): Promise<CountedHits> {
    const isEnough = this.endOfCount(facets, request);
    const isOver = startPart(this.index);
    const former = new FormerHits(this.index.newer);
    const seen: CountedHits = {
      hits: [],
      total: 0,
      examined: 0,
      isExact: false,
      isOver: false,
      last: FIRST,
      former,
    };
    for await (const hit of this.listFrom(FIRST, former)) {
      if (isEnough(seen)) return seen;
      if (isOver()) return { ...seen, isOver: true };
      seen.examined += 1;
      seen.last = hit.place;
      if (this.holds(hit)) noteHit(seen, hit, { facets, ...request });
    }
    return { ...seen, isExact: true, last: undefined };
  }

  /** @returns whether what it has seen suffices */
  private endOfCount(facets: FacetTally, { sorted, most }: HitsRequest): (seen: CountedHits) => boolean {
    if (sorted !== undefined) return ({ total }) => total === EXAMINED;
    if (this.plan.test !== undefined) return ({ examined }) => examined === EXAMINED;
    return ({ hits }) => facets.isFull && hits.length >= most;
  }

  /**
   * A page has all its hits, in a time of its own: the first goes on where the survey ended, any other behind its cursor.
   * @throws search_too_long
   */
  private async fillPage(
    { hits, last, former }: CountedHits,
    { limit, cursor }: Pick<SearchQuestion, 'limit' | 'cursor'>,
  ): Promise<Collected> {
    if (cursor !== undefined) return this.collect(readPlace(cursor), { hits: [], limit });
    if (hits.length > limit || last === undefined) return { hits, last };
    return this.collect(last, { hits, limit, former });
  }

  /** Looks for one hit beyond the limit, which says that there is another page. */
  private async collect(
    from: HitPlace,
    { hits: before, limit, former }: { hits: readonly ShownHit[]; limit: number; former?: FormerHits },
  ): Promise<Collected> {
    const hits = [...before];
    const isOver = startPart(this.index);
    for await (const hit of this.listFrom(from, former)) {
      if (this.holds(hit)) hits.push(toShown(hit));
      const isEnd = hits.length > limit || isOver();
      if (isEnd && hits.length < limit) throw this.timeUsedUp();
      if (isEnd) return { hits, last: hit.place };
    }
    return { hits, last: undefined };
  }

  private async pageOfSorted(
    sorted: SortedHits,
    { isExact, isOver }: CountedHits,
    { limit, cursor }: { limit: number; cursor: string | undefined },
  ): Promise<Page> {
    if (isOver) throw this.timeUsedUp();
    if (!isExact) throw new ServiceError('search_too_broad', { values: [EXAMINED] });
    const [from = 0] = cursor === undefined ? [0] : readPlace(cursor);
    const { documents, isEnd } = sorted.page(from, limit);
    const rows = await this.index.snapshot.listDocuments(documents);
    const byDocument = new Map(rows.map((row) => [row.document, row]));
    const items = documents.flatMap((document) => byDocument.get(document) ?? []).map(toItem);
    return { items, nextCursor: isEnd ? null : writePlace([from + limit, 0]) };
  }

  private async count(): Promise<{ readonly total: number; readonly isExact: boolean }> {
    const { counted } = this.plan.tiers;
    const counts = [];
    for (const tier of counted)
      counts.push(await this.index.snapshot.countHits({ tier, newer: this.index.newer }));
    const ofTail = this.index.tail.filter(({ lexemes }) => counted.some((tier) => isInTier(tier, lexemes)));
    return {
      total: counts.reduce((sum, { count }) => sum + count, ofTail.length),
      isExact: counts.every(({ isExact }) => isExact),
    };
  }

  /** Hits behind a place: the best tier first, in each the product that was uploaded longest ago. */
  private async *listFrom(
    [first, document]: HitPlace,
    former = new FormerHits(this.index.newer),
  ): AsyncGenerator<Hit, void> {
    const tiers = [...this.plan.tiers.ranked.entries()].slice(first);
    for (const [at, tier] of tiers) {
      for await (const row of this.listTier(tier, at === first ? document : 0)) {
        const hit = new FoundHit(row, [at, row.document]);
        if (former.stillHolds(tier, hit)) yield hit;
      }
    }
  }

  private async *listTier(tier: SearchTier, behind: number): AsyncGenerator<FoundRow, void> {
    let after = behind;
    let limit: number = PAGES[0];
    for (;;) {
      const { rows, isCut } = await this.index.snapshot.listHits({
        tier,
        after,
        limit,
        newer: this.index.newer,
      });
      yield* rows;
      if (rows.length < limit && !isCut) break;
      after = rows.at(-1)?.document ?? after;
      limit = PAGES[1];
    }
    for (const { row, lexemes } of this.index.tail) {
      if (row.document > behind && isInTier(tier, lexemes)) yield row;
    }
  }

  private holds({ product }: Hit): boolean {
    return this.plan.test?.(viewUpload(product)) ?? true;
  }

  private timeUsedUp(): ServiceError {
    return new ServiceError('search_too_long', { values: [this.index.limits.longestMs / 1_000] });
  }
}

/** Products that are found by a former version, of which the index may have several, are looked at as they are now. */
class FormerHits {
  private readonly newer: number;
  private readonly seen = new Set<number>();

  constructor(newer = Number.POSITIVE_INFINITY) {
    this.newer = newer;
  }

  stillHolds({ all }: SearchTier, hit: Hit): boolean {
    const { id, present } = hit.row;
    if (present <= this.newer) return true;
    if (this.seen.has(id) || !holdsAll(all, listLexemes(hit.product))) return false;
    this.seen.add(id);
    return true;
  }
}

/** What is kept of a hit: its upload may be large. */
interface ShownHit {
  readonly item: FoundProduct;
  readonly place: HitPlace;
}
const toShown = ({ row, place }: Hit): ShownHit => ({ item: toItem(row), place });

interface HitsRequest {
  /** Hits that are kept. */
  readonly most: number;
  readonly sorted: SortedHits | undefined;
}

interface CountedHits {
  readonly hits: ShownHit[];
  total: number;
  examined: number;
  isExact: boolean;
  /** It ended because its time was over. */
  readonly isOver: boolean;
  /** How far it came; undefined: to the end. */
  last: HitPlace | undefined;
  /** What it found by former versions, for a page that goes on behind it. */
  readonly former: FormerHits;
}

function noteHit(
  seen: CountedHits,
  hit: Hit,
  { facets, most, sorted }: HitsRequest & { readonly facets: FacetTally },
): void {
  seen.total += 1;
  sorted?.add(hit);
  if (seen.hits.length < most) seen.hits.push(toShown(hit));
  if (!facets.isFull) facets.add(hit.product, hit.row.text.length);
}

interface Collected {
  readonly hits: readonly ShownHit[];
  /** How far it came; undefined: to the end. */
  readonly last: HitPlace | undefined;
}

type Page = Pick<SearchAnswer, 'items' | 'nextCursor'>;

function toPage({ hits, last }: Collected, limit: number): Page {
  const page = hits.slice(0, limit);
  const behind = hits.length > limit ? page.at(-1)?.place : last;
  return { items: page.map(({ item }) => item), nextCursor: behind ? writePlace(behind) : null };
}

export type FoundProduct = ReturnType<typeof toItem>;

function toItem(row: PlacedRow) {
  const front = readFront(row);
  return { ...toTableItem(row, front), link: front.productUrl };
}

interface Ranked {
  readonly id: number;
  readonly document: number;
  readonly value: Comparable | undefined;
}

/**
 * Hits in the order of an attribute: by the smallest value, descending by the largest; those without one come last, ties by
 * id, as in the answers of relations.
 */
class SortedHits {
  private readonly sort: SearchSort;
  private readonly ranked: Ranked[] = [];

  constructor(sort: SearchSort) {
    this.sort = sort;
  }

  add({ row: { id, present: document }, product }: Hit): void {
    const { attribute, isDescending } = this.sort;
    const values = readComparables(product, attribute).map(({ comparable }) => comparable);
    const value = values.sort(isDescending ? (a, b) => compareValues(b, a) : compareValues)[0];
    this.ranked.push({ id, document, value });
  }

  /** @returns the documents of a page in order */
  page(from: number, limit: number): { readonly documents: readonly number[]; readonly isEnd: boolean } {
    const sign = this.sort.isDescending ? -1 : 1;
    const compare = ({ value: a, id }: Ranked, { value: b, id: other }: Ranked) => {
      if (a === undefined || b === undefined)
        return Number(a === undefined) - Number(b === undefined) || id - other;
      return sign * compareValues(a, b) || id - other;
    };
    const page = this.ranked.sort(compare).slice(from, from + limit);
    return { documents: page.map(({ document }) => document), isEnd: from + limit >= this.ranked.length };
  }
}
