import { readFront } from '../../catalog/browse/browse.ts';
import type { PlacedRow } from '../../catalog/catalog.ts';
import { refuseLarge } from '../../catalog/lookup/lookup.ts';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { HitGroup, SearchTier } from '../search-port.ts';
import type { Facet } from '../search-schemas.ts';
import { isInTier, keyOfGroup } from '../words/words.ts';
import { CategoryTally, type CountedCategory, listMainPaths } from './category-tally.ts';
import { FacetTally } from './facets.ts';
import { countHits } from './hit-count.ts';
import { HitGroups } from './hit-groups.ts';
import type { Hit, HitList } from './hit-list.ts';
import { type HitSurvey, pageOfSorted, surveyHits } from './hit-survey.ts';
import type { OpenIndex } from './search-index.ts';
import { type HitRange, SortedHits } from './sorted-hits.ts';

/**
 * Hits by group, in the form for shops and agents. A group has the position of its best hit. Source: docs/interface
 * §4.14.
 */

/** Hits that are grouped before a total is estimated: 1 µs for a hit from the index, 10 µs for a hit that is read. */
const GROUPED = 5_000;
const READ_AT_MOST = 2_000;
/** How many characters of hits are read, once enough groups are found. */
const READ_BYTES = 32 * 1024 * 1024;

/** A product of the page. It is parsed once for the whole answer. */
export interface ShownProduct extends PlacedRow {
  readonly product: UploadedProduct;
}

/** Hits by group, with everything that an answer needs. */
export interface FoundGroups {
  /** The documents of each group of the page. */
  readonly groups: readonly (readonly number[])[];
  readonly rows: ReadonlyMap<number, ShownProduct>;
  /** The number of groups, and of the hits in them. */
  readonly total: number;
  readonly hits: number;
  /** False if both numbers are estimates. */
  readonly isTotalExact: boolean;
  readonly facets: readonly Facet[];
  /** How many of the hits are counted in the facets and the categories. */
  readonly facetsOf: number;
  readonly categories: readonly CountedCategory[];
  readonly byKey: ReadonlyMap<string, Attribute>;
  /** The ids of categories, by path as JSON. */
  readonly categoryIds: ReadonlyMap<string, number>;
  readonly isPartial: boolean;
}

/** The groups that a question found. The thread that found them reads them one after another. */
export interface OpenGroups {
  readonly attributes: readonly Attribute[];
  /** The documents of each group, the best first. */
  readonly groups: readonly (readonly number[])[];
  readonly isPartial: boolean;
  /** The bytes of the uploads that were read to find the groups. */
  readonly bytes: number;
  /** @returns the group identifiers of these documents; it reads only the fronts of their uploads */
  nameGroups(documents: readonly number[]): Promise<readonly string[]>;
  /** @returns products of these documents, each with the bytes of its upload */
  read(documents: readonly number[]): Promise<readonly ReadUpload[]>;
}

interface ReadUpload {
  readonly product: UploadedProduct;
  readonly bytes: number;
}

/**
 * Groups hits by the index if their uploads need not be read.
 * @throws search_too_broad, search_too_long
 */
export async function findGroups(list: HitList, { offset, limit }: HitRange): Promise<FoundGroups> {
  const { index, plan } = list;
  const facets = new FacetTally(plan.byKey);
  const tally = new CategoryTally();
  const { groups, share } = await placeHits(list, offset + limit, { facets, tally });
  const page = groups.list(offset, limit);
  const rows = await readWhole(list, page.flat());
  return {
    rows,
    groups: page,
    total: Math.round(groups.count * share),
    hits: Math.round(groups.hits * share),
    isTotalExact: share === 1 && index.isMade && index.newer === undefined,
    facets: facets.list(),
    facetsOf: facets.products,
    categories: tally.list(),
    byKey: plan.byKey,
    categoryIds: await index.snapshot.findCategories(listMainPaths(rows.values())),
    isPartial: !index.isMade || plan.isCut === true,
  };
}

/**
 * Finds groups without facets and a total, which are read one after another.
 * @throws search_too_broad, search_too_long
 */
export async function openGroups(list: HitList, { offset, limit }: HitRange): Promise<OpenGroups> {
  const { snapshot, isMade } = list.index;
  const nothing = { facets: new FacetTally(list.plan.byKey, 0), tally: new CategoryTally() };
  const { groups, bytes } = await placeHits(list, offset + limit, nothing);
  const { attributes } = await snapshot.readOntology();
  return {
    attributes,
    groups: groups.list(offset, limit),
    isPartial: !isMade,
    bytes,
    nameGroups: async (documents) => {
      const fronts = await list.placeRows(() => snapshot.listFronts(documents));
      return documents
        .flatMap((document) => fronts.get(document) ?? [])
        .map((row) => readFront(row).groupIdentifier);
    },
    read: async (documents) => {
      const rows = await list.placeRows(() => snapshot.listDocuments(documents));
      return documents.flatMap((document) => {
        const text = rows.get(document)?.text;
        return text === undefined ? [] : [{ product: JSON.parse(text), bytes: text.length }];
      });
    },
  };
}

interface Tallies {
  readonly facets: FacetTally;
  readonly tally: CategoryTally;
}

interface PlacedHits {
  readonly groups: HitGroups;
  /** The factor from the groups found to the total, if further hits share groups as these do. */
  readonly share: number;
  readonly bytes: number;
}

/**
 * Finds as many groups as needed, and a factor for the total.
 * @throws search_too_broad, search_too_long
 */
async function placeHits(list: HitList, needed: number, { facets, tally }: Tallies): Promise<PlacedHits> {
  const { sort, test } = list.plan;
  const sorted = sort && new SortedHits(sort);
  const isRead = sorted || test !== undefined || list.isBeyondIndex;
  const groups = new HitGroups();
  const groupOf = new Map<number, number>();
  const placeHit = ({ row: { present: document }, product }: Hit) => {
    const group = keyOfGroup(product.groupIdentifier);
    if (sorted) groupOf.set(document, group);
    else groups.add({ document, group });
  };
  const onHit = (hit: Hit) => {
    if (!facets.isFull) tally.add(hit.product);
    if (isRead) placeHit(hit);
  };
  const isMuch = ({ bytes }: HitSurvey) => groups.hits >= READ_AT_MOST || bytes >= READ_BYTES;
  const isEnough = (survey: HitSurvey) => groups.count >= needed && isMuch(survey);
  const survey = await surveyHits(list, { facets, most: 0, sorted, onHit, ...(isRead && { isEnough }) });
  if (sorted) {
    const { documents } = pageOfSorted(list, survey, { sorted, offset: 0, limit: groupOf.size });
    groups.addAll(documents, groupOf);
    return { groups, share: 1, bytes: survey.bytes };
  }
  if (!isRead) await groupByIndex(list, groups, needed);
  const [isWhole, examined] = isRead
    ? [survey.isExact, survey.examined]
    : [groups.hits < GROUPED, groups.hits];
  const share = facets.isWanted && !isWhole ? (await countHits(list)).total / examined : 1;
  return { groups, share, bytes: survey.bytes };
}

async function groupByIndex({ index, plan }: HitList, groups: HitGroups, needed: number): Promise<void> {
  for (const tier of plan.tiers.ranked)
    for await (const hit of listPlaces(index, tier)) {
      if (groups.hits >= GROUPED && groups.count >= needed) return;
      groups.add(hit);
    }
}

async function* listPlaces(
  { snapshot, newer, tail }: OpenIndex,
  tier: SearchTier,
): AsyncGenerator<HitGroup, void> {
  for (let after = 0, isMore = true; isMore; ) {
    const hits = await snapshot.listPlaces({ tier, after, limit: GROUPED, newer });
    yield* hits;
    isMore = hits.length === GROUPED;
    after = hits.at(-1)?.document ?? after;
  }
  for (const { row, lexemes } of tail)
    if (isInTier(tier, lexemes))
      yield { document: row.document, group: keyOfGroup(readFront(row).groupIdentifier) };
}

/** @throws answer_too_large before it reads a document */
async function readWhole(
  list: HitList,
  documents: readonly number[],
): Promise<ReadonlyMap<number, ShownProduct>> {
  const { snapshot, isMade } = list.index;
  refuseLarge(isMade ? await snapshot.weighDocuments(documents) : 0, documents.length);
  const rows = await list.placeRows(() => snapshot.listDocuments(documents));
  const placedRows = documents.flatMap((document) => rows.get(document) ?? []);
  return new Map(placedRows.map((row) => [row.document, { ...row, product: JSON.parse(row.text) }]));
}
