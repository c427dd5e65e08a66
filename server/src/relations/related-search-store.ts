import type { CatalogFile } from '../storage/storage.ts';
import type { Comparable } from './comparable.ts';
import { type Membership, unpackMemberships } from './membership.ts';
import { KEPT_TABLES, type MembershipTables, sideNumber } from './membership-store.ts';
import type { SearchReader } from './related-search.ts';
import type { Operator, Side } from './relation.ts';

/** Reading the join index; every function works on the snapshot of its caller. */

/** A product that is asked about, with what it is in relations. */
export interface FoundSource {
  readonly productId: number;
  readonly group: string;
  readonly memberships: readonly Membership[];
}

export function findSource(
  file: CatalogFile,
  identifier: string,
  tables: MembershipTables = KEPT_TABLES,
): FoundSource | undefined {
  // An unpaired surrogate would be read as U+FFFD, which another product may have.
  if (!identifier.isWellFormed()) return undefined;
  const row = file
    .prepare(
      `select p.id, r.group_identifier as groupIdentifier, r.memberships
       from product p join ${tables.document} r on r.document_id = p.document_id where p.identifier = ?`,
    )
    .get(identifier) as { id: number; groupIdentifier: string; memberships: string } | undefined;
  if (row === undefined) return undefined;
  return { productId: row.id, group: row.groupIdentifier, memberships: unpackMemberships(row.memberships) };
}

/** A product on the other side that matches. */
export interface Candidate {
  readonly productId: number;
  readonly group: string;
  /** In hexadecimal, which sorts as the bytes do and is cheaper to hand over. */
  readonly rank: string;
}

/** What is looked for on a side of a build: what stands opposite to `opposite`. */
export interface Wanted {
  readonly build: number;
  readonly side: Side;
  readonly opposite: Membership;
  /** Of the rule's comparisons, read from the target. */
  readonly operators: readonly Operator[];
  /** How many candidates will do, mostly. */
  readonly expected: number;
  /** Default: the catalog's. */
  readonly tables?: MembershipTables;
}

/**
 * Fewer than this in reach of a comparison are read and sorted, which takes 1 µs each; else the index is read in the
 * order of rank, where in a million members with 500 in reach each result costs 2,000 rows of 0.15 µs.
 */
const SORTED_AT_MOST = 500;

const SQL_OPERATORS: Readonly<
  Record<Exclude<Operator, 'equals'>, readonly [target: string, source: string]>
> = {
  notEquals: ['<>', '<>'],
  less: ['<', '>'],
  lessOrEqual: ['<=', '>='],
  greater: ['>', '<'],
  greaterOrEqual: ['>=', '<='],
};

/** A member whose document is not that of its product is of another time: staged, or kept to be restored. */
const PRESENT = 'cross join product p on p.id = m.product_id and p.document_id = m.document_id';
const COLUMNS = 'm.product_id as productId, m.group_identifier as "group", hex(m.rank) as rank';
const ORDER = 'order by m.rank, m.product_id';

/** @returns matching products by rank, then id; of a product with several matching keys several times */
function* listCandidates(file: CatalogFile, wanted: Wanted): Generator<Candidate, void> {
  const lists = wanted.opposite.keys.map((key) => listOfKey(file, wanted, Buffer.from(key, 'base64')));
  if (lists.length === 1) yield* lists[0] as Generator<Candidate, void>;
  else yield* mergeLists(lists);
}

function* listOfKey(file: CatalogFile, wanted: Wanted, key: Uint8Array): Generator<Candidate, void> {
  const { conditions, values, seek } = describeComparisons(wanted);
  const place = [wanted.build, sideNumber(wanted.side), key] as const;
  const inSide = 'm.build_id = ? and m.side = ? and m.match_key = ?';
  const tables = wanted.tables ?? KEPT_TABLES;
  if (seek !== undefined && isNear(file, place, { ...seek, tables })) {
    const sql = `select ${COLUMNS}, m.document_id as document from ${tables.member} m indexed by ${tables.compared}
      where ${inSide} and m.${seek.condition}${conditions} ${ORDER}`;
    const rows = file.prepare(sql).all(...place, seek.value, ...values) as unknown as MemberRow[];
    for (const row of rows) if (isPresent(file, row)) yield row;
    return;
  }
  const sql = `select ${COLUMNS} from ${tables.member} m ${PRESENT} where ${inSide}${conditions}`;
  yield* listInPages(file, { sql, values: [...place, ...values], first: wanted.expected });
}

interface MemberRow extends Candidate {
  readonly document: number;
}

function isPresent(file: CatalogFile, { productId, document }: MemberRow): boolean {
  const sql = 'select 1 from product where id = ? and document_id = ?';
  return file.prepare(sql).get(productId, document) !== undefined;
}

const LARGEST_PAGE = 4_096;

/** A row costs 1 µs and more: the first page is what is expected to do, the next ones grow. */
function* listInPages(
  file: CatalogFile,
  { sql, values, first }: { sql: string; values: readonly (Comparable | Uint8Array)[]; first: number },
): Generator<Candidate, void> {
  let last: Candidate | undefined;
  for (let limit = first; ; limit = Math.min(limit * 4, LARGEST_PAGE)) {
    const after = last === undefined ? '' : ' and (m.rank, m.product_id) > (unhex(?), ?)';
    const from = last === undefined ? [] : [last.rank, last.productId];
    const statement = file.prepare(`${sql}${after} ${ORDER} limit ?`);
    const page = statement.all(...values, ...from, limit) as unknown as Candidate[];
    yield* page;
    last = page.at(-1);
    if (page.length < limit) return;
  }
}

interface Seek {
  readonly condition: string;
  readonly value: Comparable;
}

/** The comparisons as SQL; the first as a seek too, where it reaches a range. */
function describeComparisons({ side, opposite, operators }: Wanted) {
  const compared = operators.flatMap((operator, at) => {
    const value = opposite.compared[at] ?? null;
    const sql = SQL_OPERATORS[operator as 'less'][side === 'target' ? 0 : 1];
    return value === null ? [] : [{ column: `c${at + 1}`, operator, sql, value }];
  });
  // The plus keeps SQLite from reading by the index of c1, and sorting a million members by rank afterwards.
  const conditions = compared.map(({ column, operator, sql }) =>
    operator === 'notEquals'
      ? ` and (m.${column} is null or m.${column} <> ?)`
      : ` and +m.${column} ${sql} ?`,
  );
  const [first] = compared;
  const isRange = first !== undefined && first.column === 'c1' && first.operator !== 'notEquals';
  const seek: Seek | undefined = isRange ? { condition: `c1 ${first.sql} ?`, value: first.value } : undefined;
  return { conditions: conditions.join(''), values: compared.map(({ value }) => value), seek };
}

function isNear(
  file: CatalogFile,
  place: readonly [number, number, Uint8Array],
  seek: Seek & { tables: MembershipTables },
): boolean {
  const found = file
    .prepare(
      `select count(*) as count from (select 1 from ${seek.tables.member} indexed by ${seek.tables.compared}
       where build_id = ? and side = ? and match_key = ? and ${seek.condition} limit ${SORTED_AT_MOST})`,
    )
    .get(...place, seek.value);
  return Number(found?.count) < SORTED_AT_MOST;
}

function* mergeLists(lists: readonly Generator<Candidate, void>[]): Generator<Candidate, void> {
  const heads = lists.map((list) => ({ list, next: list.next().value }));
  for (;;) {
    const [best] = heads
      .filter((head): head is { list: typeof head.list; next: Candidate } => head.next !== undefined)
      .sort((a, b) => compare(a.next, b.next));
    if (best === undefined) return;
    yield best.next;
    (best as { next: Candidate | undefined }).next = best.list.next().value ?? undefined;
  }
}

const compare = (a: Candidate, b: Candidate) =>
  a.rank === b.rank ? a.productId - b.productId : a.rank < b.rank ? -1 : 1;

export interface Variant {
  readonly productId: number;
  readonly memberships: readonly Membership[];
}

/** The products of a group that stand on any side of any relation. */
function listVariants(file: CatalogFile, group: string, tables: MembershipTables = KEPT_TABLES): Variant[] {
  return file
    .prepare(
      `select p.id as productId, r.memberships from ${tables.document} r
       join product p on p.id = r.product_id and p.document_id = r.document_id where r.group_identifier = ?`,
    )
    .all(group)
    .map(({ productId, memberships }) => ({
      productId: Number(productId),
      memberships: unpackMemberships(String(memberships)),
    }));
}

/** Whether a side holds any product, matching or not. */
export function hasMembers(file: CatalogFile, build: number, side: Side): boolean {
  const found = file
    .prepare(
      `select 1 from relation_member m cross join product p on p.id = m.product_id and p.document_id = m.document_id
       where m.build_id = ? and m.side = ? limit 1`,
    )
    .get(build, sideNumber(side));
  return found !== undefined;
}

/** A product as answers show it: the answer of the lookup without id and time, and its upload. */
export interface ServedProduct {
  readonly answer: string;
  readonly raw: string;
}

export function findDocument(file: CatalogFile, productId: number): ServedProduct | undefined {
  return file
    .prepare(
      `select cast(d.answer as text) as answer, cast(d.raw as text) as raw
       from product p join document d on d.id = p.document_id where p.id = ?`,
    )
    .get(productId) as ServedProduct | undefined;
}

/** A product in the catalog, with its upload. */
export interface StoredUpload {
  readonly productId: number;
  readonly document: number;
  readonly raw: string;
}

/** @returns products by id, after `after` */
export function listUploads(file: CatalogFile, after: number, limit: number): StoredUpload[] {
  return file
    .prepare(
      `select p.id as productId, p.document_id as document, cast(d.raw as text) as raw
       from product p join document d on d.id = p.document_id where p.id > ? order by p.id limit ?`,
    )
    .all(after, limit) as unknown as StoredUpload[];
}

export function findUpload(file: CatalogFile, identifier: string): StoredUpload | undefined {
  if (!identifier.isWellFormed()) return undefined;
  return file
    .prepare(
      `select p.id as productId, p.document_id as document, cast(d.raw as text) as raw
       from product p join document d on d.id = p.document_id where p.identifier = ?`,
    )
    .get(identifier) as StoredUpload | undefined;
}

/** Walks the products of a side once each, by match key. */
const PRODUCTS_OF_SIDE = (tables: MembershipTables) => `select distinct m.product_id as productId
  from ${tables.member} m cross join product p on p.id = m.product_id and p.document_id = m.document_id
  where m.build_id = ? and m.side = ?`;

export function countMembers(
  file: CatalogFile,
  { build, side, tables }: { build: number; side: Side; tables: MembershipTables },
): number {
  const sql = `select count(*) as count from (${PRODUCTS_OF_SIDE(tables)})`;
  return Number(file.prepare(sql).get(build, sideNumber(side))?.count);
}

/** @returns identifiers of a side, one in `every`, by id */
export function sampleMembers(
  file: CatalogFile,
  wanted: { build: number; side: Side; tables: MembershipTables; every: number },
): string[] {
  const { build, side, tables, every } = wanted;
  return file
    .prepare(
      `select p.identifier from
         (select productId, row_number() over (order by productId) as place from (${PRODUCTS_OF_SIDE(tables)})) s
       join product p on p.id = s.productId where (s.place - 1) % ? = 0 order by p.id`,
    )
    .all(build, sideNumber(side), every)
    .map(({ identifier }) => String(identifier));
}

export function findIdentifier(file: CatalogFile, productId: number): string {
  return String(file.prepare('select identifier from product where id = ?').get(productId)?.identifier);
}

/** What a search reads, on the snapshot of its caller. */
export function createSearchReader(file: CatalogFile, tables: MembershipTables = KEPT_TABLES): SearchReader {
  return {
    listCandidates: (wanted) => listCandidates(file, { ...wanted, tables }),
    listVariants: (group) => listVariants(file, group, tables),
  };
}
