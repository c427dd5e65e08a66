import {
  byEngine,
  deleteSome,
  insertInto,
  listed,
  lookupJoin,
  own,
  ownKey,
  type Program,
  row,
  rows,
  run,
  type Sql,
  sql,
  tabled,
  text,
} from '../../storage/storage.ts';
import {
  advance,
  type CategoryWalk,
  DROP_STEP,
  DROPPING,
  deriveCategoryRows,
  FIRST_WALK,
  isOvergrown,
  type PlacedRow,
  READ_FOR_PAGE,
  WALK_STEP,
  type WalkedDocument,
  type WalkState,
  type WalkStep,
  writePath,
} from '../browse/browse.ts';
import type {
  CategoryPart,
  ListedCategory,
  ListedPath,
  LookedCategories,
  LookedCategory,
  PathRange,
} from '../port.ts';
import { planForParts } from './planning-store.ts';
import {
  areCut,
  fittingRows,
  listedColumns,
  pageBytes,
  UPLOAD_FRONT,
  uploadText,
} from './product-list-store.ts';
import type { CatalogState } from './state-store.ts';

/** The index of categories: its lists, and the steps that build and remove it. */

/** The product that a row `c` of the index leads to, unless the document has been replaced since. */
const PRODUCT = sql`${lookupJoin('document', 'd', sql`d.id = c.document_id`)}
  ${lookupJoin('product', 'p', sql`p.id = d.product_id and p.document_id = d.id`)}`;

/** Products under a category, in the order in which they were last uploaded. Relies on the key of category_document. */
export function* listCategory({ key, after, limit, isWhole }: ListedCategory): Program<CategoryPart> {
  const following = sql`category_document c where ${own('c')} and c.path_key = ${key} and c.document_id > ${after}`;
  const edge = yield* row<{ reached: number }>(
    sql`select c.document_id as reached from ${following} order by c.document_id limit 1
      offset ${text(String(READ_FOR_PAGE - 1))}`,
  );
  const reached = edge?.reached;
  const part = sql`(select c.document_id from ${following}
    and c.document_id <= ${reached ?? Number.MAX_SAFE_INTEGER} order by c.document_id limit ${READ_FOR_PAGE}) c`;
  const fitting = fittingRows(
    text('c.document_id'),
    sql`${part} ${PRODUCT} order by c.document_id limit ${limit}`,
    { as: 'c', order: text('document_id'), bytes: pageBytes(isWhole) },
  );
  const found = yield* rows<PlacedRow & { found: number }>(
    sql`select c.document_id as document, c.found, ${listedColumns(uploadText(isWhole))}
      from ${fitting} ${PRODUCT} order by c.document_id`,
  );
  return { rows: found, reached: areCut(found) ? found.at(-1)?.document : reached };
}

/** Reads the newest rows of each, up to the first that leads to a product. Relies on the key of category_document. */
export function* lookIntoCategories({ keys, most }: LookedCategories): Program<LookedCategory[]> {
  const newest = sql`(select document_id from category_document where ${own()} and path_key = k.value
    order by document_id desc limit ${most}) c`;
  const newer = sql`(select count(*) from category_document n where ${own('n')} and n.path_key = k.value
    and n.document_id >= c.document_id)`;
  // Negative: none of so many rows leads to a product.
  const found = yield* rows<{ key: number; looked: number }>(
    sql`select k.value as key,
        coalesce((select ${newer} from ${newest} ${PRODUCT} limit 1), -(select count(*) from ${newest})) as looked
      from ${listed('k', 'bigint', keys)}`,
  );
  const lookedOf = new Map(found.map(({ key, looked }) => [key, looked]));
  return keys.map((key) => {
    const looked = lookedOf.get(key) ?? 0;
    return { isAlive: looked > 0, looked: Math.abs(looked) };
  });
}

/** PostgreSQL's index holds only the beginning of a path. */
const beginOf = (path: Sql | string) => sql`left(${path}, 200)`;
const PATH = text('path');

/** Relies on the index of path, or of its beginnings. */
export function* listCategoryPaths({ from, isAfter, to, limit }: PathRange): Program<ListedPath[]> {
  const above = sql`path ${text(isAfter ? '>' : '>=')} ${from}`;
  const below = to === undefined ? text('true') : sql`path < ${to}`;
  const belowBegin = to === undefined ? text('true') : sql`${beginOf(PATH)} <= ${beginOf(to)}`;
  // Otherwise PostgreSQL reads and sorts all paths of the project for each page.
  yield* planForParts();
  return yield* rows(
    sql`select path_key as key, path from category_path where ${own()} and ${above} and ${below} ${byEngine({
      sqlite: text('order by path'),
      postgres: sql`and ${beginOf(PATH)} >= ${beginOf(from)} and ${belowBegin} order by ${beginOf(PATH)}, path`,
    })} limit ${limit}`,
  );
}

export function* findCategoryPath(key: number): Program<string | undefined> {
  const found = yield* row<{ path: string }>(
    sql`select path from category_path where ${own()} and path_key = ${key}`,
  );
  return found?.path;
}

export const readWalkState = (): Program<WalkState | undefined> =>
  row(
    sql`select w.last_document as "lastDocument", w.walked,
        coalesce((select max(id) from document where ${own()}), 0) as "newestDocument"
      from category_walk w where ${own('w')} and w.id = 1`,
  );

/** Adds the next documents to the index, or removes rows of a former walk. */
export function* walkCategories(state: CatalogState): Program<WalkStep> {
  const walk = (yield* readWalkState()) ?? FIRST_WALK;
  if (walk.lastDocument === DROPPING || isOvergrown(walk, state.nextProductId - 1)) {
    yield* dropRows();
    return { isComplete: false };
  }
  // Otherwise PostgreSQL reads and sorts all documents for each step: 8 s with a million.
  yield* planForParts();
  const documents = yield* rows<WalkedDocument>(
    sql`select d.id, ${UPLOAD_FRONT} as front from document d where ${own('d')} and d.id > ${walk.lastDocument}
      order by d.id limit ${WALK_STEP}`,
  );
  const { rows: derived, paths } = deriveCategoryRows(documents);
  const placed = tabled('n', { path_key: 'bigint', document_id: 'bigint' }, derived);
  yield* run(
    insertInto(
      'category_document',
      'path_key, document_id',
      sql`n.* from ${placed} where true on conflict do nothing`,
    ),
  );
  yield* placePaths(paths);
  yield* saveWalk(advance(walk, documents));
  return { isComplete: documents.length < WALK_STEP };
}

/** Selects the missing ones first, usually none: inserting existing ones makes the walk 10 % slower. */
function* placePaths(paths: ReadonlyMap<number, readonly string[]>): Program<void> {
  const missing = yield* rows<{ key: number }>(
    sql`select k.value as key from ${listed('k', 'bigint', [...paths.keys()])}
      where (select p.path_key from category_path p where ${own('p')} and p.path_key = k.value) is null`,
  );
  if (missing.length === 0) return;
  const written = missing.map(({ key }) => [key, writePath(paths.get(key) ?? [])] as const);
  const made = tabled('n', { path_key: 'bigint', path: 'text' }, written);
  yield* run(insertInto('category_path', 'path_key, path', sql`n.* from ${made}`));
}

const saveWalk = ({ lastDocument, walked }: CategoryWalk): Program<number> =>
  run(
    sql`${insertInto('category_walk', 'id, last_document, walked', sql`1, ${lastDocument}, ${walked}`)}
      on conflict ${ownKey('id')} do update set last_document = excluded.last_document, walked = excluded.walked`,
  );

function* dropRows(): Program<void> {
  const all = text('true');
  let dropped = yield* run(
    deleteSome('category_document', 'path_key, document_id', { where: all, limit: DROP_STEP }),
  );
  if (dropped < DROP_STEP)
    dropped += yield* run(
      deleteSome('category_path', 'path_key', { where: all, limit: DROP_STEP - dropped }),
    );
  yield* saveWalk(dropped < DROP_STEP ? FIRST_WALK : { lastDocument: DROPPING, walked: 0 });
}
