import { isStorableText } from '../../kernel/storable-text.ts';
import {
  byEngine,
  listed,
  lookupJoin,
  own,
  type Program,
  row,
  rows,
  type Sql,
  sql,
  text,
} from '../../storage/storage.ts';
import { FRONT_END, type IdentifierRange, type ListedRow } from '../browse/browse.ts';
import type { DeletedPage, ListedRange } from '../port.ts';
import { absentProducts, PRODUCTS } from './commit-store.ts';
import { planForWholeTables } from './planning-store.ts';
import { wantedProducts } from './undo-store.ts';

/** Lists and counts of products, by an index. */

const UPLOAD = byEngine({ sqlite: text('cast(d.raw as text)'), postgres: text('d.raw') });
/** The fields before its attributes. */
export const UPLOAD_FRONT = byEngine({
  sqlite: text(`substr(d.raw, 1, instr(d.raw, cast('${FRONT_END}' as blob)) - 1) || '}'`),
  postgres: text(`left(d.raw, strpos(d.raw, '${FRONT_END}') - 1) || '}'`),
});
/** Of a document `d`. */
export const uploadText = (isWhole: boolean): Sql => (isWhole ? UPLOAD : UPLOAD_FRONT);

const DOCUMENT = lookupJoin('document', 'd', sql`d.id = p.document_id`);

/** Products `p` with their documents `d`. PostgreSQL applies the limit before the join: it could sort all documents. */
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

const BY_IDENTIFIER = text('p.identifier');

/** Relies on the unique index of identifier. */
export const listRange = (range: ListedRange): Program<ListedRow[]> =>
  rows(
    sql`select ${listedColumns(uploadText(range.isWhole))}
      from ${firstProducts(within(range), BY_IDENTIFIER, range.limit)}`,
  );

function* count(from: Sql): Program<number> {
  return (yield* row<{ count: number }>(sql`select count(*) as count from ${from}`))?.count ?? 0;
}

export const countRange = (range: IdentifierRange): Program<number> =>
  count(sql`product p where ${own('p')} and ${within(range)}`);

export const countProducts = (): Program<number> => count(PRODUCTS);

const ofIdentifiers = (identifiers: readonly string[]) => wantedProducts(identifiers.filter(isStorableText));

export const countKnown = (identifiers: readonly string[]): Program<number> =>
  count(ofIdentifiers(identifiers));

export function* hasAny(identifiers: readonly string[]): Program<boolean> {
  return (yield* row(sql`select 1 from ${ofIdentifiers(identifiers)} limit 1`)) !== undefined;
}

export function* listDeleted({ fullUpdateId, after, limit }: DeletedPage): Program<ListedRow[]> {
  yield* planForWholeTables();
  const gone = yield* rows<{ identifier: string }>(
    sql`select p.identifier from ${absentProducts(fullUpdateId)} and p.identifier > ${after}
      order by p.identifier limit ${limit}`,
  );
  const identifiers = gone.map(({ identifier }) => identifier);
  return yield* rows(
    sql`select ${listedColumns(UPLOAD_FRONT)} from ${listed('w', 'text', identifiers)}
      ${lookupJoin('product', 'p', sql`p.identifier = w.value`)} ${DOCUMENT} order by p.identifier`,
  );
}

/** Products of a range of ids, for samples and for scans of the whole catalog. */
export const listById = ({
  after,
  upTo,
  limit,
}: {
  after: number;
  upTo: number;
  limit: number;
}): Program<ListedRow[]> =>
  rows(
    sql`select ${listedColumns(UPLOAD)}
      from ${firstProducts(sql`p.id > ${after} and p.id <= ${upTo}`, text('p.id'), limit)}`,
  );

export function* readLargestId(): Program<number> {
  const found = yield* row<{ largest: number | null }>(
    sql`select max(id) as largest from product where ${own()}`,
  );
  return found?.largest ?? 0;
}
