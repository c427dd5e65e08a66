import { findCategoryId } from '../../../catalog/store/sqlite/sqlite.ts';
import { rows, sql } from '../../../storage/programs/programs.ts';
import type { CatalogFile } from '../../../storage/sqlite/sqlite.ts';
import type { Budget } from '../../../storage/threads/threads.ts';
import {
  type Candidate,
  type CandidateSearch,
  type Comparison,
  type FoundSource,
  growPage,
  type LinkedProduct,
  type ListBasis,
  listComparisons,
  mergeRanked,
  positionOf,
  type RelationView,
  type ShareLists,
  SORTED_AT_MOST,
  type StoredUpload,
  type Variant,
} from '../../matching/matching.ts';
import { sideNumber, unpackMemberships } from '../../memberships/memberships.ts';
import type { PassedProduct } from '../catalog-pass.ts';
import { describeLinked } from '../survey-store.ts';
import { mergeRuns, parseRun, type RunMember, readRun } from './membership-store.ts';

/** Reads the join index of a catalog's file, on the snapshot of the caller. */

/**
 * @param parts `limit` is checked before statements that may take long, because a running statement cannot be
 * stopped. `share` caches lists of this version of the catalog.
 * @returns a view of the caller's snapshot, which is always complete
 */
export function createFileView(
  file: CatalogFile,
  { limit, share }: { readonly limit: Budget; readonly share?: ShareLists },
): RelationView {
  return {
    once: (_, make) => make(),
    ...(share && { share }),
    findSource(identifier) {
      limit.check();
      return findSource(file, identifier);
    },
    listCandidates: (search) => listCandidates(file, search, limit),
    listVariants(group) {
      limit.check();
      const read = () => listVariants(file, group);
      return share === undefined ? read() : share(`group ${group}`, read, { weigh: weighVariant });
    },
    listLinked({ build, side, identifier }) {
      limit.check();
      if (!identifier.isWellFormed()) return [];
      const search = { build: sql`${build}`, identifier: sql`${identifier}`, side };
      return file.perform(rows<LinkedProduct>(describeLinked(search)));
    },
    findRaw: (productId) => findRaw(file, productId),
    findCategoryId: (path) => findCategoryId(file, path) ?? 0,
    findIdentifier: (productId) =>
      String(file.prepare('select identifier from product where id = ?').get(productId)?.identifier),
    findUpload: (identifier) => findUpload(file, identifier),
  };
}

const weighVariant = ({ packed }: Variant) => 100 + packed.length;

/**
 * If there are more new documents, the lists are discarded, because reading the documents would cost more
 * than making the lists again.
 */
const MOST_ADDED = 1_000;
/** The most positions, and the most documents, that are remembered. Each takes 50 bytes. */
const MOST_KNOWN = 100_000;

/**
 * The newest document id, and a text that changes when documents that are not new may have become present.
 */
const STATE = `select coalesce((select max(document_id) from relation_document), 0),
  (select value from meta where name = 'derivation_revision') || ' ' ||
    coalesce((select max(catalog_version) from undo_log), iif(exists (select 1 from staged_batch), null, 0))`;

/**
 * Follows a file from version to version to find out which lists are still valid. New documents have ids
 * above the highest id seen. The exceptions are a commit of documents that were staged before, and a restore:
 * both change the newest entry of the undo log. A catalog that is restored from a backup gets another
 * derivation revision.
 */
export function followCatalog(file: CatalogFile, since: number) {
  const readState = () => file.prepareArrays(STATE).get() as readonly [newest: number, basis: string | null];
  let version = since;
  let [newest, basis] = readState();
  /** The last version in which a document appeared, by index position. */
  const gained = new Map<string, number>();
  /** The documents of this version, by product. */
  const documents = new Map<number, number | undefined>();
  const select = file.prepareArrays('select document_id from product where id = ?');
  const listAdded = `select memberships from relation_document where document_id > ? limit ${MOST_ADDED + 1}`;

  function findDocument(productId: number): number | undefined {
    if (documents.size >= MOST_KNOWN) documents.clear();
    return documents.getOrInsertComputed(productId, (id) => select.get(id)?.[0] as number | undefined);
  }

  return {
    findDocument,
    /** @returns false if lists may have changed in another way; the caller then starts anew */
    follow(next: number): boolean {
      const added = file.prepareArrays(listAdded).all(newest) as [string][];
      const before = basis;
      [newest, basis] = readState();
      if (basis === null || basis !== before || added.length > MOST_ADDED) return false;
      for (const membership of added.flatMap(([packed]) => unpackMemberships(packed)))
        for (const key of ['', ...membership.keys]) gained.set(positionOf(membership, key), next);
      documents.clear();
      version = next;
      return gained.size <= MOST_KNOWN;
    },
    /**
     * @returns a function that checks whether a list made now is still valid. A list without a basis is valid
     * only in this version.
     */
    watch(basisOfList?: ListBasis): () => boolean {
      let checkedVersion = version;
      const before = basisOfList?.products.map(findDocument);
      return () => {
        if (checkedVersion === version) return true;
        const isSame =
          basisOfList?.positions.every((position) => (gained.get(position) ?? 0) <= checkedVersion) ===
            true && basisOfList.products.every((id, index) => findDocument(id) === before?.[index]);
        if (isSame) checkedVersion = version;
        return isSame;
      };
    },
  };
}

type SourceRow = readonly [productId: number, group: string, packed: string];

const SOURCE = `select p.id, r.group_identifier, r.memberships
  from product p join relation_document r on r.document_id = p.document_id`;

const toSource = ([productId, group, packed]: SourceRow): FoundSource => ({
  productId,
  group,
  memberships: unpackMemberships(packed),
});

function findSource(file: CatalogFile, identifier: string): FoundSource | undefined {
  // SQLite would read a lone surrogate as U+FFFD, which may be in another identifier.
  if (!identifier.isWellFormed()) return undefined;
  const statement = file.prepareArrays(`${SOURCE} where p.identifier = ?`);
  const row = statement.get(identifier) as SourceRow | undefined;
  return row && toSource(row);
}

/** @param products by ascending id @returns by identifier what `findSource` returns for each product */
export function listSources(file: CatalogFile, products: readonly PassedProduct[]) {
  const identifiers = new Map(products.map(({ productId, identifier }) => [productId, identifier]));
  const rows = file
    .prepareArrays(`${SOURCE} where p.id between ? and ?`)
    .all(products[0]?.productId ?? 0, products.at(-1)?.productId ?? 0) as SourceRow[];
  const sources = new Map<string, FoundSource>();
  for (const row of rows) {
    const identifier = identifiers.get(row[0]);
    if (identifier !== undefined) sources.set(identifier, toSource(row));
  }
  return sources;
}

/** How many characters of uploads a page has. Each may take two bytes. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/**
 * @returns products by id, after `after`. A page is shorter than `limit` if its uploads are large, and empty
 * at the end. Rows are read as arrays, because objects would cost 1.6 µs more for each row.
 */
export function listUploads(file: CatalogFile, after: number, limit: number): StoredUpload[] {
  const statement = file.prepareArrays(
    `select p.id, cast(d.raw as text) from product p join document d on d.id = p.document_id
     where p.id > ? order by p.id limit ${limit}`,
  );
  const page: StoredUpload[] = [];
  let characters = 0;
  for (const [productId, raw] of statement.iterate(after) as Iterable<readonly [number, string]>) {
    page.push({ productId, raw });
    characters += raw.length;
    if (characters >= PAGE_CHARACTERS) break;
  }
  return page;
}

/**
 * A member, or the first member of a run. A run has its number in the position of a member's second compared
 * value.
 */
type ListRow = RunMember;

/** Passes the rank in hexadecimal, which sorts like the bytes and is cheaper to pass on. */
const COLUMNS =
  'null, lower(hex(m.rank)), m.product_id, m.document_id, m.group_identifier, cast(m.run as text)';
const ORDER = 'order by m.rank, m.product_id, m.document_id';
const IN_LIST = 'm.build_id = ? and m.side = ? and m.match_key = ?';

function listCandidates(file: CatalogFile, search: CandidateSearch, limit: Budget): Iterable<Candidate> {
  const isAlone = search.opposite.keys.length === 1 && search.isMerged !== true;
  const comparisons = listComparisons(search, 'hex');
  // A member counts only if its document is the present one of its product. Other members are staged, or
  // retained for a restore.
  const present = file.prepareArrays('select identifier from product where id = ? and document_id = ?');
  const membersOf = ({ 5: run = null }: ListRow) =>
    run === null ? undefined : parseRun(readRun(file, Number(run)), comparisons);
  function* listOfKey(key: string) {
    limit.check();
    const listKey = [search.build, sideNumber(search.side), Buffer.from(key, 'base64')] as const;
    const rows = listInPages(file, { ...describeList(file, listKey, comparisons), limit });
    for (const [, rank, productId, document, group] of mergeRuns(rows, membersOf)) {
      const identifier = present.get(productId, document)?.[0] as string | undefined;
      // A list that is not merged needs no ranks.
      if (identifier !== undefined)
        yield isAlone ? { productId, group, identifier } : { productId, group, identifier, rank };
    }
  }
  return mergeRanked(search.opposite.keys.map(listOfKey));
}

interface ReadList {
  /** The statement without its order. */
  readonly sql: string;
  readonly values: readonly (number | string | Uint8Array)[];
  readonly limit: Budget;
}

/**
 * The rows of a list that may contain a match: matching members, and runs within reach of all comparisons.
 */
function describeList(
  file: CatalogFile,
  listKey: readonly [build: number, side: number, key: Uint8Array],
  comparisons: readonly Comparison[],
): Omit<ReadList, 'limit'> {
  // Only the first comparison has indexes for ranges.
  const [first] = comparisons;
  const range = first?.index === 0 && first.sql !== '<>' ? first : undefined;
  const others = range === undefined ? comparisons : comparisons.slice(1);
  const conditions = [
    'true',
    ...others.map(({ index, sql }) =>
      sql === '<>' ? `(m.c${index + 1} is null or m.c${index + 1} <> ?)` : `m.c${index + 1} ${sql} ?`,
    ),
  ].join(' and ');
  const values = others.map(({ value }) => value);
  const far = others.filter(({ sql }) => sql !== '<>');
  const extremeOf = ({ index, sql }: Comparison) =>
    `m.others ->> ${2 * index - (sql.startsWith('<') ? 2 : 1)} ${sql} ?`;
  const reach = far.length === 0 ? 'true' : `(m.others is null or (${far.map(extremeOf).join(' and ')}))`;
  const texts = far.map(({ text }) => text);
  if (range === undefined) {
    const sql = `select ${COLUMNS} from relation_member m where ${IN_LIST} and iif(m.run is null, ${conditions}, ${reach})`;
    return { sql, values: [...listKey, ...values, ...texts] };
  }
  const { sql: operator, value } = range;
  const extreme = operator.startsWith('<') ? 'least' : 'most';
  const isNear = (index: string, column: string, most: number) => {
    const count = `select count(*) as count from (select 1 from relation_member m indexed by ${index}
      where ${IN_LIST} and m.${column} ${operator} ? limit ${most})`;
    return Number(file.prepare(count).get(...listKey, value)?.count) < most;
  };
  if (
    isNear(`relation_member_${extreme}`, extreme, RUNS_SORTED_AT_MOST) &&
    isNear('relation_member_compared', 'c1', SORTED_AT_MOST)
  ) {
    const sql = `select ${COLUMNS} from (
      select * from relation_member m indexed by relation_member_compared
        where ${IN_LIST} and m.c1 ${operator} ? and ${conditions}
      union all select * from relation_member m indexed by relation_member_${extreme}
        where ${IN_LIST} and m.${extreme} ${operator} ? and ${reach}) m where true`;
    return { sql, values: [...listKey, value, ...values, ...listKey, value, ...texts] };
  }
  const sql = `select ${COLUMNS} from relation_member m where ${IN_LIST}
    and iif(m.run is null, +m.c1 ${operator} ? and ${conditions}, m.${extreme} ${operator} ? and ${reach})`;
  return { sql, values: [...listKey, value, ...values, value, ...texts] };
}

/**
 * How many runs within reach of a comparison are sorted. If there are more, runs are read by rank; with a
 * million members that takes 16,000 rows of 0.2 µs.
 */
const RUNS_SORTED_AT_MOST = 32;
/**
 * Most lists have fewer rows. A row may be a run of up to 64 members, whose 3 KiB are read only when the
 * first is needed.
 */
const FIRST_ROWS = 16;
const MOST_ROWS = 500;

/** Reads in pages, because lists that are read in turn share the same statement. */
function* listInPages(file: CatalogFile, { sql, values, limit }: ReadList): Generator<ListRow, void> {
  let last: ListRow | undefined;
  for (let size = FIRST_ROWS; ; size = Math.min(growPage(size), MOST_ROWS)) {
    limit.check();
    const after = last && ' and (m.rank, m.product_id, m.document_id) > (unhex(?), ?, ?)';
    const from = last?.slice(1, 4) ?? [];
    // The limit is written into the text, because SQLite would compile a statement with a parameter there
    // anew each time (9 µs).
    const statement = file.prepareArrays(`${sql}${after ?? ''} ${ORDER} limit ${size}`);
    const page = statement.all(...values, ...from) as ListRow[];
    yield* page;
    last = page.at(-1);
    if (page.length < size) return;
  }
}

function listVariants(file: CatalogFile, group: string): Variant[] {
  const rows = file
    .prepareArrays(
      `select p.id, r.memberships from relation_document r
       join product p on p.id = r.product_id and p.document_id = r.document_id where r.group_identifier = ?`,
    )
    .all(group) as [number, string][];
  return rows.map(([productId, packed]) => ({ productId, packed }));
}

/** @throws Error for a product that the join index names but that does not exist */
function findRaw(file: CatalogFile, productId: number): string {
  const row = file
    .prepare(
      'select cast(d.raw as text) as raw from product p join document d on d.id = p.document_id where p.id = ?',
    )
    .get(productId);
  if (row !== undefined) return String(row.raw);
  throw new Error(`the product ${productId} is in the join index but not in the catalog`);
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
