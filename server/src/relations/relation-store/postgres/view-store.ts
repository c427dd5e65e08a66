import type { Operator } from '../../../catalog/filters/filters.ts';
import { isStorableText } from '../../../kernel/storable-text.ts';
import type { SqlSession } from '../../../storage/programs/programs.ts';
import {
  joined,
  own,
  performOn,
  rows as select,
  sql,
  tabled,
  text,
} from '../../../storage/programs/programs.ts';
import {
  type Candidate,
  type CatalogMark,
  expectCandidates,
  FetchedView,
  type LinkedProduct,
  type LinkSearch,
  type RelationView,
  SORTED_AT_MOST,
  SQL_OPERATORS,
  type VariantSearch,
} from '../../matching/matching.ts';
import { type PackedMembership, sideNumber, unpackMemberships } from '../../memberships/memberships.ts';
import type { Side } from '../../relation-definitions/relation-definitions.ts';
import { compileRule } from '../../rules/rules.ts';
import type { Prefetch } from '../relation-port.ts';
import { describeLinked } from '../survey-store.ts';

/** Reads the join index in PostgreSQL, in as few statements as possible. */

const NO_PREFETCH: Prefetch = { searches: [], products: false };

/** A statement saw another state of the catalog than the statements before it. */
export class CatalogMoved extends Error {}

interface ReadOrder {
  readonly session: SqlSession;
  readonly projectId: number;
  /** The size of the tables, see `CatalogMark`. */
  readonly scale: number;
  /** Undefined if the session sees only one state. */
  readonly version?: number;
  readonly prefetch?: Prefetch;
}

/**
 * Runs the work on one state of the catalog: first on an empty view, then again after each fetch of the
 * missing parts.
 * @throws CatalogMoved when a statement sees another version than `version`
 */
export async function readCatalog<Result>(order: ReadOrder, work: (view: RelationView) => Result) {
  const view = new FetchedView();
  for (;;) {
    const result = work(view);
    if (view.isComplete) return result;
    const versions = await fetchAll(view, order);
    view.settle();
    if (order.version !== undefined && versions.some((version) => version !== order.version))
      throw new CatalogMoved();
  }
}

/** @returns the catalog versions that the statements saw */
async function fetchAll(view: FetchedView, order: ReadOrder): Promise<number[]> {
  if (view.links.missing.size === 0) return [await fetchMissing(view, order)];
  // Runs both in parallel, each on its own connection. A session with only one state has one connection.
  if (order.version !== undefined) return Promise.all([fetchLinks(view, order), fetchMissing(view, order)]);
  return [await fetchLinks(view, order), await fetchMissing(view, order)];
}

/** Fetches the missing parts of lists. @returns the version of the catalog */
async function fetchLinks(view: FetchedView, { session, projectId, prefetch = NO_PREFETCH }: ReadOrder) {
  const limits = new Map(prefetch.searches.map(({ relation, limit }) => [relation.build, limit]));
  const searches = [...view.links.missing].map((key, no) => {
    const links = JSON.parse(key) as LinkSearch;
    // Also fetches the uploads of this many products, because most products are the only ones of their group.
    return { ...links, key, no, raws: prefetch.products ? 2 * (limits.get(links.build) ?? 0) : 0 };
  });
  const lists = (['target', 'source'] as const).map((side) => {
    const requested = searches.filter((search) => search.side === side && isStorableText(search.identifier));
    const cells = requested.map(({ no, build, identifier, raws }) => [no, build, identifier, raws] as const);
    const columns = { no: 'bigint', build: 'bigint', identifier: 'text', raws: 'bigint' } as const;
    const table = tabled('w', columns, cells);
    const searched = { build: text('w.build'), identifier: text('w.identifier'), side };
    const linked = describeLinked(searched, text(', d.raw'));
    return sql`select w.no, l."productId", l."group", l.place, l.quantity, l.at,
        case when row_number() over (partition by w.no order by l.at) <= w.raws then l.raw end as raw
      from ${table} cross join lateral (${linked}) l`;
  });
  const linkedRows = await performOn(
    session,
    projectId,
    select<{ version: number | null; no: number | null; raw: string | null } & LinkedProduct>(
      sql`select c.version, l.* from (select (select catalog_version from catalog where ${own()}) as version) c
        left join (${joined(lists, ' union all ')}) l on true order by l.no, l.at`,
    ),
  );
  const bySearch = Map.groupBy(linkedRows, ({ no }) => no);
  for (const { key, no } of searches) view.links.add(key, bySearch.get(no) ?? []);
  for (const { productId, raw } of linkedRows) if (raw !== null) view.raws.add(productId, raw);
  return linkedRows[0]?.version ?? 0;
}

/** Fetches the missing parts in one statement. @returns the version of the catalog */
async function fetchMissing(
  view: FetchedView,
  { session, projectId, scale, prefetch = NO_PREFETCH }: ReadOrder,
): Promise<number> {
  // A rule with an index of its own needs its source first, because the source determines the searches.
  const rules = prefetch.searches.filter(
    ({ relation }) => !relation.isListed && compileRule(relation.bound).isPlain,
  );
  const lists =
    view.sources.missing.size === 0 ? [] : rules.flatMap((search) => describeLists(search, prefetch));
  const pages = [...view.pages.values()];
  const comparisons = Math.max(0, ...[...lists, ...pages].map(({ operators }) => operators.length));
  const rows = await session.rows<FetchedRow>(describeFetch(comparisons, scale), [
    projectId,
    [...view.sources.missing].filter(isStorableText),
    JSON.stringify(lists),
    JSON.stringify(pages.map((page, id) => describePage(page, id, prefetch))),
    [...view.variants.missing],
    [...view.raws.missing],
    prefetch.products,
    [...view.uploads.missing].filter(isStorableText),
    [...view.identifiers.missing],
    [...view.categories.missing],
  ]);
  const rowsByKind = Map.groupBy(rows, ({ kind }) => kind);
  const of: RowsOf = (kind) => rowsByKind.get(FETCHED[kind]) ?? [];
  addSources(view, lists, of);
  const fetchedPages = new Map(of('page').map((row) => [row.id, row]));
  for (const [index, { opposite, size }] of pages.entries())
    view.addPage(opposite, { ...readPage(fetchedPages.get(index)), size });
  for (const { a, b } of of('variants')) {
    const pairs = JSON.parse(b) as [number, PackedMembership[]][];
    const variants = pairs.map(([productId, packed]) => ({ productId, packed }));
    view.variants.add(a, variants);
  }
  for (const { id, b } of of('raw')) view.raws.add(id, b);
  for (const { id, a } of of('category')) view.categories.add(a, id);
  for (const { id, a } of of('identifier')) view.identifiers.add(id, a);
  for (const { id, a, b } of of('upload')) view.uploads.add(a, { productId: id, raw: b });
  return of('version')[0]?.id ?? 0;
}

function describeLists({ relation, limit }: Prefetch['searches'][number], { variants }: Prefetch) {
  const { build, bound, twoWay, excludeSameGroup: excludes } = relation;
  const sides: Side[] = twoWay ? ['target', 'source'] : ['target'];
  return sides.map(
    (side): SourceListOrder => ({
      build,
      side: sideNumber(side),
      size: expectCandidates(limit),
      groups: variants === false ? 0 : limit,
      excludes,
      operators: toSql(compileRule(bound).operators, side),
    }),
  );
}

const describePage = (page: VariantSearch, id: number, { variants }: Prefetch): PageOrder => ({
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

/** A list without a row has no candidates for its source. */
function addSources(view: FetchedView, lists: readonly SourceListOrder[], of: RowsOf): void {
  const sourceLists = new Map(of('sourceList').map((row) => [`${row.id} ${row.a}`, row]));
  for (const { id, a: identifier, b: group, c: packed } of of('source')) {
    const memberships = unpackMemberships(packed);
    view.sources.add(identifier, { productId: id, group, memberships });
    for (const { build, side, size } of lists) {
      const opposite = memberships.find(
        (membership) => membership.build === build && sideNumber(membership.side) !== side,
      );
      const row = sourceLists.get(`${id} ${build} ${side}`);
      if (opposite !== undefined) view.addPage(opposite, { ...readPage(row), size });
    }
  }
}

function readPage(row: FetchedRow | undefined) {
  if (row === undefined) return { page: [], last: undefined };
  const [products, groups, ranks] = JSON.parse(row.b) as [number[], string[], string[] | null];
  const page = products.map(
    (productId, index): Candidate => ({
      productId,
      group: groups[index] as string,
      ...(ranks && { rank: ranks[index] as string }),
    }),
  );
  return { page, last: { rank: row.c, productId: products.at(-1) as number } };
}

/**
 * One statement reads what answers about related products need, so a request takes one round trip and sees
 * one state. The statement has only one sensible plan, with or without statistics: subqueries with `offset 0`
 * or a limit are entered row by row and read by an index. PostgreSQL assumes 100 rows wherever JSON is
 * unfolded. Conditions on the JSON type keep these estimates small: they are always true, but PostgreSQL
 * considers them rare. Otherwise it would compile the statement (`jit`) for half a second.
 */

/** The kinds of rows, with the contents of their columns `id`, `a`, `b` and `c`. */
const FETCHED = {
  /** id: the version of the catalog. */
  version: 0,
  /** id: the product; a, b and c: its identifier, group and memberships. */
  source: 1,
  /**
   * For a source. id: the product; a: `build side`; b: JSON of product ids, of groups and, for a page, of
   * ranks; c: the last rank.
   */
  sourceList: 2,
  /** id: the index of the requested page; a, b and c as for `sourceList`. */
  page: 3,
  /** a: a group; b: JSON of pairs of product id and memberships. */
  variants: 4,
  /** id: the product; a and b: its identifier and its upload. */
  upload: 5,
  raw: 6,
  /** id: the product; a: its identifier. */
  identifier: 7,
  /** id: the category; a: its path as JSON. */
  category: 8,
} as const;

interface FetchedRow {
  readonly kind: number;
  readonly id: number;
  readonly a: string;
  readonly b: string;
  readonly c: string;
}

type RowsOf = (kind: keyof typeof FETCHED) => readonly FetchedRow[];

/** A list that is read for every source; parameter `$3`. */
interface SourceListOrder {
  readonly build: number;
  /** The side of the candidates. */
  readonly side: 0 | 1;
  /** The number of candidates. */
  readonly size: number;
  /** The number of groups whose variants are read. */
  readonly groups: number;
  /** Whether the source's own group is excluded. */
  readonly excludes: boolean;
  /** SQL operators with the candidate's value on the left. */
  readonly operators: readonly string[];
}

/** The next page of a list; parameter `$4`. */
interface PageOrder extends Omit<SourceListOrder, 'excludes'> {
  readonly id: number;
  readonly own: string | null;
  /** The compared values of the opposite membership, in base64. */
  readonly compared: readonly (string | null)[];
  readonly keys: readonly string[];
  /** The last rank, in hexadecimal. */
  readonly rank: string;
  readonly product: number;
}

const texts = new Map<string, string>();

/**
 * @returns the statement for rules with this many comparisons; each scale has its own text. Its values are:
 * project, identifiers of sources, JSON of `SourceListOrder`s, JSON of `PageOrder`s, groups, ids of products
 * whose uploads are read, whether the uploads of candidates are read too, identifiers of uploads, ids of
 * products whose identifiers are read, category paths
 */
export const describeFetch = (comparisons: number, scale: number): string =>
  texts.getOrInsertComputed(`${comparisons} ${scale}`, () => `/* ${scale} */ ${writeFetch(comparisons)}`);

/**
 * A member counts only if its document is the present one of its product. Other members are staged, or
 * retained for a restore.
 */
const isPresent = (row: string) =>
  `(select p.document_id from product p where p.project_id = $1 and p.id = ${row}.product_id) = ${row}.document_id`;

const writeFetch = (comparisons: number) => `${writeFetchedParts(comparisons)}
${writeFetchedRows()}`;

/**
 * The parts of the statement: sources, their memberships, candidates, the groups chosen from them, variants,
 * products to serve.
 */
const writeFetchedParts = (comparisons: number) => `with source as materialized (
  select i.identifier, p.id, r.group_identifier, r.memberships
  from unnest((select $2::text[])) i (identifier)
  cross join lateral (select p.id, p.document_id from product p
    where p.project_id = $1 and p.identifier = i.identifier offset 0) p
  cross join lateral (select r.group_identifier, r.memberships from relation_document r
    where r.project_id = $1 and r.document_id = p.document_id offset 0) r
), membership as materialized (
  select s.id, s.group_identifier as own, (e->>0)::bigint as build, (e->>1)::bigint as side, e->3 as compared, e->4 as keys
  from source s cross join lateral json_array_elements(s.memberships::json) e
  where json_typeof(e) = 'array'
), candidate as materialized (
  select l.no, l.kind, l.id, l.build, l.side, l.groups, l.own, l.key, m.product_id, m.group_identifier, m.rank,
    row_number() over (partition by l.no order by m.rank, m.product_id) as place
  from (${writeLists(comparisons)}) l
  cross join lateral (
    select m.* from (${writeKeys(comparisons)}) k
    cross join lateral (${writeCandidates(comparisons)}) m
    order by m.rank, m.product_id limit l.size) m
), chosen as materialized (
  select c.name, c.tag, c.key from (
    select c.group_identifier as name, '[' || c.build || ',' || c.side || ',' as tag, c.key, c.groups,
      row_number() over (partition by c.no order by min(c.place)) as place
    from candidate c where c.group_identifier is distinct from c.own
    group by c.no, c.group_identifier, c.build, c.side, c.key, c.groups) c
  where c.place <= c.groups
), variant as materialized (
  select g.name, r.product_id, r.memberships
  from (select name from chosen union select unnest((select $5::text[]))) g (name)
  cross join lateral (select r.product_id, r.memberships from relation_document r
    where r.project_id = $1 and r.group_identifier = g.name and ${isPresent('r')} offset 0) r
), served as materialized (
  select unnest((select $6::bigint[])) as id
  union
  ${writeMatching()}
)`;

/** The rows that the statement returns, one for each fetched part. */
const writeFetchedRows =
  () => `select ${FETCHED.version} as kind, catalog_version as id, null as a, null as b, null as c
  from catalog where project_id = $1
union all
select ${FETCHED.source}, id, identifier, group_identifier, memberships from source
union all
select c.kind, c.id, c.build || ' ' || c.side, json_build_array(json_agg(c.product_id), json_agg(c.group_identifier),
    case c.kind when ${FETCHED.page} then json_agg(encode(c.rank, 'hex')) end)::text,
  encode((array_agg(c.rank))[count(*)], 'hex')
from (select * from candidate c order by c.no, c.place) c
group by c.no, c.kind, c.id, c.build, c.side
union all
select ${FETCHED.variants}, null, name, '[' || string_agg('[' || product_id || ',' || memberships || ']', ',') || ']', null
from variant group by name
union all
select ${FETCHED.raw}, s.id, null, d.raw, null from served s ${DOCUMENT_OF('s.id')}
union all
select ${FETCHED.upload}, p.id, u.identifier, d.raw, null
from unnest((select $8::text[])) u (identifier)
cross join lateral (select p.id, p.document_id from product p
  where p.project_id = $1 and p.identifier = u.identifier offset 0) p
cross join lateral (select d.raw from document d where d.project_id = $1 and d.id = p.document_id offset 0) d
union all
select ${FETCHED.identifier}, u.id, p.identifier, null, null from unnest((select $9::bigint[])) u (id)
cross join lateral (select p.identifier from product p where p.project_id = $1 and p.id = u.id offset 0) p
union all
select ${FETCHED.category}, c.id, u.path, null, null from unnest((select $10::text[])) u (path)
cross join lateral (select c.id from category c
  where c.project_id = $1 and md5(c.path) = md5(u.path) and c.path = u.path limit 1) c`;

/**
 * Selects approximately the variants that will be shown. They are on the side of the list that chose their
 * group, and have its key. Grouped rather than joined, because such small estimates would make a join compare
 * all pairs.
 */
const writeMatching = () => `select v.id from (
    select array_agg(x.tag) filter (where x.tag is not null) as tags,
      array_agg(x.key) filter (where x.tag is not null) as keys,
      array_agg(x.product_id) filter (where x.tag is null) as ids,
      array_agg(x.memberships) filter (where x.tag is null) as memberships
    from (
      select name, tag, key, null::bigint as product_id, null as memberships from chosen where (select $7::boolean)
      union all
      select name, null, null, product_id, memberships from variant where (select $7::boolean)) x
    group by x.name) g
  cross join lateral unnest(g.ids, g.memberships) v (id, memberships)
  cross join lateral unnest(g.tags, g.keys) l (tag, key)
  where strpos(v.memberships, l.tag) > 0 and (l.key is null or strpos(v.memberships, l.key) > 0)`;

const DOCUMENT_OF = (productId: string) => `
cross join lateral (select p.document_id from product p where p.project_id = $1 and p.id = ${productId} offset 0) p
cross join lateral (select d.raw from document d
  where d.project_id = $1 and d.id = p.document_id offset 0) d`;

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/**
 * Adds for each comparison at most one bound: a value that the candidate's value must reach, stay below or
 * differ from.
 */
const writeLists = (comparisons: number) => `select row_number() over () as no, l.*,
    case json_array_length(l.keys) when 1 then l.keys->>0 end as key${range(comparisons)
      .map(
        (n) => `,
    case l.operators->>${n - 1} when '>=' then v${n} when '>' then v${n} || '\\x00'::bytea end as from${n},
    case l.operators->>${n - 1} when '<' then v${n} when '<=' then v${n} || '\\x00'::bytea end as below${n},
    case l.operators->>${n - 1} when '<>' then v${n} end as other${n}`,
      )
      .join('')}
  from (select l.*${range(comparisons)
    .map((n) => `, decode(l.compared->>${n - 1}, 'base64') as v${n}`)
    .join('')}
    from (
      select ${FETCHED.sourceList} as kind, e.id, w.build, w.side, w.size, w.groups,
        case when w.excludes then e.own end as own,
        w.operators, e.compared, e.keys, ''::bytea as rank, 0::bigint as product
      from membership e
      join json_to_recordset($3::json) as w
        (build bigint, side bigint, size bigint, groups bigint, excludes boolean, operators json)
        on w.build = e.build and w.side = 1 - e.side
      union all
      select ${FETCHED.page}, w.id, w.build, w.side, w.size, w.groups, w.own,
        w.operators, w.compared, w.keys, decode(w.rank, 'hex'), w.product
      from json_to_recordset($4::json) as w
        (id bigint, build bigint, side bigint, size bigint, groups bigint, own text, operators json, compared json,
         keys json, rank text, product bigint)
      where json_typeof(w.keys) = 'array') l) l`;

const IN_LIST = `m.project_id = $1 and m.build_id = l.build and m.side = l.side and m.match_key = k.key`;

/**
 * The index of the first comparison has truncated values. No value begins with as many bytes of 255 as the
 * upper end.
 */
const IN_REACH = `m.c1 is not null
  and substring(m.c1 for 512) >= coalesce(substring(l.from1 for 512), ''::bytea)
  and substring(m.c1 for 512) <= coalesce(substring(l.below1 for 512), '\\x${'ff'.repeat(9)}'::bytea)`;

/**
 * The keys of a list, with the number of members within reach of the first comparison. Without one, the
 * number is at the limit.
 */
function writeKeys(comparisons: number): string {
  const keys = `select decode(k #>> '{}', 'base64') as key from json_array_elements(l.keys) k
      where json_typeof(k) = 'string'`;
  if (comparisons === 0) return keys;
  return `select k.key, case when l.from1 is null and l.below1 is null then ${SORTED_AT_MOST} else (
        select count(*) from (select from relation_member m where ${IN_LIST} and ${IN_REACH}
          order by substring(m.c1 for 512) limit ${SORTED_AT_MOST}) m) end as reach
      from (${keys}) k offset 0`;
}

/**
 * If few members are within reach of the first comparison, they are read and sorted. Otherwise members are
 * read by rank until enough match.
 */
function writeCandidates(comparisons: number): string {
  const matches = `(m.rank, m.product_id) > (l.rank, l.product)${range(comparisons)
    .map(
      (n) => `
        and (l.from${n} is null or m.c${n} >= l.from${n}) and (l.below${n} is null or m.c${n} < l.below${n})
        and (l.other${n} is null or m.c${n} is null or m.c${n} <> l.other${n})`,
    )
    .join('')}`;
  const byRank = (
    condition: string,
  ) => `select m.product_id, m.group_identifier, m.rank from relation_member m
      where ${IN_LIST} and ${matches} and ${isPresent('m')}${condition}
      order by m.rank, m.product_id limit l.size`;
  if (comparisons === 0) return byRank('');
  return `select * from (
      (select m.product_id, m.group_identifier, m.rank from (
        select * from (select * from relation_member m where ${IN_LIST} and ${IN_REACH}
          order by substring(m.c1 for 512) limit ${SORTED_AT_MOST}) m
        where ${matches} order by m.rank, m.product_id offset 0) m
        where k.reach < ${SORTED_AT_MOST} and ${isPresent('m')} limit l.size)
      union all
      (${byRank(` and k.reach >= ${SORTED_AT_MOST}`)})) m
    order by m.rank, m.product_id limit l.size`;
}

/**
 * A prepared statement keeps a plan that it got while its tables were small, and this plan reads them
 * completely. That lasts until PostgreSQL analyses the tables, at the earliest a minute after a load.
 * Statements that read row by row therefore get another text once a table is large. With more than a few
 * pages, every plan uses the index.
 */
const LARGE_BYTES = 64 * 1024;
const TABLES = ['product', 'document', 'relation_document', 'relation_member'];
const SCALE = TABLES.map(
  (table, index) => `case when pg_relation_size('${table}') > ${LARGE_BYTES} then ${2 ** index} else 0 end`,
).join(' + ');

/** @returns the version of a catalog and which tables are large */
export async function readMark(session: SqlSession, projectId: number): Promise<CatalogMark> {
  const [mark] = await session.rows<CatalogMark>(
    `select coalesce((select catalog_version from catalog where project_id = $1), 0) as version, ${SCALE} as scale`,
    [projectId],
  );
  return mark ?? { version: 0, scale: 0 };
}
