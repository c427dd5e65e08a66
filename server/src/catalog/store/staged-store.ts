import {
  among,
  ask,
  byEngine,
  cell,
  column,
  insertRow,
  lookupJoin,
  mapTable,
  own,
  type Program,
  row,
  rows,
  run,
  type Sql,
  sql,
  text,
} from '../../storage/programs/programs.ts';
import { refuseOtherBytes } from '../../storage/threads/threads.ts';
import type { PlannedDocument } from '../derivation.ts';
import type { BatchKey, BatchReview, ReportPart, ReportPlace, StagedBatch, StagedProducts } from '../port.ts';
import {
  type KeyedRow,
  type PackedProducts,
  packHashes,
  sortedRows,
} from '../products/documents/documents.ts';
import { keepRequestLines, listSkipped, SKIPPED } from '../report-lines.ts';
import { productsOf } from './product-list-store.ts';
import { type CatalogState, planForParts, reserveCategories } from './state-store.ts';
import { discard } from './undo-store.ts';

/**
 * The batches of open full updates, one row each. A row has lists of products as they were found in the catalog, and
 * statements read these lists in place. If a product of a batch has changed since, the batch is staged again; see
 * `dropOutdated`.
 */

/** The number for products that are in no batch: the present versions of invalid products that were skipped. */
const NO_BATCH = 0;

/** The parts that each engine implements in its own way, in the transaction of a change. */
export interface DocumentWriter {
  write(packed: PackedProducts, planned: readonly PlannedDocument[]): void | Promise<void>;
  removeDerived(documents: readonly number[]): void | Promise<void>;
  /** @returns whether there may be more to reorganise */
  tidyDerived(): boolean;
}

/**
 * Stages a batch. A batch that is already staged, such as before a crash, remains unchanged.
 * @returns false if the derivation has changed; then nothing is staged, and the batch must be extracted again
 */
export function* stageBatch(
  state: CatalogState,
  { packed, derivationRevision, report, observed, extractedBy, ...staged }: StagedProducts,
  documents: DocumentWriter,
): Program<boolean> {
  const existing = yield* row`select 1 from staged_batch where ${ofBatch(staged)}`;
  if (existing !== undefined) return true;
  if (state.derivationRevision !== derivationRevision) return false;
  const {
    created = [],
    changed = [],
    unchanged = [],
  } = Object.groupBy(sortedRows(packed), ({ row }) => {
    if (packed.products[row] === 0) return 'created';
    return packed.documents[row] === 0 ? 'changed' : 'unchanged';
  });
  const present = [...changed, ...unchanged];
  const idOf = ({ row }: KeyedRow) => packed.products[row] ?? 0;
  const range = yield* writeDocuments(state, packed, { documents, created, changed, idOf });
  yield* insertBatch({
    ...staged,
    catalogVersion: packed.catalogVersion,
    ...range,
    report: textOf(report),
    observed: textOf(observed),
    extractedBy: textOf(extractedBy),
    identifiers: created.map(({ identifier }) => identifier),
    products: present.map(idOf),
    gaining: unchanged.filter(({ row }) => packed.gains[row] === 1).map(idOf),
    hashes: packHashes(packed, [...created, ...present]),
  });
  return true;
}

const textOf = (text: string | Uint8Array): string =>
  typeof text === 'string' ? text : Buffer.from(text).toString();

interface DocumentRows {
  readonly documents: DocumentWriter;
  readonly created: readonly KeyedRow[];
  readonly changed: readonly KeyedRow[];
  /** @returns the product of a row; 0 for a new one */
  idOf(row: KeyedRow): number;
}

/** Writes the documents of created products and then of changed products, with consecutive ids. */
export function* writeDocuments(
  state: CatalogState,
  packed: PackedProducts,
  { documents, created, changed, idOf }: DocumentRows,
): Program<DocumentRange> {
  const { nextProductId: firstProduct, nextDocumentId: firstDocument } = state;
  const planned = [...created, ...changed].map((keyed, index) => ({
    row: keyed.row,
    id: firstDocument + index,
    productId: idOf(keyed) || firstProduct + index,
  }));
  yield* reserveCategories(state, packed.paths);
  yield* ask(() => documents.write(packed, planned));
  refuseOtherBytes(packed.bytes, packed.sample);
  state.nextProductId += created.length;
  state.nextDocumentId += planned.length;
  return { firstProduct, firstDocument, created: created.length, changed: changed.length };
}

interface PackedBatch {
  readonly identifiers: readonly string[];
  readonly products: readonly number[];
  readonly hashes: Uint8Array;
}

type BatchRow = BatchKey &
  Pick<StagedBatch, 'observed' | 'extractedBy'> &
  DocumentRange &
  PackedBatch & {
    readonly catalogVersion: number;
    readonly gaining: readonly number[];
    readonly report: string;
  };

const insertBatch = ({ identifiers, products, gaining, ...row }: BatchRow): Program<number> => {
  const lists = { identifiers, products, gaining };
  return run(insertRow('staged_batch', { ...row, ...mapTable(lists, (list) => JSON.stringify(list)) }));
};

const ofUpdate = (fullUpdateId: number) => sql`${own()} and full_update_id = ${fullUpdateId}`;
const ofBatch = ({ fullUpdateId, batch }: BatchKey) => sql`${ofUpdate(fullUpdateId)} and batch = ${batch}`;

/**
 * To find a row by its key, SQLite reads whole rows: 25 ms for a row with a report of 16 MB. Scanning a few hundred
 * rows is faster, because it reads only the beginning of each. The plus sign prevents the use of the key.
 */
const PASSING = byEngine({ sqlite: text('+'), postgres: text('') });

export const listStagedBatches = (fullUpdateId: number): Program<Pick<StagedBatch, 'batch'>[]> =>
  rows`select batch from staged_batch where ${own()} and ${PASSING}full_update_id = ${fullUpdateId}
    and ${PASSING}batch > ${NO_BATCH} order by ${PASSING}batch`;

export const findStagedBatch = (key: BatchKey): Program<StagedBatch | undefined> =>
  row`select batch, observed, extracted_by as "extractedBy" from staged_batch
    where ${own()} and ${PASSING}full_update_id = ${key.fullUpdateId} and ${PASSING}batch = ${key.batch}`;

/** The characters of a report in one part. */
const PART_CHARACTERS = 4 * 1024 * 1024;

export function* readStagedReports(
  _: CatalogState,
  { fullUpdateId, batch, at }: ReportPlace & { fullUpdateId: number },
): Program<ReportPart> {
  const from = Math.max(batch, NO_BATCH + 1);
  const stored = yield* row<{ batch: number; report: string }>`select batch, report from staged_batch
    where ${ofUpdate(fullUpdateId)} and batch >= ${from} order by batch limit 1`;
  if (stored === undefined) return { lines: '', next: undefined };
  const { report } = stored;
  const begin = stored.batch === batch ? at : 0;
  const end = report.indexOf('\n', begin + PART_CHARACTERS);
  return end < 0
    ? { lines: report.slice(begin), next: { batch: stored.batch + 1, at: 0 } }
    : { lines: report.slice(begin, end), next: { batch: stored.batch, at: end + 1 } };
}

/** Replaces the results for a staged batch by results under another ontology. */
export function* reviewBatch(_: CatalogState, reviewed: BatchReview): Program<void> {
  const { extractedBy, report, gaining } = reviewed;
  const former = yield* readReport(reviewed);
  yield* run`update staged_batch set extracted_by = ${textOf(extractedBy)},
    report = ${keepRequestLines(former) + report}, gaining = ${JSON.stringify(gaining)} where ${ofBatch(reviewed)}`;
}

function* readReport(key: BatchKey): Program<string> {
  return (yield* cell<string>`select report from staged_batch where ${ofBatch(key)}`) ?? '';
}

/**
 * Stages the present versions of skipped products. It replaces the earlier ones, because products may have changed.
 * From then on until the commit, only an ordered task of the project changes them.
 */
export function* keepSkipped({ catalogVersion }: CatalogState, { fullUpdateId }: { fullUpdateId: number }) {
  const skipping = yield* column<number>`select batch from staged_batch where ${ofUpdate(fullUpdateId)}
    and batch > ${NO_BATCH} and report like ${`%${SKIPPED}%`} order by batch`;
  const skipped = new Set<string>();
  for (const batch of skipping)
    for (const identifier of listSkipped(yield* readReport({ fullUpdateId, batch }))) skipped.add(identifier);
  if (skipped.size === 0) return;
  const key = { fullUpdateId, batch: NO_BATCH };
  yield* run`delete from staged_batch where ${ofBatch(key)}`;
  const products = yield* column<number>`select p.id from ${productsOf([...skipped])}`;
  yield* insertBatch({
    ...key,
    observed: '',
    extractedBy: '',
    report: '',
    catalogVersion,
    firstProduct: 0,
    firstDocument: 0,
    created: 0,
    changed: 0,
    identifiers: [],
    products,
    gaining: [],
    hashes: new Uint8Array(),
  });
}

/**
 * Documents, and products, that were written with consecutive ids: first of created products, then of changed ones.
 */
export interface DocumentRange {
  readonly firstProduct: number;
  readonly firstDocument: number;
  readonly created: number;
  readonly changed: number;
}

/** A staged batch with its lists of products, for statements. */
export interface StagedPart extends DocumentRange {
  readonly gaining: readonly number[];
  /** Rows `s` of products that the catalog lacks: product_id, identifier, document_id, hash. */
  readonly absent: Sql;
  /** Rows `s` of products that the catalog has: product_id, is_fresh, hash, and document_id if is_fresh. */
  readonly present: Sql;
}

interface ListTexts {
  readonly identifiers: string;
  readonly products: string;
  readonly hashes: Uint8Array;
}

/**
 * The columns with lists. SQLite would copy the hashes for each row that it unpacks, so it receives them as
 * parameters.
 */
const LISTS = byEngine({
  sqlite: text('identifiers, products, hashes'),
  postgres: text(`'' as identifiers, '' as products, '' as hashes`),
});

export function* openPart(key: BatchKey): Program<StagedPart> {
  const stored = yield* row<
    DocumentRange & ListTexts & { gaining: string }
  >`select ${RANGE}, gaining, ${LISTS}
    from staged_batch where ${ofBatch(key)}`;
  if (stored === undefined) throw new Error(`the batch ${key.batch} is no longer staged`);
  return openLists(stored, sql`staged_batch where ${ofBatch(key)}`, JSON.parse(stored.gaining) as number[]);
}

const RANGE = text('first_product as "firstProduct", first_document as "firstDocument", created, changed');

/** @returns products that were just written, as a part without a batch */
export function partOf(range: DocumentRange, { hashes, ...packed }: PackedBatch): StagedPart {
  const { firstProduct, firstDocument, created, changed } = range;
  const [identifiers, products] = [JSON.stringify(packed.identifiers), JSON.stringify(packed.products)];
  const source = sql`(select ${firstProduct}::bigint as first_product, ${firstDocument}::bigint as first_document,
    ${created}::bigint as created, ${changed}::bigint as changed, ${hashes}::bytea as hashes,
    ${identifiers}::text as identifiers, ${products}::text as products) given`;
  return openLists({ ...range, identifiers, products, hashes }, source, []);
}

/** SQLite receives the lists as parameters. PostgreSQL reads them from the columns of `source`, a staged batch. */
function openLists(lists: DocumentRange & ListTexts, source: Sql, gaining: readonly number[]): StagedPart {
  const { firstProduct, firstDocument, created, changed, identifiers, products, hashes } = lists;
  const absent = byEngine({
    sqlite: sql`(select ${firstProduct} + key as product_id, value as identifier, ${firstDocument} + key as document_id,
      substr(${hashes}, key * 16 + 1, 16) as hash from json_each(${identifiers})) s`,
    postgres: unpacked(
      source,
      text(`b.first_product + u.place - 1 as product_id, u.value as identifier,
        b.first_document + u.place - 1 as document_id, substr(b.hashes, (u.place * 16 - 15)::int, 16) as hash`),
      'identifiers',
    ),
  });
  const present = byEngine({
    sqlite: sql`(select value as product_id, key < ${changed} as is_fresh, ${firstDocument + created} + key as document_id,
      substr(${hashes}, (${created} + key) * 16 + 1, 16) as hash from json_each(${products})) s`,
    postgres: unpacked(
      source,
      text(`u.value::bigint as product_id, u.place <= b.changed as is_fresh,
        b.first_document + b.created + u.place - 1 as document_id,
        substr(b.hashes, ((b.created + u.place) * 16 - 15)::int, 16) as hash`),
      'products',
    ),
  });
  return { firstProduct, firstDocument, created, changed, gaining, absent, present };
}

/** Unpacks the lists once and not for each of their rows, which `offset 0` and the concatenation ensure. */
const unpacked = (source: Sql, columns: Sql, list: 'identifiers' | 'products'): Sql =>
  sql`(select ${columns} from (select first_product, first_document, created, changed, hashes || ''::bytea as hashes,
      ${text(list)}::json as list from ${source} offset 0) b
    cross join lateral json_array_elements_text(b.list) with ordinality u (value, place)) s`;

/** Rows `s` of all batches of a full update: `batch`, `value`, and `place`, which counts from 0. */
export const stagedList = (fullUpdateId: number, list: 'gaining' | 'identifiers' | 'products'): Sql =>
  byEngine({
    sqlite: sql`(select b.batch, b.changed, e.value, e.key as place from staged_batch b
      cross join json_each(${text(`b.${list}`)}) e where b.full_update_id = ${fullUpdateId}) s`,
    postgres: sql`(select b.batch, b.changed, e.value${text(list === 'identifiers' ? ' collate "C"' : '::bigint')} as value,
      e.place - 1 as place from staged_batch b cross join lateral
      json_array_elements_text(${text(`b.${list}`)}::json) with ordinality e (value, place)
      where ${own('b')} and b.full_update_id = ${fullUpdateId}) s`,
  });

/**
 * Drops batches that no longer match the catalog: a product that they found unchanged has changed, or a product that
 * they found absent exists. They are staged again from their bodies.
 * @returns whether there were any
 */
export function* dropOutdated({ catalogVersion }: CatalogState, { fullUpdateId }: { fullUpdateId: number }) {
  yield* planForParts();
  const older = yield* column<number>`select batch from staged_batch where ${ofUpdate(fullUpdateId)}
    and batch > ${NO_BATCH} and catalog_version <> ${catalogVersion}`;
  let isAny = false;
  for (const batch of older) {
    const part = yield* openPart({ fullUpdateId, batch });
    if (yield* isAsFound(part)) continue;
    yield* dropBatch({ fullUpdateId, batch }, part);
    isAny = true;
  }
  return isAny;
}

function* isAsFound({ absent, present }: StagedPart): Program<boolean> {
  const come = lookupJoin('product', 'p', sql`p.identifier = s.identifier`);
  if ((yield* row`select 1 from ${absent} ${come} limit 1`) !== undefined) return false;
  const mismatch = yield* row`select 1 from ${present} where not exists (select 1 from product p
    where ${own('p')} and p.id = s.product_id and (p.hash <> s.hash) = s.is_fresh) limit 1`;
  return mismatch === undefined;
}

/**
 * Removes a batch and discards its documents. A committed full update has only its report, so it has no documents to
 * discard.
 */
function* dropBatch(key: BatchKey, { firstDocument, created, changed }: DocumentRange): Program<void> {
  const behind = firstDocument + created + changed;
  yield* discard(sql`id from document where ${own()} and id >= ${firstDocument} and id < ${behind}`);
  yield* run`delete from staged_batch where ${ofBatch(key)}`;
}

/** Clears the lists of a committed full update, because its documents now belong to products. */
export const emptyCommitted = (fullUpdateId: number): Program<number> =>
  run`update staged_batch set first_document = 0, created = 0, changed = 0, identifiers = '[]',
    products = '[]', gaining = '[]', hashes = '' where ${ofUpdate(fullUpdateId)}`;

/** Removes a batch of an ended full update. @returns whether there was one */
export function* dropOver(live: readonly number[]): Program<boolean> {
  const over = yield* row<BatchKey & DocumentRange>`select full_update_id as "fullUpdateId", batch,
    ${RANGE} from staged_batch where ${own()} and not (full_update_id ${among(live)}) limit 1`;
  if (over !== undefined) yield* dropBatch(over, over);
  return over !== undefined;
}
