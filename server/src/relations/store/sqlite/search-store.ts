import { findCategoryId } from '../../../catalog/store/sqlite/sqlite.ts';
import type { CatalogFile } from '../../../storage/sqlite/sqlite.ts';
import { rows, sql } from '../../../storage/storage.ts';
import { sideNumber, unpackMemberships } from '../../memberships/memberships.ts';
import {
  type Candidate,
  type CandidateSearch,
  expectCandidates,
  type FoundSource,
  growPage,
  mergeRanked,
  type RelationView,
  type ShareLists,
  SORTED_AT_MOST,
  SQL_OPERATORS,
  type StoredUpload,
  type Variant,
  type WorkLimit,
} from '../../search/search.ts';
import type { PassedProduct } from '../relation-reader.ts';
import { describeLinked, type LinkedRow } from '../survey-store.ts';

/** Reads the join index of a catalog's file, on the snapshot of the caller. */

interface ViewParts {
  readonly limit: WorkLimit;
  /** Keeps what was read of this version of the catalog. */
  readonly share: ShareLists;
}

/**
 * @returns a view of the caller's snapshot, in which nothing is ever missing. `limit` is checked before statements that
 * may take long: a running one cannot be stopped.
 */
export function createFileView(file: CatalogFile, { limit, share }: Partial<ViewParts> = {}): RelationView {
  return {
    once: (_, make) => make(),
    ...(share && { share }),
    findSource(identifier) {
      limit?.check();
      return findSource(file, identifier);
    },
    listCandidates: (search) => listCandidates(file, search, limit),
    listVariants(group) {
      limit?.check();
      const read = () => listVariants(file, group);
      return share === undefined ? read() : share(`group ${group}`, read, weighVariant);
    },
    listLinked({ build, side, identifier }) {
      limit?.check();
      if (!identifier.isWellFormed()) return [];
      const search = { build: sql`${build}`, identifier: sql`${identifier}`, side };
      return file.perform(rows<LinkedRow>(describeLinked(search)));
    },
    findDocument: (productId) =>
      file.prepare('select document_id as id from product where id = ?').get(productId)?.id as number,
    findRaw: (productId) => findRaw(file, productId),
    findCategoryId: (path) => findCategoryId(file, path) ?? 0,
    findIdentifier: (productId) => findIdentifier(file, productId),
    findUpload: (identifier) => findUpload(file, identifier),
  };
}

const weighVariant = ({ packed }: Variant) => 100 + packed.length;

function findSource(file: CatalogFile, identifier: string): FoundSource | undefined {
  // An unpaired surrogate would be read as U+FFFD, which another product may have.
  if (!identifier.isWellFormed()) return undefined;
  const row = file
    .prepare(
      `select p.id, r.group_identifier as groupIdentifier, r.memberships
       from product p join relation_document r on r.document_id = p.document_id where p.identifier = ?`,
    )
    .get(identifier) as { id: number; groupIdentifier: string; memberships: string } | undefined;
  if (row === undefined) return undefined;
  return { productId: row.id, group: row.groupIdentifier, memberships: unpackMemberships(row.memberships) };
}

interface SourceRow {
  readonly productId: number;
  readonly group: string;
  readonly memberships: string;
}

/** @param products by id. @returns by identifier what they are in relations by rules: `findSource` for many at once */
export function listSources(file: CatalogFile, products: readonly PassedProduct[]): Map<string, FoundSource> {
  const identifiers = new Map(products.map(({ productId, identifier }) => [productId, identifier]));
  const sources = file
    .prepare(
      `select p.id as productId, r.group_identifier as "group", r.memberships from product p
       join relation_document r on r.document_id = p.document_id where p.id between ? and ?`,
    )
    .all(products[0]?.productId ?? 0, products.at(-1)?.productId ?? 0) as unknown as SourceRow[];
  return new Map(
    sources.flatMap(({ productId, group, memberships }): [string, FoundSource][] => {
      const identifier = identifiers.get(productId);
      if (identifier === undefined) return [];
      return [[identifier, { productId, group, memberships: unpackMemberships(memberships) }]];
    }),
  );
}

/** A candidate with its rank in hexadecimal, which sorts as the bytes do and is cheaper to pass on. */
interface RankedCandidate extends Candidate {
  readonly rank: string;
}

/** A member whose document is not its product's present one is staged, or kept for a restore. */
const PRESENT = 'cross join product p on p.id = m.product_id and p.document_id = m.document_id';
const COLUMNS = 'm.product_id as productId, m.group_identifier as "group", hex(m.rank) as rank';
const ORDER = 'order by m.rank, m.product_id';

function* listCandidates(
  file: CatalogFile,
  search: CandidateSearch,
  limit: WorkLimit | undefined,
): Generator<RankedCandidate, void> {
  const isAlone = search.opposite.keys.length === 1 && search.isMerged !== true;
  const lists = search.opposite.keys.map((key) =>
    listOfKey(file, search, { key: Buffer.from(key, 'base64'), isAlone, limit }),
  );
  yield* mergeRanked(lists);
}

function* listOfKey(
  file: CatalogFile,
  search: CandidateSearch,
  { key, isAlone, limit }: { key: Uint8Array; isAlone: boolean; limit: WorkLimit | undefined },
): Generator<RankedCandidate, void> {
  limit?.check();
  const { conditions, values, seek } = describeComparisons(search);
  const place = [search.build, sideNumber(search.side), key] as const;
  const inSide = 'm.build_id = ? and m.side = ? and m.match_key = ?';
  if (seek !== undefined && isNear(file, place, seek)) {
    const sql = `select ${COLUMNS}, m.document_id as document from relation_member m indexed by relation_member_compared
      where ${inSide} and m.${seek.condition}${conditions} ${ORDER}`;
    const near = [...place, seek.value, ...values];
    const rows = isAlone ? file.prepare(sql).iterate(...near) : file.prepare(sql).all(...near);
    for (const row of rows as Iterable<MemberRow>) if (isPresent(file, row)) yield row;
    return;
  }
  const sql = `select ${COLUMNS} from relation_member m ${PRESENT} where ${inSide}${conditions}`;
  if (isAlone) return yield* listInOrder(file, { sql, values: [...place, ...values], limit });
  const first = expectCandidates(search.limit);
  yield* listInPages(file, { sql, values: [...place, ...values], first, limit });
}

interface MemberRow extends RankedCandidate {
  readonly document: number;
}

function isPresent(file: CatalogFile, { productId, document }: MemberRow): boolean {
  const sql = 'select 1 from product where id = ? and document_id = ?';
  return file.prepare(sql).get(productId, document) !== undefined;
}

interface PagedList {
  readonly sql: string;
  readonly values: readonly (number | Uint8Array)[];
  /** Rows of the first page. */
  readonly first: number;
  readonly limit: WorkLimit | undefined;
}

/** A row costs 2 µs and more: no more are read than are looked at. The statement is used for nothing else meanwhile. */
function* listInOrder(
  file: CatalogFile,
  { sql, values, limit }: Omit<PagedList, 'first'>,
): Generator<RankedCandidate, void> {
  let read = 0;
  for (const row of file.prepare(`${sql} ${ORDER}`).iterate(...values)) {
    read += 1;
    if (read % CHECKED_ROWS === 0) limit?.check();
    yield row as unknown as RankedCandidate;
  }
}

const CHECKED_ROWS = 1_000;

/** Several lists are read in turn by the same statement, so each gives it back after a page. */
function* listInPages(
  file: CatalogFile,
  { sql, values, first, limit }: PagedList,
): Generator<RankedCandidate, void> {
  let last: RankedCandidate | undefined;
  for (let size = first; ; size = growPage(size)) {
    limit?.check();
    const after = last === undefined ? '' : ' and (m.rank, m.product_id) > (unhex(?), ?)';
    const from = last === undefined ? [] : [last.rank, last.productId];
    const statement = file.prepare(`${sql}${after} ${ORDER} limit ?`);
    const page = statement.all(...values, ...from, size) as unknown as RankedCandidate[];
    yield* page;
    last = page.at(-1);
    if (page.length < size) return;
  }
}

interface Seek {
  readonly condition: string;
  readonly value: Uint8Array;
}

/** The comparisons as SQL; the first also as an index seek, if it is a range. */
function describeComparisons({ side, opposite, operators }: CandidateSearch) {
  const compared = operators.flatMap((operator, at) => {
    const value = opposite.compared[at] ?? null;
    const sql = SQL_OPERATORS[operator as 'less'][side];
    return value === null
      ? []
      : [{ column: `c${at + 1}`, operator, sql, value: Buffer.from(value, 'base64') }];
  });
  // The plus keeps SQLite from using the index of c1 and then sorting a million members by rank.
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

function isNear(file: CatalogFile, place: readonly [number, number, Uint8Array], seek: Seek): boolean {
  const found = file
    .prepare(
      `select count(*) as count from (select 1 from relation_member indexed by relation_member_compared
       where build_id = ? and side = ? and match_key = ? and ${seek.condition} limit ${SORTED_AT_MOST})`,
    )
    .get(...place, seek.value);
  return Number(found?.count) < SORTED_AT_MOST;
}

function listVariants(file: CatalogFile, group: string): Variant[] {
  return file
    .prepare(
      `select p.id as productId, r.memberships as packed from relation_document r
       join product p on p.id = r.product_id and p.document_id = r.document_id where r.group_identifier = ?`,
    )
    .all(group) as unknown as Variant[];
}

/** @throws Error for a product that is not there: the join index has named it */
function findRaw(file: CatalogFile, productId: number): string {
  const found = file
    .prepare(
      'select cast(d.raw as text) as raw from product p join document d on d.id = p.document_id where p.id = ?',
    )
    .get(productId);
  if (found !== undefined) return String(found.raw);
  throw new Error(`the product ${productId} is in the join index and not in the catalog`);
}

function findUpload(file: CatalogFile, identifier: string): StoredUpload | undefined {
  if (!identifier.isWellFormed()) return undefined;
  return file
    .prepare(
      `select p.id as productId, cast(d.raw as text) as raw
       from product p join document d on d.id = p.document_id where p.identifier = ?`,
    )
    .get(identifier) as StoredUpload | undefined;
}

function findIdentifier(file: CatalogFile, productId: number): string {
  return String(file.prepare('select identifier from product where id = ?').get(productId)?.identifier);
}
