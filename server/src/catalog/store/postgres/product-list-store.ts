import type { Postgres, SqlSession } from '../../../storage/storage.ts';
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
import { planForParts, planForWholeTables } from './planning-store.ts';
import { WANTED_DOCUMENTS } from './reader-store.ts';
import { type CatalogChange, changeCatalog, type PostgresWriter } from './writer-store.ts';

/** Lists of products in PostgreSQL, and the index of categories, which is a step of its own at a time. */

const FRONT = `left(d.raw, strpos(d.raw, '${FRONT_END}') - 1) || '}'`;
const textOf = (isWhole: boolean) => (isWhole ? 'd.raw' : FRONT);

/** Looked up one by one: joined as it is, all documents may be read. */
const DOCUMENT_OF = `cross join lateral
  (select raw from document where project_id = $1 and id = p.document_id limit 1) d`;

/** Relies on the unique index of identifier. */
export function listRange(session: SqlSession, projectId: number, range: ListedRange): Promise<ListedRow[]> {
  const { from, to, limit } = range;
  return session.rows<ListedRow>(
    `select p.id, p.identifier, p.updated_at as "updatedAt", ${textOf(range.isWhole)} as text
     from (select id, identifier, updated_at, document_id from product
       where project_id = $1 and ${within(range)} order by identifier limit $3) p ${DOCUMENT_OF}
     order by p.identifier`,
    [projectId, from, limit, ...(to === undefined ? [] : [to])],
  );
}

/** All that is staged is compared at once: one by one it would be a seek for each product that stays. */
export function listDeleted(
  postgres: Postgres,
  projectId: number,
  { fullUpdateId, after, limit }: DeletedPage,
): Promise<ListedRow[]> {
  return postgres.snapshot(async (session) => {
    await planForWholeTables(session);
    const gone = await session.rows<{ identifier: string }>(
      `select p.identifier from product p where p.project_id = $1 and p.identifier > $2 and not exists
         (select from staged_product s where s.project_id = $1 and s.full_update_id = $3 and s.identifier = p.identifier)
       order by p.identifier limit $4`,
      [projectId, after, fullUpdateId, limit],
    );
    return session.rows<ListedRow>(
      `select p.id, p.identifier, p.updated_at as "updatedAt", ${FRONT} as text
       from ${WANTED_DOCUMENTS} order by p.identifier`,
      [projectId, gone.map(({ identifier }) => identifier)],
    );
  });
}

const within = ({ isAfter, to }: IdentifierRange, end = '$4') =>
  `identifier ${isAfter ? '>' : '>='} $2 ${to === undefined ? '' : `and identifier < ${end}`}`;

export async function countRange(
  session: SqlSession,
  projectId: number,
  range: IdentifierRange,
): Promise<number> {
  const { from, to } = range;
  const [row] = await session.rows<{ count: number }>(
    `select count(*) as count from product where project_id = $1 and ${within(range, '$3')}`,
    [projectId, from, ...(to === undefined ? [] : [to])],
  );
  return row?.count ?? 0;
}

/** Products under a category, in the order in which they were last uploaded. Relies on the key of category_document. */
export async function listCategory(
  session: SqlSession,
  projectId: number,
  wanted: ListedCategory,
): Promise<CategoryPart> {
  const [edge] = await session.rows<{ reached: number }>(
    `select document_id as reached from category_document
     where project_id = $1 and path_key = $2 and document_id > $3
     order by document_id limit 1 offset ${READ_FOR_PAGE - 1}`,
    [projectId, wanted.key, wanted.after],
  );
  const rows = await session.rows<PlacedRow>(
    `select c.document_id as document, p.id, p.identifier, p.updated_at as "updatedAt",
       ${textOf(wanted.isWhole)} as text
     from (select document_id from category_document
       where project_id = $1 and path_key = $2 and document_id > $3 and document_id <= $5 order by document_id) c
     cross join lateral (select product_id, raw from document
       where project_id = $1 and id = c.document_id limit 1) d
     cross join lateral (select id, identifier, updated_at from product
       where project_id = $1 and id = d.product_id and document_id = c.document_id limit 1) p
     limit $4`,
    [projectId, wanted.key, wanted.after, wanted.limit, edge?.reached ?? Number.MAX_SAFE_INTEGER],
  );
  return { rows, reached: edge?.reached };
}

export async function readWalkState(session: SqlSession, projectId: number): Promise<WalkState | undefined> {
  const [state] = await session.rows<WalkState>(
    `select w.last_document as "lastDocument", w.walked,
       coalesce((select max(id) from document where project_id = $1), 0) as "newestDocument"
     from category_walk w where w.project_id = $1 and w.id = 1`,
    [projectId],
  );
  return state;
}

async function saveWalk(
  { tx, projectId }: CatalogChange,
  { lastDocument, walked }: CategoryWalk,
): Promise<void> {
  await tx.run(
    `insert into category_walk (project_id, id, last_document, walked) values ($1, 1, $2, $3)
     on conflict (project_id, id) do update set last_document = excluded.last_document, walked = excluded.walked`,
    [projectId, lastDocument, walked],
  );
}

/** Takes the next documents into the index; one transaction. */
export function walkCategories(writer: PostgresWriter, projectId: number): Promise<WalkStep> {
  return changeCatalog(writer, projectId, async (change) => {
    const { tx, row } = change;
    const walk = (await readWalkState(tx, projectId)) ?? FIRST_WALK;
    if (walk.lastDocument === DROPPING || isOvergrown(walk, row.nextProductId - 1)) {
      await dropRows(change);
      return { isComplete: false };
    }
    // Else all documents are read and sorted for each step: 8 s of a million.
    await planForParts(tx);
    const documents = await tx.rows<WalkedDocument>(
      `select d.id, ${FRONT} as front from document d
       where d.project_id = $1 and d.id > $2 order by d.id limit ${WALK_STEP}`,
      [projectId, walk.lastDocument],
    );
    const { rows, paths } = deriveCategoryRows(documents);
    await tx.run(
      `insert into category_document (project_id, path_key, document_id)
       select $1, * from unnest($2::bigint[], $3::bigint[]) on conflict do nothing`,
      [projectId, rows.map(([key]) => key), rows.map(([, document]) => document)],
    );
    await placePaths(tx, projectId, paths);
    await saveWalk(change, advance(walk, documents));
    return { isComplete: documents.length < WALK_STEP };
  });
}

async function dropRows(change: CatalogChange): Promise<void> {
  const { tx, projectId } = change;
  let dropped = 0;
  for (const table of ['category_document', 'category_path']) {
    dropped += await tx.run(
      `delete from ${table} where project_id = $1 and ctid = any(array(
         select ctid from ${table} where project_id = $1 limit $2))`,
      [projectId, DROP_STEP - dropped],
    );
  }
  await saveWalk(change, dropped < DROP_STEP ? FIRST_WALK : { lastDocument: DROPPING, walked: 0 });
}

/** Products of an interval of ids, for samples and for walks of the whole catalog. */
export const listById = (
  session: SqlSession,
  projectId: number,
  { after, upTo, limit }: { after: number; upTo: number; limit: number },
): Promise<ListedRow[]> =>
  session.rows<ListedRow>(
    `select p.id, p.identifier, p.updated_at as "updatedAt", d.raw as text
     from (select id, identifier, updated_at, document_id from product
       where project_id = $1 and id > $2 and id <= $3 order by id limit $4) p ${DOCUMENT_OF}
     order by p.id`,
    [projectId, after, upTo, limit],
  );

export async function readLargestId(session: SqlSession, projectId: number): Promise<number> {
  const [row] = await session.rows<{ largest: number | null }>(
    'select max(id) as largest from product where project_id = $1',
    [projectId],
  );
  return row?.largest ?? 0;
}
