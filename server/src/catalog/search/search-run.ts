import { ServiceError } from '../../kernel/errors.ts';
import type { Operation, StopFlag } from '../../storage/storage.ts';
import { FRONT_END, type PlacedRow, toTableItem, type UploadFront } from '../browse/browse.ts';
import { viewUpload } from '../filters/filters.ts';
import type { FoundRow } from '../port.ts';
import type { UploadedProduct } from '../products/products.ts';
import type { CatalogSnapshot, CatalogSnapshots } from '../snapshot.ts';
import { FACETED, type Facet, FacetTally } from './facets.ts';
import { canLack, describeProgress, reachOf } from './search-index.ts';
import { planSearch, type SearchPlan, type SearchQuestion } from './search-plan.ts';
import { SortedHits } from './sorted-hits.ts';
import { holdsAll, isInTier, type SearchTier } from './tiers.ts';
import { listLexemes } from './words.ts';

/** A search on one state of a catalog, in a thread. */
export interface SearchOrder {
  readonly projectId: number;
  readonly question: SearchQuestion;
  /** Whether an answer is wanted that may lack products of a change which the index has not taken in. */
  readonly mayLack: boolean;
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

export type SearchOutcome =
  | {
      readonly answer: SearchAnswer /** The index lacks a little, which was looked at beside it. */;
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

export type HitPlace = readonly [tier: number, document: number];
const FIRST: HitPlace = [0, 0];

/** Products that are compared with a filter to count hits, or hits that are sorted. */
export const EXAMINED = 100_000;
/** Of products that are read one by one, for the count and for the page; the rest goes by the index. */
const LONGEST_MS = 5_000;
/** Hits that are read at once: those of the facets with the next one, which says that there are more; then many. */
const PAGES = [FACETED + 1, 1_000] as const;

/** How long each part of a search may take, in ms of the clock beside it. */
export interface SearchLimits {
  readonly longestMs: number;
  now(): number;
}

const LIMITS: SearchLimits = { longestMs: LONGEST_MS, now: () => performance.now() };

export function searchOperations(
  snapshots: CatalogSnapshots,
  limits: SearchLimits = LIMITS,
): Record<string, Operation> {
  return {
    searchProducts: async ({ projectId, ...order }: SearchOrder, stop?: StopFlag) => ({
      output: await snapshots.read(projectId, (snapshot) => runSearch(snapshot, order, { stop, limits })),
    }),
  };
}

async function runSearch(
  snapshot: CatalogSnapshot,
  { question, mayLack }: Omit<SearchOrder, 'projectId'>,
  ending: Pick<Beside, 'stop' | 'limits'>,
): Promise<SearchOutcome> {
  const plan = planSearch(question, (await snapshot.readOntology()).attributes);
  const state = await snapshot.readSearchState();
  if (state === undefined) return { missing: describeProgress(state) };
  const rows = reachOf(state) === 'tail' ? await snapshot.listTail(state.lastDocument) : [];
  const reach = rows === undefined ? 'former' : reachOf(state);
  if (reach === 'former' && !canLack(state, mayLack)) return { missing: describeProgress(state) };
  const tail = (rows ?? []).map(readTail);
  const newer = reach === 'former' ? state.lastDocument : undefined;
  const search = new Search(snapshot, plan, { tail, newer, ...ending });
  return { answer: await search.answer(question), isBehind: reach !== 'whole' };
}

interface TailProduct {
  readonly row: FoundRow;
  readonly lexemes: ReadonlySet<string>;
}
const readTail = (row: PlacedRow): TailProduct => ({
  row: { ...row, present: row.document },
  lexemes: listLexemes(JSON.parse(row.text)),
});

interface Beside {
  /** Products that the index lacks, in the order of their documents. */
  readonly tail: readonly TailProduct[];
  /** Documents beyond this one are found by the former versions of their products. */
  readonly newer: number | undefined;
  readonly stop: StopFlag | undefined;
  readonly limits: SearchLimits;
}

class Search {
  private readonly snapshot: CatalogSnapshot;
  private readonly plan: SearchPlan;
  private readonly beside: Beside;

  constructor(snapshot: CatalogSnapshot, plan: SearchPlan, beside: Beside) {
    this.snapshot = snapshot;
    this.plan = plan;
    this.beside = beside;
  }

  async answer(question: SearchQuestion): Promise<SearchAnswer> {
    const { limit, cursor } = question;
    const { sort, byKey } = this.plan;
    const facets = new FacetTally(byKey);
    const sorted = sort && new SortedHits(sort);
    const surveyed = await this.survey(facets, { kept: limit + 1, sorted });
    const counted = this.plan.test === undefined ? await this.count() : surveyed;
    const page = sorted
      ? await this.pageOfSorted(sorted, surveyed, { limit, cursor })
      : toPage(await this.fillPage(surveyed, { limit, cursor }), limit);
    const { total } = counted;
    const isTotalExact = counted.isExact && this.beside.newer === undefined;
    const isComplete = this.beside.newer === undefined;
    return { ...page, total, isTotalExact, isComplete, facets: facets.list(), facetsOf: facets.products };
  }

  /** Looks at the hits from the first on, as far as facets, a filter or an order need it. */
  private async survey(facets: FacetTally, wanted: SurveyWants): Promise<Surveyed> {
    const isEnough = this.endOfSurvey(facets, wanted);
    const isOver = this.startPart();
    const former = new FormerHits(this.beside.newer);
    const seen: Surveyed = {
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
      if (this.holds(hit)) noteHit(seen, hit, { facets, ...wanted });
    }
    return { ...seen, isExact: true, last: undefined };
  }

  /** @returns whether what it has seen suffices */
  private endOfSurvey(facets: FacetTally, { sorted, kept }: SurveyWants): (seen: Surveyed) => boolean {
    if (sorted !== undefined) return ({ total }) => total === EXAMINED;
    if (this.plan.test !== undefined) return ({ examined }) => examined === EXAMINED;
    return ({ hits }) => facets.isFull && hits.length >= kept;
  }

  /**
   * A page has all its hits, in a time of its own: the first goes on where the survey ended, any other behind its cursor.
   * @throws search_too_long
   */
  private async fillPage(
    { hits, last, former }: Surveyed,
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
    const isOver = this.startPart();
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
    { isExact, isOver }: Surveyed,
    { limit, cursor }: { limit: number; cursor: string | undefined },
  ): Promise<Page> {
    if (isOver) throw this.timeUsedUp();
    if (!isExact) throw new ServiceError('search_too_broad', { values: [EXAMINED] });
    const [from = 0] = cursor === undefined ? [0] : readPlace(cursor);
    const { documents, isEnd } = sorted.page(from, limit);
    const rows = await this.snapshot.listDocuments(documents);
    const byDocument = new Map(rows.map((row) => [row.document, row]));
    const items = documents.flatMap((document) => byDocument.get(document) ?? []).map(toItem);
    return { items, nextCursor: isEnd ? null : writePlace([from + limit, 0]) };
  }

  private async count(): Promise<{ readonly total: number; readonly isExact: boolean }> {
    const { counted } = this.plan.tiers;
    const counts = [];
    for (const tier of counted)
      counts.push(await this.snapshot.countHits({ tier, newer: this.beside.newer }));
    const ofTail = this.beside.tail.filter(({ lexemes }) => counted.some((tier) => isInTier(tier, lexemes)));
    return {
      total: counts.reduce((sum, { count }) => sum + count, ofTail.length),
      isExact: counts.every(({ isExact }) => isExact),
    };
  }

  /** Hits behind a place: the best tier first, in each the product that was uploaded longest ago. */
  private async *listFrom(
    [first, document]: HitPlace,
    former = new FormerHits(this.beside.newer),
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
      const { rows, isCut } = await this.snapshot.listHits({ tier, after, limit, newer: this.beside.newer });
      yield* rows;
      if (rows.length < limit && !isCut) break;
      after = rows.at(-1)?.document ?? after;
      limit = PAGES[1];
    }
    for (const { row, lexemes } of this.beside.tail) {
      if (row.document > behind && isInTier(tier, lexemes)) yield row;
    }
  }

  private holds({ product }: Hit): boolean {
    return this.plan.test?.(viewUpload(product)) ?? true;
  }

  /** @returns whether the time of the part that begins now is over @throws not_ready once its caller has left */
  private startPart(): () => boolean {
    const { stop, limits } = this.beside;
    const until = limits.now() + limits.longestMs;
    return () => {
      if (stop !== undefined && Atomics.load(stop, 0) !== 0)
        throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
      return limits.now() > until;
    };
  }

  private timeUsedUp(): ServiceError {
    return new ServiceError('search_too_long', { values: [this.beside.limits.longestMs / 1_000] });
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

interface SurveyWants {
  /** Hits that are kept. */
  readonly kept: number;
  readonly sorted: SortedHits | undefined;
}

interface Surveyed {
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
  seen: Surveyed,
  hit: Hit,
  { facets, kept, sorted }: SurveyWants & { readonly facets: FacetTally },
): void {
  seen.total += 1;
  sorted?.add(hit);
  if (seen.hits.length < kept) seen.hits.push(toShown(hit));
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

/** Made of the front of the upload, which is a small part of a large one. */
function toItem(row: PlacedRow) {
  const end = row.text.indexOf(FRONT_END);
  const front = JSON.parse(end < 0 ? row.text : `${row.text.slice(0, end)}}`) as UploadFront;
  return { ...toTableItem(row, front), link: front.productUrl };
}

const writePlace = (place: HitPlace): string => Buffer.from(place.join(' ')).toString('base64url');

/** @throws query_invalid */
function readPlace(cursor: string): HitPlace {
  const [, tier, document] = /^(\d{1,9}) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (tier !== undefined && document !== undefined) return [Number(tier), Number(document)];
  const details = ['/cursor must be the nextCursor of the page before'];
  throw new ServiceError('query_invalid', { details });
}
