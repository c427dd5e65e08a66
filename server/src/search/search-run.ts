import {
  type ListedPage,
  type ListForm,
  readFront,
  toListItem,
  toTableItem,
  writeTableItem,
} from '../catalog/browse/browse.ts';
import type { CatalogSnapshot, CatalogSnapshots, PlacedRow } from '../catalog/catalog.ts';
import { type Comparable, compareValues, readComparables, viewUpload } from '../catalog/filters/filters.ts';
import { refuseLarge } from '../catalog/lookup/lookup.ts';
import { type Attribute, indexByKey } from '../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../catalog/products/products.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type Budget, type Operation, shareText } from '../storage/threads/threads.ts';
import {
  type CategoryQuestion,
  FACETED,
  FacetTally,
  findMeant,
  type HitPlace,
  type IndexOrder,
  LIMITS,
  listCategories,
  type MeantWords,
  type OpenIndex,
  openIndex,
  planSearch,
  readPlace,
  type SearchLimits,
  type SearchPlan,
  type SearchQuestion,
  type SearchSort,
  startPart,
  writePlace,
} from './hits/hits.ts';
import { openSearched } from './index-store/index-store.ts';
import type { FoundRow, HitGroup, SearchTier } from './search-port.ts';
import type { SearchAnswer } from './search-schemas.ts';
import {
  answerShopSearch,
  answerSuggestions,
  CategoryTally,
  type FoundGroups,
  listMainPaths,
  listNamedCategories,
  planShopSearch,
  type ShopQuestion,
  type ShownProduct,
  type Sorting,
} from './shop/shop.ts';
import { holdsAll, isInTier, keyOfGroup, listLexemes, planTiers } from './words/words.ts';

type Order<Question> = IndexOrder & { readonly question: Question };

/** The groups that a question found, to be read one after another in the thread that found them. */
export interface OpenGroups {
  readonly attributes: readonly Attribute[];
  /** The documents of each group, the best first. */
  readonly groups: readonly (readonly number[])[];
  readonly isPartial: boolean;
  /** Of uploads that were read to find the groups. */
  readonly bytes: number;
  /** @returns the group identifiers of these documents, without reading the rest of them */
  nameGroups(documents: readonly number[]): Promise<readonly string[]>;
  /** @returns products of these documents, each with the bytes of its upload */
  read(documents: readonly number[]): Promise<readonly ReadUpload[]>;
}

interface ReadUpload {
  readonly product: UploadedProduct;
  readonly bytes: number;
}

export type GroupQuestion = Pick<ShopQuestion, 'named' | 'offset' | 'limit' | 'filter'> &
  Partial<Pick<ShopQuestion, 'query' | 'filters'>>;

/** @returns what `use` makes of the groups that the question finds @throws query_invalid */
export type FindGroups = <Answer>(
  order: Order<GroupQuestion>,
  use: (found: OpenGroups) => Promise<Answer>,
  budget: Budget,
) => Promise<IndexOutcome<Answer>>;

export type IndexOutcome<Answer> =
  | {
      readonly answer: Answer;
      /** The index lacked a little, which was read in addition. */
      readonly isBehind: boolean;
      /** False: recently changed products may be missing. */
      readonly isComplete: boolean;
    }
  | { readonly missing: string };

interface HitReads {
  readonly missing: number;
  /** Whether more than their fronts is needed. */
  readonly isWhole: boolean;
}
const ALL: HitReads = { missing: Number.POSITIVE_INFINITY, isWhole: true };

/** A hit, and where the search continues after it. Its upload is parsed on demand: the front suffices for its item. */
class Hit {
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

type GroupRange = Pick<ShopQuestion, 'offset' | 'limit'>;

/** A number of products for which the limit of an answer's size applies. */
const MANY = 2;
/** Groups whose names complete a word. */
const SUGGESTED_FROM = 20;
const FIRST: HitPlace = [0, 0];
const PARTIAL = { isTotalExact: false, isComplete: false, nextCursor: null, partial: true } as const;
/** Hits that are grouped before a total is estimated: by the index at 1 µs each, and read at 10. */
const GROUPED = 5_000;
const READ_AT_MOST = 2_000;
/** Characters of hits that are read to group them, once enough groups are known. */
const READ_BYTES = 32 * 1024 * 1024;

/** Hits that are checked one by one, at 2 µs each, if the index has dead entries. */
const COUNTED = 10_000;
/** Checking this many hits takes less time than counting the products. */
const FEW = 1_000;
/** For the next pages and for what many ask; at most 20 MB a thread, as a character may take two bytes. */
const KEPT_COUNTS = 10_000;
const LONGEST_KEY = 1_000;

/** Products that are compared with a filter to count hits, or hits that are sorted. */
export const EXAMINED = 100_000;
/** Hits per read: first those of the facets and the next one, which shows that there are more; then many. */
const PAGES = [FACETED + 1, 1_000] as const;

/** For the items of one page of a listing. */
const LISTED_CHARACTERS = 4 * 1024 * 1024;

export const searchOperations = (snapshots: CatalogSnapshots, limits?: SearchLimits) =>
  openSearch(snapshots, limits).operations;

/** @returns the operations of a thread that searches, and `findGroups` for other operations of this thread */
export function openSearch(
  snapshots: CatalogSnapshots,
  limits: SearchLimits = LIMITS,
): {
  readonly operations: Record<string, Operation> & { readonly searchProducts: Operation };
  readonly findGroups: FindGroups;
} {
  const keep = createKeptCounts();
  interface Work {
    readonly sought?: SearchPlan;
    run(index: OpenIndex): Promise<unknown>;
  }
  /** @param plan refuses what cannot be answered, even if there is no index yet */
  const onIndex =
    <Order extends IndexOrder>(plan: (order: Order, snapshot: CatalogSnapshot) => Work | Promise<Work>) =>
    (order: Order, budget: Budget) =>
      snapshots.read(order.projectId, budget, async (snapshot) => {
        const work = await plan(order, snapshot);
        const scope = { allowIncomplete: order.allowIncomplete, sought: work.sought };
        const countOnce: OpenIndex['countOnce'] = (what, count) => keep(`${order.projectId} ${what}`, count);
        const index = await openIndex(openSearched(snapshot), scope, { budget, limits, countOnce });
        if ('missing' in index) return index;
        const isComplete = index.isMade && index.newer === undefined;
        return { answer: await work.run(index), isBehind: index.isBehind, isComplete };
      });
  const searchBy = <Answer>(plan: SearchPlan, answer: (search: Search) => Promise<Answer>): Work => {
    const run = async (index: OpenIndex) => answer(new Search(index, await readWords(plan, index)));
    return { sought: plan, run };
  };
  const groupBy = async <Answer>(
    snapshot: CatalogSnapshot,
    question: ShopQuestion,
    answer: (search: Search, sorting: Sorting | undefined) => Promise<Answer>,
  ): Promise<Work> => {
    const byKey = await readAttributes(snapshot);
    const categories = await listNamedCategories(snapshot, question);
    const { sorting, question: planned } = planShopSearch(question, { byKey, categories });
    return searchBy(planSearch(planned, byKey), (search) => answer(search, sorting));
  };
  const findGroups: FindGroups = (order, use, budget) => {
    const find = onIndex(({ question }: typeof order, snapshot) =>
      groupBy(snapshot, { ...EVERYTHING, ...question }, (search) => search.useGroups(question, use)),
    );
    return find(order, budget) as ReturnType<typeof find> & Promise<IndexOutcome<never>>;
  };
  const operations = {
    searchProducts: onIndex(async ({ question }: Order<SearchQuestion>, snapshot) => {
      const plan = planSearch(question, await readAttributes(snapshot));
      return searchBy(plan, async (search) => encode(JSON.stringify(await search.answer(question))));
    }),
    searchGroups: onIndex(({ question }: Order<ShopQuestion>, snapshot) =>
      groupBy(snapshot, question, async (search, sorting) => {
        const { suggested } = question;
        if (suggested === undefined)
          return encode(answerShopSearch(question, sorting, await search.group(question)));
        const read = { offset: 0, limit: Math.max(suggested.product, SUGGESTED_FROM) };
        return encode(answerSuggestions({ ...question, suggested }, await search.group(read)));
      }),
    ),
    /** A page of a listing, which has neither facets nor a total. Source: docs/interface §14.3 rule 6. */
    listFound: onIndex(async ({ question, form }: Order<SearchQuestion> & { form: ListForm }, snapshot) => {
      const plan = planSearch(question, await readAttributes(snapshot));
      const run = async (index: OpenIndex) =>
        new Search(index, await readWords(plan, index, false)).list(question, form);
      return { run };
    }),
    listCategories: onIndex(({ question }: Order<CategoryQuestion>) => ({
      run: (index) => listCategories(index, question),
    })),
  };
  return { operations, findGroups };
}

const EVERYTHING = { query: '', filters: [], sort: undefined, locale: '', priceAttribute: '' } as const;

function createKeptCounts() {
  const kept = new BoundedMap<string, { readonly count: unknown }>({ most: KEPT_COUNTS });
  return async <Count>(key: string, count: () => Promise<Count>): Promise<Count> => {
    const known = kept.get(key);
    if (known !== undefined) return known.count as Count;
    const made = await count();
    if (key.length <= LONGEST_KEY) kept.set(key, { count: made });
    return made;
  };
}

const readAttributes = async (snapshot: CatalogSnapshot) =>
  indexByKey((await snapshot.readOntology()).attributes);

/** @param answer JSON, so that the serving thread only sends it @throws answer_too_large */
function encode(answer: string): Uint8Array {
  const bytes = shareText(answer);
  refuseLarge(bytes.length, MANY);
  return bytes;
}

/** @returns the plan with the words of the index: what begins as those of the question, and, if errors are forgiven, what these may mean */
async function readWords(plan: SearchPlan, index: OpenIndex, isForgiving = true) {
  if (!index.isMade) return plan;
  const asked = plan.tiers.ranked.flatMap(({ all }) => all.flat());
  const begun = await index.snapshot.findBegun(asked.filter((one) => one.endsWith('*')));
  const nothing: MeantWords = { meant: [], isCut: false };
  const { meant, isCut } = isForgiving ? await findMeant(plan.worded.words, index) : nothing;
  return { ...plan, isCut, tiers: planTiers({ ...plan.worded, meant, begun }) };
}

interface Count {
  readonly total: number;
  /** False if there are so many that documents without a product are counted too. */
  readonly isExact: boolean;
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
    const isComplete = this.index.newer === undefined && this.plan.isCut !== true;
    const totals = { total: counted.total, isTotalExact: counted.isExact && isComplete, isComplete };
    const found = { ...page, ...totals, facets: facets.list(), facetsOf: facets.products };
    // A place in a part of the catalog is invalid in the index made later.
    return this.index.isMade ? found : { ...found, ...PARTIAL };
  }

  /**
   * Hits by group, each in the place of its best hit. Hits whose uploads need not be read are grouped by the index.
   * @throws search_too_broad, search_too_long
   */
  async group({ offset, limit }: GroupRange): Promise<FoundGroups> {
    const { byKey } = this.plan;
    const facets = new FacetTally(byKey);
    const tally = new CategoryTally();
    const { groups, share } = await this.placeHits(offset + limit, { facets, tally });
    const page = groups.list(offset, limit);
    const rows = await this.readWhole(page.flat());
    return {
      rows,
      groups: page,
      total: Math.round(groups.count * share),
      hits: Math.round(groups.hits * share),
      isTotalExact: share === 1 && this.index.isMade && this.index.newer === undefined,
      facets: facets.list(),
      facetsOf: facets.products,
      categories: tally.list(),
      byKey,
      categoryIds: await this.index.snapshot.findCategories(listMainPaths(rows.values())),
      isPartial: !this.index.isMade || this.plan.isCut === true,
    };
  }

  /** Groups without facets and a total, read one by one. */
  async useGroups<Answer>(
    { offset, limit }: GroupRange,
    use: (found: OpenGroups) => Promise<Answer>,
  ): Promise<Answer> {
    const nothing = { facets: new FacetTally(this.plan.byKey, 0), tally: new CategoryTally() };
    const { groups, bytes } = await this.placeHits(offset + limit, nothing);
    const { attributes } = await this.index.snapshot.readOntology();
    return use({
      attributes,
      groups: groups.list(offset, limit),
      isPartial: !this.index.isMade,
      bytes,
      nameGroups: async (documents) => {
        const fronts = await this.placeRows(() => this.index.snapshot.listFronts(documents));
        return documents
          .flatMap((document) => fronts.get(document) ?? [])
          .map((row) => readFront(row).groupIdentifier);
      },
      read: async (documents) => {
        const rows = await this.placeRows(() => this.index.snapshot.listDocuments(documents));
        return documents.flatMap((document) => {
          const text = rows.get(document)?.text;
          return text === undefined ? [] : [{ product: JSON.parse(text), bytes: text.length }];
        });
      },
    });
  }

  /**
   * @returns as many groups as needed, and an estimated total: as many hits share a group as among those seen
   * @throws search_too_broad, search_too_long
   */
  private async placeHits(
    needed: number,
    { facets, tally }: { readonly facets: FacetTally; readonly tally: CategoryTally },
  ): Promise<{ readonly groups: HitGroups; readonly share: number; readonly bytes: number }> {
    const { sort, test } = this.plan;
    const sorted = sort && new SortedHits(sort);
    const isRead = sorted || test !== undefined || this.isBeyondIndex;
    const groups = new HitGroups();
    const groupOf = new Map<number, number>();
    const place = ({ row: { present: document }, product }: Hit) => {
      const group = keyOfGroup(product.groupIdentifier);
      if (sorted) groupOf.set(document, group);
      else groups.add({ document, group });
    };
    const onHit = (hit: Hit) => {
      if (!facets.isFull) tally.add(hit.product);
      if (isRead) place(hit);
    };
    const isMuch = ({ bytes }: CountedHits) => groups.hits >= READ_AT_MOST || bytes >= READ_BYTES;
    const isEnough = (seen: CountedHits) => groups.count >= needed && isMuch(seen);
    const seen = await this.countHits(facets, { most: 0, sorted, onHit, ...(isRead && { isEnough }) });
    if (sorted) {
      const { documents } = this.pageOfAll(sorted, seen, { offset: 0, limit: groupOf.size });
      groups.addAll(documents, groupOf);
      return { groups, share: 1, bytes: seen.bytes };
    }
    if (!isRead) await this.groupByIndex(groups, needed);
    const [isWhole, examined] = isRead ? [seen.isExact, seen.examined] : [groups.hits < GROUPED, groups.hits];
    const share = facets.isWanted && !isWhole ? await this.shareOf(examined) : 1;
    return { groups, share, bytes: seen.bytes };
  }

  private async shareOf(examined: number): Promise<number> {
    return (await this.count()).total / examined;
  }

  /** Whether some hits are not, or not in their present form, in the index. */
  private get isBeyondIndex(): boolean {
    return this.index.newer !== undefined || !this.index.isMade;
  }

  private async groupByIndex(groups: HitGroups, needed: number): Promise<void> {
    for (const tier of this.plan.tiers.ranked)
      for await (const place of this.listPlaces(tier)) {
        if (groups.hits >= GROUPED && groups.count >= needed) return;
        groups.add(place);
      }
  }

  private async *listPlaces(tier: SearchTier): AsyncGenerator<HitGroup, void> {
    const { snapshot, newer, tail } = this.index;
    for (let after = 0, isMore = true; isMore; ) {
      const places = await snapshot.listPlaces({ tier, after, limit: GROUPED, newer });
      yield* places;
      isMore = places.length === GROUPED;
      after = places.at(-1)?.document ?? after;
    }
    for (const { row, lexemes } of tail)
      if (isInTier(tier, lexemes))
        yield { document: row.document, group: keyOfGroup(readFront(row).groupIdentifier) };
  }

  /** @throws answer_too_large before any is read */
  private async readWhole(documents: readonly number[]): Promise<ReadonlyMap<number, ShownProduct>> {
    const { snapshot, isMade } = this.index;
    refuseLarge(isMade ? await snapshot.weighDocuments(documents) : 0, documents.length);
    const rows = await this.placeRows(() => snapshot.listDocuments(documents));
    const found = documents.flatMap((document) => rows.get(document) ?? []);
    return new Map(found.map((row) => [row.document, { ...row, product: JSON.parse(row.text) }]));
  }

  private async placeRows(read: () => Promise<readonly PlacedRow[]>) {
    const { tail, isMade } = this.index;
    const rows = isMade ? await read() : tail.map(({ row }) => row);
    return new Map(rows.map((row) => [row.document, row]));
  }

  /** Hits in order; a page ends early at this many characters, or when its time is up. */
  async list({ limit, cursor }: SearchQuestion, form: ListForm): Promise<ListedPage> {
    const isOver = startPart(this.index);
    const items: string[] = [];
    let last = cursor === undefined ? FIRST : readPlace(cursor);
    let characters = 0;
    const next = () => this.readsOf({ missing: limit + 1 - items.length, isWhole: form !== 'table' });
    for await (const hit of this.listFrom(last, next)) {
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

  /** Reads the hits from the first on, as far as facets, a filter or an order require. */
  private async countHits(facets: FacetTally, request: HitsRequest): Promise<CountedHits> {
    const isEnough = this.endOfCount(facets, request);
    const isOver = startPart(this.index);
    const former = new FormerHits(this.index.newer);
    const counts = { total: 0, examined: 0, bytes: 0, isExact: false, isOver: false };
    const seen: CountedHits = { hits: [], ...counts, last: FIRST, former };
    const next = () =>
      facets.isFull && request.sorted === undefined
        ? this.readsOf({ missing: request.most - seen.hits.length, isWhole: false })
        : ALL;
    for await (const hit of this.listFrom(FIRST, next, former)) {
      if (isEnough(seen)) return seen;
      if (isOver()) return { ...seen, isOver: true };
      seen.examined += 1;
      seen.bytes += hit.row.text.length;
      seen.last = hit.place;
      if (!this.holds(hit)) continue;
      request.onHit?.(hit);
      noteHit(seen, hit, { facets, ...request });
    }
    return { ...seen, isExact: true, last: undefined };
  }

  /** @returns a function that tells if it has seen enough */
  private endOfCount(
    facets: FacetTally,
    { sorted, most, isEnough }: HitsRequest,
  ): (seen: CountedHits) => boolean {
    if (sorted !== undefined) return ({ total }) => total === EXAMINED;
    if (isEnough !== undefined) return (seen) => seen.examined === EXAMINED || isEnough(seen);
    if (this.plan.test !== undefined) return ({ examined }) => examined === EXAMINED;
    return ({ hits }) => facets.isFull && hits.length >= most;
  }

  /**
   * A page has all its hits, in its own time: the first continues where the survey ended, all others after their cursor.
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

  /** Looks for one hit beyond the limit, which shows that there is another page. */
  private async collect(
    from: HitPlace,
    { hits: before, limit, former }: { hits: readonly ShownHit[]; limit: number; former?: FormerHits },
  ): Promise<Collected> {
    const hits = [...before];
    const isOver = startPart(this.index);
    const next = () => this.readsOf({ missing: limit + 1 - hits.length, isWhole: false });
    for await (const hit of this.listFrom(from, next, former)) {
      if (this.holds(hit)) hits.push(toShown(hit));
      const isEnd = hits.length > limit || isOver();
      if (isEnd && hits.length < limit) throw this.timeUsedUp();
      if (isEnd) return { hits, last: hit.place };
    }
    return { hits, last: undefined };
  }

  private async pageOfSorted(
    sorted: SortedHits,
    seen: CountedHits,
    { limit, cursor }: Pick<SearchQuestion, 'limit' | 'cursor'>,
  ): Promise<Page> {
    const [offset] = cursor === undefined ? FIRST : readPlace(cursor);
    const { documents, isEnd } = this.pageOfAll(sorted, seen, { offset, limit });
    const byDocument = await this.placeRows(() => this.index.snapshot.listFronts(documents));
    const items = documents.flatMap((document) => byDocument.get(document) ?? []).map(toItem);
    return { items, nextCursor: isEnd ? null : writePlace([offset + limit, 0]) };
  }

  /** @throws search_too_broad, search_too_long if not all hits are sorted */
  private pageOfAll(sorted: SortedHits, { isExact, isOver }: CountedHits, page: GroupRange) {
    if (isOver) throw this.timeUsedUp();
    if (!isExact) throw new ServiceError('search_too_broad', { values: [EXAMINED] });
    return sorted.page(page);
  }

  private async count(): Promise<Count> {
    const { counted } = this.plan.tiers;
    const counts: Count[] = [];
    for (const tier of counted) if (this.index.isMade) counts.push(await this.countTier(tier));
    const ofTail = this.index.tail.filter(({ lexemes }) => counted.some((tier) => isInTier(tier, lexemes)));
    return {
      total: counts.reduce((sum, { total }) => sum + total, ofTail.length),
      isExact: counts.every(({ isExact }) => isExact),
    };
  }

  private async countTier(tier: SearchTier): Promise<Count> {
    const { snapshot, newer, state, countOnce } = this.index;
    const isWhole = newer === undefined && state?.version === state?.presentVersion;
    const count = async (): Promise<Count> => {
      const total = await snapshot.countEntries(tier);
      const countProducts = () => countOnce(String(state?.version), snapshot.countProducts);
      const dead = isWhole && state && total > FEW ? state.documents - (await countProducts()) : total;
      if (dead === 0) return { total, isExact: true };
      if (total - dead > COUNTED) return { total, isExact: false };
      const living = await snapshot.countHits({ tier, newer, limit: COUNTED + 1 });
      return living <= COUNTED ? { total: living, isExact: true } : { total, isExact: false };
    };
    return isWhole ? countOnce(JSON.stringify([state, tier.all, tier.except]), count) : count();
  }

  /** Hits after a place: the best tier first, in each the product that was uploaded longest ago. */
  private async *listFrom(
    [first, document]: HitPlace,
    next: () => HitReads,
    former = new FormerHits(this.index.newer),
  ): AsyncGenerator<Hit, void> {
    const tiers = [...this.plan.tiers.ranked.entries()].slice(first);
    for (const [at, tier] of tiers)
      for await (const row of this.listTier(tier, at === first ? document : 0, next)) {
        const hit = new Hit(row, [at, row.document]);
        if (former.stillHolds(tier, hit)) yield hit;
      }
  }

  private async *listTier(tier: SearchTier, behind: number, next: () => HitReads) {
    const { snapshot, newer, isMade } = this.index;
    let after = behind;
    for (let most: number = PAGES[0], isMore = isMade; isMore; most = PAGES[1]) {
      const { missing, isWhole } = next();
      const limit = Math.min(most, missing);
      const { rows, isCut } = await snapshot.listHits({ tier, after, limit, newer, isWhole });
      yield* rows;
      isMore = rows.length === limit || isCut;
      after = rows.at(-1)?.document ?? after;
    }
    for (const { row, lexemes } of this.index.tail) {
      if (row.document > behind && isInTier(tier, lexemes)) yield row;
    }
  }

  private holds(hit: Hit): boolean {
    return this.plan.test?.(viewUpload(hit.product)) ?? true;
  }

  /** @returns the same, or as many as possible if each hit must be checked */
  private readsOf({ missing, isWhole }: HitReads): HitReads {
    const isLookedAt = this.plan.test !== undefined || this.index.newer !== undefined;
    return isLookedAt ? ALL : { missing: Math.max(missing, 1), isWhole };
  }

  private timeUsedUp(): ServiceError {
    return new ServiceError('search_too_long', { values: [this.index.limits.longestMs / 1_000] });
  }
}

/** The most products of a group that are shown; a search reads the uploads of all of them. */
const SHOWN_OF_GROUP = 100;

/** Hits by group, groups and hits in the order in which they are found. */
export class HitGroups {
  private readonly documents = new Map<number, number[]>();
  hits = 0;

  get count(): number {
    return this.documents.size;
  }

  add({ document, group }: HitGroup): void {
    this.hits += 1;
    const known = this.documents.get(group);
    if (known === undefined) this.documents.set(group, [document]);
    else if (known.length < SHOWN_OF_GROUP) known.push(document);
  }

  addAll(documents: readonly number[], groupOf: ReadonlyMap<number, number>): void {
    for (const document of documents) this.add({ document, group: groupOf.get(document) ?? 0 });
  }

  list(offset: number, limit: number): readonly (readonly number[])[] {
    return this.documents.values().drop(offset).take(limit).toArray();
  }
}

/** Products found by a former version, of which the index may have several, are checked in their present form. */
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

/** The part of a hit that is shown, as its upload may be large. */
interface ShownHit {
  readonly item: ReturnType<typeof toItem>;
  readonly place: HitPlace;
}
const toShown = ({ row, place }: Hit): ShownHit => ({ item: toItem(row), place });

interface HitsRequest {
  onHit?(hit: Hit): void;
  /** For hits that are checked one by one. */
  isEnough?: (seen: CountedHits) => boolean;
  /** Of the hits that are returned. */
  readonly most: number;
  readonly sorted: SortedHits | undefined;
}

interface CountedHits {
  readonly hits: ShownHit[];
  total: number;
  examined: number;
  /** Of the uploads that were examined, about. */
  bytes: number;
  isExact: boolean;
  /** Whether it ended because its time was up. */
  readonly isOver: boolean;
  /** How far it came; undefined: to the end. */
  last: HitPlace | undefined;
  /** What it found by former versions, for a page that continues after it. */
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

type Collected = Readonly<Pick<CountedHits, 'hits' | 'last'>>;

type Page = Pick<SearchAnswer, 'items' | 'nextCursor'>;

function toPage({ hits, last }: Collected, limit: number): Page {
  const page = hits.slice(0, limit);
  const behind = hits.length > limit ? page.at(-1)?.place : last;
  return { items: page.map(({ item }) => item), nextCursor: behind ? writePlace(behind) : null };
}

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
 * Hits ordered by an attribute: by the smallest value, or the largest if descending; those without one come
 * last, ties by id, as in answers of relations.
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

  page({ offset, limit }: GroupRange): { readonly documents: readonly number[]; readonly isEnd: boolean } {
    const sign = this.sort.isDescending ? -1 : 1;
    const compare = ({ value: a, id }: Ranked, { value: b, id: other }: Ranked) => {
      if (a === undefined || b === undefined)
        return Number(a === undefined) - Number(b === undefined) || id - other;
      return sign * compareValues(a, b) || id - other;
    };
    const page = this.ranked.sort(compare).slice(offset, offset + limit);
    return { documents: page.map(({ document }) => document), isEnd: offset + limit >= this.ranked.length };
  }
}
