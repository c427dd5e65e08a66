import type { SqlSession } from '../../../storage/storage.ts';
import type { StoredProduct } from '../../port.ts';

/** Statements that read catalogs in PostgreSQL for those who ask over HTTP and for tasks. */

/**
 * Products of project $1 with the identifiers $2, `w.identifier`: looked up one by one by the index, which `limit` makes
 * sure of. Compared with `any` or joined as they are, PostgreSQL may read the whole table instead, when it has no
 * statistics yet or plans for any list: 14 s for 10,000 of 60,000 products.
 */
export const WANTED_PRODUCTS = `unnest($2::text[]) w (identifier) cross join lateral
  (select * from product where project_id = $1 and identifier = w.identifier limit 1) p`;
/** The same with their documents. */
export const WANTED_DOCUMENTS = `${WANTED_PRODUCTS} cross join lateral
  (select * from document where project_id = $1 and id = p.document_id limit 1) d`;

/** @returns the versions of those catalogs that were ever written to */
export async function readVersions(
  session: SqlSession,
  projectIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await session.rows<{ projectId: number; version: number }>(
    'select project_id as "projectId", catalog_version as version from catalog where project_id = any($1)',
    [projectIds],
  );
  return new Map(rows.map(({ projectId, version }) => [projectId, version]));
}

/** @returns the ids of category paths, as JSON; unknown ones are left out */
export async function findCategories(
  session: SqlSession,
  projectId: number,
  paths: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await session.rows<{ path: string; id: number }>(
    `select w.path, c.id from unnest($2::text[]) w (path) cross join lateral (select id from category
       where project_id = $1 and md5(path) = md5(w.path) and path = w.path limit 1) c`,
    [projectId, paths],
  );
  return new Map(rows.map(({ path, id }) => [path, id]));
}

const STORED = `select p.id, p.identifier, p.updated_at as "updatedAt", p.updated_by as "updatedBy", d.raw
  from product p join document d on d.project_id = p.project_id and d.id = p.document_id
  where p.project_id = $1`;

export async function findStored(
  session: SqlSession,
  projectId: number,
  identifier: string,
): Promise<StoredProduct | undefined> {
  const rows = await session.rows<StoredProduct>(`${STORED} and p.identifier = $2`, [projectId, identifier]);
  return rows[0];
}

export function listStored(
  session: SqlSession,
  projectId: number,
  { after, limit }: { after: string; limit: number },
): Promise<StoredProduct[]> {
  // Limited before their documents are read: joined as it is, all documents of the project are read for each page.
  return session.rows(
    `${STORED} and p.identifier = any(array(select identifier from product
       where project_id = $1 and identifier > $2 order by identifier limit $3)) order by p.identifier`,
    [projectId, after, limit],
  );
}
