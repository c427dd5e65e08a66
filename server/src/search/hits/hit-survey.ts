import { readFront, toTableItem } from '../../catalog/browse/browse.ts';
import type { PlacedRow } from '../../catalog/catalog.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { FacetTally } from './facets.ts';
import { ALL, FIRST, FormerHits, type Hit, type HitList } from './hit-list.ts';
import { type HitPlace, startPart } from './search-index.ts';
import type { HitRange, SortedHits } from './sorted-hits.ts';

/** Reads hits from the first one on, for facets, a filter, an order, or groups. */

/** How many products are compared with a filter to count hits, or how many hits are sorted. */
const EXAMINED = 100_000;

/** The part of a hit that is shown, because its upload may be large. */
export interface ShownHit {
  readonly item: ReturnType<typeof toFoundItem>;
  readonly position: HitPlace;
}

export const toShownHit = ({ row, position }: Hit): ShownHit => ({ item: toFoundItem(row), position });

export function toFoundItem(row: PlacedRow) {
  const front = readFront(row);
  return { ...toTableItem(row, front), link: front.productUrl };
}

interface SurveyRequest {
  readonly facets: FacetTally;
  onHit?(hit: Hit): void;
  /** Ends the survey early if hits are checked one after another. */
  isEnough?: (survey: HitSurvey) => boolean;
  /** How many hits are returned. */
  readonly most: number;
  readonly sorted: SortedHits | undefined;
}

export interface HitSurvey {
  readonly hits: ShownHit[];
  total: number;
  examined: number;
  /** The approximate bytes of the examined uploads. */
  bytes: number;
  isExact: boolean;
  /** Whether the survey ended because its time was used up. */
  readonly isOver: boolean;
  /** The last hit that the survey read; undefined if it read all hits. */
  last: HitPlace | undefined;
  /** The products that former versions found, for a page that continues after the survey. */
  readonly former: FormerHits;
}

/** Reads hits from the first one on, as far as facets, a filter or an order need them. */
export async function surveyHits(list: HitList, request: SurveyRequest): Promise<HitSurvey> {
  const { facets, sorted, most } = request;
  const isEnough = endOfSurvey(list, request);
  const isOver = startPart(list.index);
  const former = new FormerHits(list.index.newer);
  const counts = { total: 0, examined: 0, bytes: 0, isExact: false, isOver: false };
  const survey: HitSurvey = { hits: [], ...counts, last: FIRST, former };
  const next = () =>
    facets.isFull && sorted === undefined
      ? list.readsOf({ missing: most - survey.hits.length, isWhole: false })
      : ALL;
  for await (const hit of list.listFrom(FIRST, next, former)) {
    if (isEnough(survey)) return survey;
    if (isOver()) return { ...survey, isOver: true };
    survey.examined += 1;
    survey.bytes += hit.row.text.length;
    survey.last = hit.position;
    if (!list.holds(hit)) continue;
    request.onHit?.(hit);
    noteHit(survey, hit, request);
  }
  return { ...survey, isExact: true, last: undefined };
}

/** @returns a function that reports whether the survey has read enough hits */
function endOfSurvey(
  { plan }: HitList,
  { facets, sorted, most, isEnough }: SurveyRequest,
): (survey: HitSurvey) => boolean {
  if (sorted !== undefined) return ({ total }) => total === EXAMINED;
  if (isEnough !== undefined) return (survey) => survey.examined === EXAMINED || isEnough(survey);
  if (plan.test !== undefined) return ({ examined }) => examined === EXAMINED;
  return ({ hits }) => facets.isFull && hits.length >= most;
}

function noteHit(survey: HitSurvey, hit: Hit, { facets, most, sorted }: SurveyRequest): void {
  survey.total += 1;
  sorted?.add(hit);
  if (survey.hits.length < most) survey.hits.push(toShownHit(hit));
  if (!facets.isFull) facets.add(hit.product, hit.row.text.length);
}

/** @throws search_too_broad if not all hits are sorted, search_too_long */
export function pageOfSorted(
  list: HitList,
  { isExact, isOver }: HitSurvey,
  { sorted, ...range }: HitRange & { readonly sorted: SortedHits },
) {
  if (isOver) throw list.timeUsedUp();
  if (!isExact) throw new ServiceError('search_too_broad', { values: [EXAMINED] });
  return sorted.page(range);
}
