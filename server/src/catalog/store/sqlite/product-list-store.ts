import type { CatalogFile } from '../../../storage/storage.ts';
import {
  advance,
  type CategoryWalk,
  DROP_STEP,
  DROPPING,
  deriveCategoryRows,
  FIRST_WALK,
  FRONT_END,
  type IdentifierRange,
  isOvergrown,
  type ListedRow,
  type PlacedRow,
  READ_FOR_PAGE,
  WALK_STEP,
  type WalkedDocument,
  type WalkState,
  type WalkStep,
} from '../../browse/browse.ts';
import type { CategoryPart, DeletedPage, ListedCategory, ListedRange } from '../../port.ts';
import { placePaths } from './category-path-store.ts';

/** Lists of products in a catalog's file, and the index of categories, which is a step of its own at a time. */

const FRONT = `(substr(d.raw, 1, instr(d.raw, cast('${FRONT_END}' as blob)) - 1) || '}')`;
const textOf = (isWhole: boolean) => (isWhole ? 'cast(d.raw as text)' : FRONT);

/** Relies on the unique index of identifier. */
export function listRange(file: CatalogFile, range: ListedRange): ListedRow[] {
  const { from, to, limit } = range;
  return file
    .prepare(
      `select p.id, p.identifier, p.updated_at as updatedAt, ${textOf(range.isWhole)} as text
       from product p join document d on d.id = p.document_id
       where ${within(range)} order by p.identifier limit ?`,
    )
    .all(...[from, ...(to === undefined ? [] : [to]), limit]) as unknown as ListedRow[];
}

/** Both sides in the order of their indexes: each row costs a seek, of a million that stay some 2 s. */
export function listDeleted(file: CatalogFile, { fullUpdateId, after, limit }: DeletedPage): ListedRow[] {
  return file
    .prepare(
      `select p.id, p.identifier, p.updated_at as updatedAt, ${FRONT} as text
       from product p join document d on d.id = p.document_id
       where p.identifier > ? and not exists
         (select 1 from staged_product s where s.full_update_id = ? and s.identifier = p.identifier)
       order by p.identifier limit ?`,
    )
    .all(after, fullUpdateId, limit) as unknown as ListedRow[];
}

const within = ({ isAfter, to }: IdentifierRange) =>
  `p.identifier ${isAfter ? '>' : '>='} ? ${to === undefined ? '' : 'and p.identifier < ?'}`;

export function countRange(file: CatalogFile, range: IdentifierRange): number {
  const { from, to } = range;
  const statement = file.prepare(`select count(*) as count from product p where ${within(range)}`);
  return Number(statement.get(...[from, ...(to === undefined ? [] : [to])])?.count);
}

/** Products under a category, in the order in which they were last uploaded. Relies on the key of category_document. */
export function listCategory(
  file: CatalogFile,
  { key, after, limit, isWhole }: ListedCategory,
): CategoryPart {
  const reached = file
    .prepare(
      `select document_id as reached from category_document where path_key = ? and document_id > ?
       order by document_id limit 1 offset ${READ_FOR_PAGE - 1}`,
    )
    .get(key, after)?.reached as number | undefined;
  const rows = file
    .prepare(
      `select d.id as document, p.id, p.identifier, p.updated_at as updatedAt, ${textOf(isWhole)} as text
       from category_document c cross join document d on d.id = c.document_id
         cross join product p on p.id = d.product_id and p.document_id = d.id
       where c.path_key = ? and c.document_id > ? and c.document_id <= ? order by c.document_id limit ?`,
    )
    .all(key, after, reached ?? Number.MAX_SAFE_INTEGER, limit) as unknown as PlacedRow[];
  return { rows, reached };
}

export function readWalkState(file: CatalogFile): WalkState | undefined {
  const walk = readWalk(file);
  return walk && { ...walk, newestDocument: readLargest(file, 'document') };
}

function readWalk(file: CatalogFile): CategoryWalk | undefined {
  return file.prepare('select last_document as lastDocument, walked from category_walk where id = 1').get() as
    | CategoryWalk
    | undefined;
}

const readLargest = (file: CatalogFile, table: 'document' | 'product') =>
  Number(file.prepare(`select coalesce(max(id), 0) as largest from ${table}`).get()?.largest);

function saveWalk(file: CatalogFile, { lastDocument, walked }: CategoryWalk): void {
  file
    .prepare('insert or replace into category_walk (id, last_document, walked) values (1, ?, ?)')
    .run(lastDocument, walked);
}

/** Takes the next documents into the index; one transaction. */
export function walkCategories(file: CatalogFile): WalkStep {
  return file.transaction(() => {
    const walk = readWalk(file) ?? FIRST_WALK;
    if (walk.lastDocument === DROPPING || isOvergrown(walk, readLargest(file, 'product'))) {
      dropRows(file);
      return { isComplete: false };
    }
    const documents = file
      .prepare(
        `select d.id, ${FRONT} as front from document d where d.id > ? order by d.id limit ${WALK_STEP}`,
      )
      .all(walk.lastDocument) as unknown as WalkedDocument[];
    const insert = file.prepare(
      'insert or ignore into category_document (path_key, document_id) values (?, ?)',
    );
    const { rows, paths } = deriveCategoryRows(documents);
    for (const [key, document] of rows) insert.run(key, document);
    placePaths(file, paths);
    saveWalk(file, advance(walk, documents));
    return { isComplete: documents.length < WALK_STEP };
  });
}

const INDEX_TABLES = [
  ['category_document', 'path_key, document_id'],
  ['category_path', 'path_key'],
] as const;

function dropRows(file: CatalogFile): void {
  let dropped = 0;
  for (const [table, key] of INDEX_TABLES) {
    const { changes } = file
      .prepare(`delete from ${table} where (${key}) in (select ${key} from ${table} limit ?)`)
      .run(DROP_STEP - dropped);
    dropped += Number(changes);
  }
  saveWalk(file, dropped < DROP_STEP ? FIRST_WALK : { lastDocument: DROPPING, walked: 0 });
}

/** Products of an interval of ids, for samples and for walks of the whole catalog. */
export function listById(
  file: CatalogFile,
  { after, upTo, limit }: { after: number; upTo: number; limit: number },
): ListedRow[] {
  return file
    .prepare(
      `select p.id, p.identifier, p.updated_at as updatedAt, cast(d.raw as text) as text
       from product p join document d on d.id = p.document_id
       where p.id > ? and p.id <= ? order by p.id limit ?`,
    )
    .all(after, upTo, limit) as unknown as ListedRow[];
}

export const readLargestId = (file: CatalogFile): number => readLargest(file, 'product');
