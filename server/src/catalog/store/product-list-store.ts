import { isStorableText } from '../../kernel/storable-text.ts';
import {
  byEngine,
  cell,
  listed,
  lookupJoin,
  own,
  type Program,
  row,
  rows,
  type Sql,
  sql,
  text,
} from '../../storage/programs/programs.ts';
import type {
  FoundProduct,
  IdentifierRange,
  IdRange,
  ListedPart,
  ListedRange,
  ListedRow,
  MeasuredDocument,
  OutdatedProduct,
  PatchedProduct,
  PlacedRow,
  PresentProduct,
} from '../port.ts';
import { FRONT_END } from '../products/documents/documents.ts';
import type { UploadedProduct } from '../products/products.ts';
import { findCategories, planForParts, readOntology } from './state-store.ts';

/** Lists and counts of products, by an index. */

/** All products. SQLite counts a table without a condition by its pages. */
export const PRODUCTS = byEngine({ sqlite: text('product'), postgres: sql`product where ${own()}` });

const UPLOAD = byEngine({ sqlite: text('cast(d.raw as text)'), postgres: text('d.raw') });
/** The fields of an upload before its attributes. */
export const UPLOAD_FRONT = byEngine({
  sqlite: text(`substr(d.raw, 1, instr(d.raw, cast('${FRONT_END}' as blob)) - 1) || '}'`),
  postgres: text(`left(d.raw, strpos(d.raw, '${FRONT_END}') - 1) || '}'`),
});
/** The size of a document `d`. Neither engine reads the document for it. */
export const UPLOAD_BYTES = byEngine({
  sqlite: text('length(d.raw)'),
  postgres: text('octet_length(d.raw)'),
});
/** @returns the upload of a document `d`, or its front */
export const uploadText = (isWhole: boolean): Sql => (isWhole ? UPLOAD : UPLOAD_FRONT);

export const DOCUMENT = lookupJoin('document', 'd', sql`d.id = p.document_id`);

/**
 * Products `p` with their documents `d`. PostgreSQL limits the products before the join, because it might otherwise
 * sort all documents.
 */
const firstProducts = (where: Sql, order: Sql, limit: number): Sql =>
  byEngine({
    sqlite: sql`product p ${DOCUMENT} where ${where} order by ${order} limit ${limit}`,
    postgres: sql`(select * from product p where ${own('p')} and ${where} order by ${order} limit ${limit}) p
      ${DOCUMENT} order by ${order}`,
  });

export const listedColumns = (text: Sql): Sql =>
  sql`p.id, p.identifier, p.updated_at as "updatedAt", ${text} as text`;

const within = ({ from, isAfter, to }: IdentifierRange): Sql =>
  sql`p.identifier ${text(isAfter ? '>' : '>=')} ${from} ${to === undefined ? text('') : sql`and p.identifier < ${to}`}`;

/**
 * Bytes of uploads per page, 1,000 ordinary products. The serving thread reads them, and 4 MiB took it up to 30 ms.
 * SQLite reads a whole upload to find its front, but that is much cheaper than processing it.
 */
const PAGE_BYTES = { whole: 2 * 1024 * 1024, front: 4 * 1024 * 1024 };

/**
 * Selects the first rows whose documents together have at most `bytes` bytes, and at least one row. Each row has
 * `found`, the total number of rows, and `ordinal`, its position from 1. The sizes are read without the documents.
 * @param source rows with a document `d` and the columns `columns`
 */
export const fittingRows = (
  columns: Sql,
  source: Sql,
  { as, order, bytes }: { readonly as: string; readonly order: Sql; readonly bytes: number | Sql },
): Sql =>
  sql`(select * from (select f.*, count(*) over () as found, row_number() over (order by f.${order}) as ordinal,
        sum(f.bytes) over (order by f.${order}) as total
      from (select ${columns}, ${UPLOAD_BYTES} as bytes from ${source}) f) f
    where f.ordinal = 1 or f.total <= ${bytes}) ${text(as)}`;

/** @returns whether there were more rows that did not fit */
export const areCut = (fitting: readonly { readonly found: number }[]): boolean =>
  fitting.length < (fitting[0]?.found ?? 0);

/** Uses the unique index of identifiers. */
export function* listRange({ isWhole, limit, ...range }: ListedRange): Program<ListedPart> {
  const source = firstProducts(within(range), text('p.identifier'), limit);
  return yield* listFitting(source, { order: text('identifier'), isWhole });
}

/** Uses the primary key of products. */
export function* listById({ after, upTo, limit }: IdRange): Program<ListedPart> {
  const source = firstProducts(sql`p.id > ${after} and p.id <= ${upTo}`, text('p.id'), limit);
  return yield* listFitting(source, { order: text('id'), isWhole: true });
}

function* listFitting(source: Sql, { order, isWhole }: { order: Sql; isWhole: boolean }) {
  const columns = text('p.id, p.identifier, p.updated_at, p.document_id');
  const bytes = PAGE_BYTES[isWhole ? 'whole' : 'front'];
  const fitting = fittingRows(columns, source, { as: 'p', order, bytes });
  const found = yield* rows<ListedRow & { found: number; ordinal: number }>`select p.found, p.ordinal,
    ${listedColumns(uploadText(isWhole))}
    from ${fitting} ${DOCUMENT}`;
  // Sorts here, because SQL would also move the texts of the uploads: 8 of 20 ms for 4 MB.
  found.sort((left, right) => left.ordinal - right.ordinal);
  return { rows: found, isCut: areCut(found) };
}

/** Bytes of uploads that are read together for work on a whole catalog: 1,000 ordinary products, or a few of 2 MB. */
const PART_BYTES = 8 * 1024 * 1024;

/**
 * @returns products after the id `after`, in the order of their ids: `limit` products, or fewer if their uploads are
 * large; an empty list at the end
 */
export function* listUploads(after: number, limit: number) {
  const source = firstProducts(sql`p.id > ${after}`, text('p.id'), limit);
  const columns = text('p.id, p.document_id, p.updated_at');
  const fitting = fittingRows(columns, source, { as: 'p', order: text('id'), bytes: PART_BYTES });
  return yield* rows<{
    readonly productId: number;
    readonly document: number;
    readonly updatedAt: number;
    readonly raw: string;
  }>`select p.id as "productId", p.document_id as document, p.updated_at as "updatedAt", ${UPLOAD} as raw
    from ${fitting} ${DOCUMENT} order by p.id`;
}

export function* countRows(from: Sql): Program<number> {
  return (yield* cell<number>`select count(*) as count from ${from}`) ?? 0;
}

export const countProducts = (): Program<number> => countRows(PRODUCTS);

/** @returns the present products `p` with these identifiers */
export const productsOf = (identifiers: readonly string[]): Sql =>
  sql`${listed('w', 'text', identifiers.filter(isStorableText))} ${lookupJoin('product', 'p', sql`p.identifier = w.value`)}`;

/**
 * A product whose document is missing in a damaged file gets the size 0. A join would treat it as absent, whereas
 * reading it must fail.
 */
export const measureDocuments = (identifiers: readonly string[]): Program<MeasuredDocument[]> =>
  rows`select p.identifier, p.document_id as document,
      coalesce((select ${UPLOAD_BYTES} from document d where ${own('d')} and d.id = p.document_id), 0) as bytes
    from ${productsOf(identifiers)}`;

export function* hasAny(identifiers: readonly string[]): Program<boolean> {
  return (yield* row`select 1 from ${productsOf(identifiers)} limit 1`) !== undefined;
}

/**
 * The present products as lists, with the indexes of their identifiers. A row for each product would take five times
 * as long.
 */
const PRESENT_LISTS = byEngine({
  sqlite: text(`json_group_array(w.key) as places, json_group_array(p.id) as ids,
    json_group_array(p.document_id) as documents, lower(group_concat(hex(p.hash), '')) as hashes`),
  postgres: text(`json_agg(w.place - 1)::text as places, json_agg(p.id)::text as ids,
    json_agg(p.document_id)::text as documents, string_agg(encode(p.hash, 'hex'), '') as hashes`),
});
const HASH_DIGITS = 32;

export function* findPresent(identifiers: readonly string[]) {
  yield* planForParts();
  const source = byEngine({
    sqlite: () => sql`json_each(iif(exists (select 1 from product), ${JSON.stringify(identifiers)}, '[]')) w`,
    postgres: sql`unnest(${identifiers}::text[]) with ordinality w (value, place)`,
  });
  const lists = yield* row<
    Record<'places' | 'ids' | 'documents' | 'hashes', string | null>
  >`select ${PRESENT_LISTS} from ${source} ${lookupJoin('product', 'p', sql`p.identifier = w.value`)}`;
  const listOf = (name: 'places' | 'ids' | 'documents') => JSON.parse(lists?.[name] ?? '[]') as number[];
  const [ids, documents] = [listOf('ids'), listOf('documents')];
  const present: (PresentProduct | undefined)[] = new Array(identifiers.length).fill(undefined);
  for (const [index, position] of listOf('places').entries()) {
    const hash = lists?.hashes?.slice(index * HASH_DIGITS, (index + 1) * HASH_DIGITS) ?? '';
    present[position] = { id: ids[index] as number, document: documents[index] as number, hash };
  }
  return present;
}

type OutdatedPage = Record<'revision' | 'after' | 'limit', number>;

export function* listOutdated({ revision, after, limit }: OutdatedPage): Program<OutdatedProduct[]> {
  yield* planForParts();
  const where = sql`p.id > ${after} and p.ontology_revision < ${revision}`;
  return yield* rows`select p.id, p.document_id as document, p.ontology_revision as revision, ${UPLOAD} as raw
    from ${firstProducts(where, text('p.id'), limit)}`;
}

/** @returns the products of the list that are in the catalog, with their uploads, in no particular order */
export function* findPatched(identifiers: readonly string[]): Program<PatchedProduct[]> {
  yield* planForParts();
  return yield* rows`select p.identifier, p.id, ${HASH} as hash, p.document_id as document, ${UPLOAD} as raw
    from ${productsOf(identifiers)} ${DOCUMENT}`;
}

const HASH = byEngine({ sqlite: text('lower(hex(p.hash))'), postgres: text(`encode(p.hash, 'hex')`) });

/** A product whose document is missing in a damaged file is found without its upload. */
export function* findProduct(identifier: string): Program<FoundProduct | undefined> {
  const product = yield* row<Omit<FoundProduct, 'ontology' | 'categories'>>`select p.id, p.identifier,
    p.updated_at as "updatedAt", p.updated_by as "updatedBy",
    (select ${UPLOAD} from document d where ${own('d')} and d.id = p.document_id) as raw
    from ${productsOf([identifier])}`;
  if (product === undefined) return undefined;
  const { categories } = JSON.parse(product.raw ?? '{"categories":[]}') as UploadedProduct;
  const paths = categories.map(({ path }) => JSON.stringify(path));
  return { ...product, ontology: yield* readOntology(), categories: yield* findCategories(paths) };
}

export function* readLargestId(): Program<number> {
  return (yield* cell<number | null>`select max(id) as largest from product where ${own()}`) ?? 0;
}

/** @returns the columns of a `PlacedRow`, for a product `p` with its document `d` */
export const placedColumns = (isWhole: boolean): Sql =>
  sql`p.document_id as document, ${listedColumns(uploadText(isWhole))}`;

const givenDocuments = (documents: readonly number[]): Sql =>
  sql`${listed('k', 'bigint', documents)} ${lookupJoin('document', 'd', sql`d.id = k.value`)}`;

const placeDocumentsOf =
  (isWhole: boolean) =>
  (documents: readonly number[]): Program<PlacedRow[]> =>
    rows`select ${placedColumns(isWhole)} from ${givenDocuments(documents)}
      ${lookupJoin('product', 'p', sql`p.id = d.product_id and p.document_id = d.id`)}`;

export const listDocuments = placeDocumentsOf(true);
export const listFronts = placeDocumentsOf(false);

export function* weighDocuments(documents: readonly number[]): Program<number> {
  return Number(
    yield* cell`select coalesce(sum(${UPLOAD_BYTES}), 0) as bytes from ${givenDocuments(documents)}`,
  );
}
