import type { SearchAnswer } from '../search-schemas.ts';
import { FacetTally } from './facets.ts';
import { countHits } from './hit-count.ts';
import { FIRST, type FormerHits, type HitList } from './hit-list.ts';
import {
  type HitSurvey,
  pageOfSorted,
  type ShownHit,
  surveyHits,
  toFoundItem,
  toShownHit,
} from './hit-survey.ts';
import { type HitPlace, readPlace, startPart, writePlace } from './search-index.ts';
import type { SearchQuestion } from './search-plan.ts';
import { SortedHits } from './sorted-hits.ts';

/** The answer to a search: a page of products with facets and a total. Source: docs/interface §4.13. */

const PARTIAL = { isTotalExact: false, isComplete: false, nextCursor: null, partial: true } as const;

type PageQuestion = Pick<SearchQuestion, 'limit' | 'cursor'>;
type Page = Pick<SearchAnswer, 'items' | 'nextCursor'>;
type Collected = Readonly<Pick<HitSurvey, 'hits' | 'last'>>;

/** @throws search_too_broad, search_too_long */
export async function answerSearch(list: HitList, { limit, cursor }: PageQuestion): Promise<SearchAnswer> {
  const { index, plan } = list;
  const facets = new FacetTally(plan.byKey);
  const sorted = plan.sort && new SortedHits(plan.sort);
  const survey = await surveyHits(list, { facets, most: limit + 1, sorted });
  const counted = plan.test === undefined ? await countHits(list) : survey;
  const page = sorted
    ? await readSorted(list, survey, { sorted, limit, cursor })
    : toPage(await fillPage(list, survey, { limit, cursor }), limit);
  const isComplete = index.newer === undefined && plan.isCut !== true;
  const totals = { total: counted.total, isTotalExact: counted.isExact && isComplete, isComplete };
  const answer = { ...page, ...totals, facets: facets.list(), facetsOf: facets.products };
  // A position in a part of the catalog would be invalid in the index that is made later.
  return index.isMade ? answer : { ...answer, ...PARTIAL };
}

/**
 * Fills a page within its own time. The first page continues where the survey ended, and all others continue after
 * their cursors.
 * @throws search_too_long
 */
async function fillPage(
  list: HitList,
  { hits, last, former }: HitSurvey,
  { limit, cursor }: PageQuestion,
): Promise<Collected> {
  if (cursor !== undefined) return collect(list, readPlace(cursor), { hits: [], limit });
  if (hits.length > limit || last === undefined) return { hits, last };
  return collect(list, last, { hits, limit, former });
}

/** Collects hits, and one hit beyond the limit, which shows that there is another page. */
async function collect(
  list: HitList,
  from: HitPlace,
  { hits: before, limit, former }: { hits: readonly ShownHit[]; limit: number; former?: FormerHits },
): Promise<Collected> {
  const hits = [...before];
  const isOver = startPart(list.index);
  const next = () => list.readsOf({ missing: limit + 1 - hits.length, isWhole: false });
  for await (const hit of list.listFrom(from, next, former)) {
    if (list.holds(hit)) hits.push(toShownHit(hit));
    const isEnd = hits.length > limit || isOver();
    if (isEnd && hits.length < limit) throw list.timeUsedUp();
    if (isEnd) return { hits, last: hit.position };
  }
  return { hits, last: undefined };
}

function toPage({ hits, last }: Collected, limit: number): Page {
  const page = hits.slice(0, limit);
  const behind = hits.length > limit ? page.at(-1)?.position : last;
  return { items: page.map(({ item }) => item), nextCursor: behind ? writePlace(behind) : null };
}

/** @throws search_too_broad, search_too_long */
async function readSorted(
  list: HitList,
  survey: HitSurvey,
  { sorted, limit, cursor }: PageQuestion & { readonly sorted: SortedHits },
): Promise<Page> {
  const [offset] = cursor === undefined ? FIRST : readPlace(cursor);
  const { documents, isEnd } = pageOfSorted(list, survey, { sorted, offset, limit });
  const byDocument = await list.placeRows(() => list.index.snapshot.listFronts(documents));
  const items = documents.flatMap((document) => byDocument.get(document) ?? []).map(toFoundItem);
  return { items, nextCursor: isEnd ? null : writePlace([offset + limit, 0]) };
}
