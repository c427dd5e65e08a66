import type { Operator } from '../../../catalog/catalog.ts';
import { isStorableText } from '../../../kernel/storable-text.ts';
import {
  joined,
  own,
  performOn,
  type SqlSession,
  rows as select,
  sql,
  tabled,
  text,
} from '../../../storage/storage.ts';
import type { Side } from '../../definitions/definitions.ts';
import { type PackedMembership, sideNumber, unpackMemberships } from '../../memberships/memberships.ts';
import type { SearchedRelation } from '../../search/search.ts';
import {
  type Candidate,
  expectCandidates,
  FetchedView,
  type RankedPlace,
  type RelationView,
  SQL_OPERATORS,
  type WantedLinks,
  type WantedPage,
} from '../../search/search.ts';
import { describeLinked, type LinkedRow } from '../linked-store.ts';
import {
  describeFetch,
  FETCHED,
  type FetchedRow,
  type PageOrder,
  type SourceListOrder,
} from './fetch-store.ts';

/** Reads the join index in PostgreSQL, in as few statements as possible. */

/** What is prefetched along with sources. */
export interface Prefetch {
  readonly searches: readonly { readonly relation: SearchedRelation; readonly limit: number }[];
  /** Whether the served answers of candidates are prefetched too. */
  readonly products: boolean;
  /** `false`: those of candidates' groups are not read, as the first one of each is enough. */
  readonly variants?: false;
}

export const NO_PREFETCH: Prefetch = { searches: [], products: false };

/** A statement has seen another state of the catalog than those before. */
export class CatalogMoved extends Error {}

export interface ReadOrder {
  readonly session: SqlSession;
  readonly projectId: number;
  /** Of the tables, see `CatalogMark`. */
  readonly scale: number;
  /** Undefined: the session sees one state only. */
  readonly version?: number;
  readonly prefetch?: Prefetch;
}

/**
 * Runs the work on one state of the catalog: on an empty view first, then again with what it lacked.
 * @throws CatalogMoved when a statement sees another version than `version`
 */
export async function readCatalog<Result>(
  order: ReadOrder,
  work: (view: RelationView) => Result,
): Promise<Result> {
  const view = new FetchedView();
  for (;;) {
    const result = work(view);
    if (view.missing.count === 0) return result;
    const versions = await fetchAll(view, order);
    view.settle();
    if (order.version !== undefined && versions.some((version) => version !== order.version))
      throw new CatalogMoved();
  }
}

/** @returns the versions of the catalog that were met */
async function fetchAll(view: FetchedView, order: ReadOrder): Promise<number[]> {
  if (view.missing.links.size === 0) return [await fetchMissing(view, order)];
  // Side by side, each by a connection of its own; a session of one state has only one.
  if (order.version !== undefined) return Promise.all([fetchLinks(view, order), fetchMissing(view, order)]);
  return [await fetchLinks(view, order), await fetchMissing(view, order)];
}

/** Fetches the parts of lists that the view lacked. @returns the version of the catalog */
async function fetchLinks(
  view: FetchedView,
  { session, projectId, prefetch = NO_PREFETCH }: ReadOrder,
): Promise<number> {
  const limits = new Map(prefetch.searches.map(({ relation, limit }) => [relation.build, limit]));
  const wanted = [...view.missing.links].map((key, no) => {
    const links = JSON.parse(key) as WantedLinks;
    // The uploads of so many products come along: most are the only ones of their group.
    return { ...links, no, raws: prefetch.products ? 2 * (limits.get(links.build) ?? 0) : 0 };
  });
  const lists = (['target', 'source'] as const).map((side) => {
    const table = tabled(
      'w',
      { no: 'bigint', build: 'bigint', identifier: 'text', raws: 'bigint' },
      wanted
        .filter((one) => one.side === side && isStorableText(one.identifier))
        .map(({ no, build, identifier, raws }) => [no, build, identifier, raws]),
    );
    const linked = describeLinked(
      { build: text('w.build'), identifier: text('w.identifier'), side },
      text(', d.raw'),
    );
    return sql`select w.no, l."productId", l."group", l.place, l.at,
        case when row_number() over (partition by w.no order by l.at) <= w.raws then l.raw end as raw
      from ${table} cross join lateral (${linked}) l`;
  });
  const found = await performOn(
    session,
    projectId,
    select<{ version: number | null; no: number | null; raw: string | null } & LinkedRow>(
      sql`select c.version, l.* from (select (select catalog_version from catalog where ${own()}) as version) c
        left join (${joined(lists, ' union all ')}) l on true order by l.no, l.at`,
    ),
  );
  const byWanted = Map.groupBy(found, ({ no }) => no);
  for (const one of wanted) view.addLinked(one, byWanted.get(one.no) ?? []);
  for (const { productId, raw } of found) if (raw !== null) view.addRaw(productId, raw);
  return found[0]?.version ?? 0;
}

/** Fetches in one statement what the view lacked. @returns the version of the catalog */
async function fetchMissing(
  view: FetchedView,
  { session, projectId, scale, prefetch = NO_PREFETCH }: ReadOrder,
): Promise<number> {
  const { missing } = view;
  const rules = prefetch.searches.filter(({ relation }) => !relation.isListed);
  const lists = missing.sources.size === 0 ? [] : rules.flatMap((one) => describeLists(one, prefetch));
  const pages = [...missing.pages.values()];
  const comparisons = Math.max(0, ...[...lists, ...pages].map(({ operators }) => operators.length));
  const rows = await session.rows<FetchedRow>(describeFetch(comparisons, scale), [
    projectId,
    [...missing.sources].filter(isStorableText),
    JSON.stringify(lists),
    JSON.stringify(pages.map((page, id) => describePage(page, id, prefetch))),
    [...missing.groups],
    [...missing.raws],
    prefetch.products,
    [...missing.uploads].filter(isStorableText),
    [...missing.identifiers],
    [...missing.categories],
  ]);
  const found = Map.groupBy(rows, ({ kind }) => kind);
  const of = (kind: keyof typeof FETCHED) => found.get(FETCHED[kind]) ?? [];
  addSources(view, { sources: of('source'), rows: of('sourceList'), lists });
  addPages(view, pages, of('page'));
  for (const { a, b } of of('variants')) view.addVariants(a, readVariants(b));
  for (const { id, b } of of('raw')) view.addRaw(id, b);
  for (const { id, a } of of('category')) view.addCategoryId(a, id);
  for (const { id, a } of of('identifier')) view.addIdentifier(id, a);
  for (const { id, a, b } of of('upload')) view.addUpload(a, { productId: id, raw: b });
  return of('version')[0]?.id ?? 0;
}

function describeLists(
  { relation, limit }: Prefetch['searches'][number],
  { variants }: Prefetch,
): SourceListOrder[] {
  const { build, twoWay, excludeSameGroup: excludes, operators } = relation;
  const sides: Side[] = twoWay ? ['target', 'source'] : ['target'];
  return sides.map((side) => ({
    build,
    side: sideNumber(side),
    size: expectCandidates(limit),
    groups: variants === false ? 0 : limit,
    excludes,
    operators: toSql(operators, side),
  }));
}

const describePage = (page: WantedPage, id: number, { variants }: Prefetch): PageOrder => ({
  id,
  build: page.build,
  side: sideNumber(page.side),
  size: page.size,
  groups: variants === false ? 0 : page.limit,
  own: page.excluded ?? null,
  operators: toSql(page.operators, page.side),
  compared: page.opposite.compared,
  keys: page.opposite.keys,
  rank: page.after?.rank ?? '',
  product: page.after?.productId ?? 0,
});

const toSql = (operators: readonly Operator[], side: Side) =>
  operators.map((operator) => SQL_OPERATORS[operator as 'less'][side]);

/** A list of a source without a row has no candidates. */
function addSources(
  view: FetchedView,
  {
    sources,
    rows,
    lists,
  }: { sources: readonly FetchedRow[]; rows: readonly FetchedRow[]; lists: readonly SourceListOrder[] },
): void {
  const found = new Map(rows.map((row) => [`${row.id} ${row.a}`, row]));
  for (const { id, a: identifier, b: group, c: packed } of sources) {
    const memberships = unpackMemberships(packed);
    view.addSource(identifier, { productId: id, group, memberships });
    for (const { build, side, size } of lists) {
      const opposite = memberships.find((one) => one.build === build && sideNumber(one.side) !== side);
      const row = found.get(`${id} ${build} ${side}`);
      if (opposite !== undefined) view.addPage(opposite, { ...readPage(row), size });
    }
  }
}

function addPages(view: FetchedView, pages: readonly WantedPage[], rows: readonly FetchedRow[]): void {
  const found = new Map(rows.map((row) => [row.id, row]));
  for (const [at, { opposite, size }] of pages.entries()) {
    view.addPage(opposite, { ...readPage(found.get(at)), size });
  }
}

function readPage(row: FetchedRow | undefined): { page: Candidate[]; last: RankedPlace | undefined } {
  if (row === undefined) return { page: [], last: undefined };
  const [products, groups] = JSON.parse(row.b) as [number[], string[]];
  const page = products.map((productId, at) => ({ productId, group: groups[at] as string }));
  return { page, last: { rank: row.c, productId: products.at(-1) as number } };
}

function readVariants(text: string) {
  const pairs = JSON.parse(text) as [number, PackedMembership[]][];
  return pairs.map(([productId, packed]) => ({ productId, packed }));
}
