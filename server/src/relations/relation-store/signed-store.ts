import {
  among,
  byEngine,
  cell,
  lookupJoin,
  own,
  type Program,
  rows,
  sql,
  text,
} from '../../storage/programs/programs.ts';
import type { SignedDocument, SignedPage } from '../fit/fit.ts';

/** Finds documents with a negative value. Uploads are stored in the form of JSON.stringify. */

const UPLOAD = byEngine({ sqlite: text('cast(d.raw as text)'), postgres: text('d.raw') });

/** The beginning of the attributes in a stored upload (`catalog/products/documents/stored-upload.ts`). */
const STORED = ',"attributes":[{"key":"';

/** Whether an upload contains a text. Compares bytes. */
const contains = (part: string) =>
  byEngine({
    sqlite: sql`instr(d.raw, ${Buffer.from(part)}) > 0`,
    postgres: sql`strpos(d.raw, ${part}::text) > 0`,
  });

/**
 * @returns by id, the documents whose value under the key begins with a minus. A document in another form
 * counts if any of its values does.
 */
export const listSigned = ({ key, after, upTo, limit }: SignedPage): Program<SignedDocument[]> =>
  rows`select d.id as document, ${UPLOAD} as raw from document d
    where ${own('d')} and d.id > ${after} and d.id <= ${upTo} and ${contains('"-')}
      and (${contains(`{"key":${JSON.stringify(key)},"value":"-`)} or not ${contains(STORED)})
    order by d.id limit ${limit}`;

export function* findNewestDocument(): Program<number> {
  return (yield* cell<number>`select max(d.id) as newest from document d where ${own('d')}`) ?? 0;
}

/** Whether one of these documents belongs to a present product. */
export function* hasAnyDocument(documents: readonly number[]): Program<boolean> {
  const document = yield* cell<number>`select d.id from document d
    ${lookupJoin('product', 'p', sql`p.id = d.product_id and p.document_id = d.id`)}
    where ${own('d')} and d.id ${among(documents)} limit 1`;
  return document !== undefined;
}
