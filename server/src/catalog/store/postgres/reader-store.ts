import { type Postgres, performOn, type SqlSession } from '../../../storage/storage.ts';
import type { Difference, StoredProduct } from '../../port.ts';
import { planForWholeTables } from '../planning-store.ts';
import { countProducts } from '../product-list-store.ts';

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

async function count(session: SqlSession, from: string, values: readonly number[]): Promise<number> {
  const [row] = await session.rows<{ count: number }>(`select count(*) as count ${from}`, values);
  return row?.count ?? 0;
}

export async function readStagedReports(
  session: SqlSession,
  projectId: number,
  fullUpdateId: number,
): Promise<string[]> {
  const rows = await session.rows<{ report: string }>(
    'select report from staged_batch where project_id = $1 and full_update_id = $2 order by batch',
    [projectId, fullUpdateId],
  );
  return rows.map(({ report }) => report);
}

const PREVIEWED = 100;
const STAGED = `from staged_product s left join product p on p.project_id = s.project_id and p.identifier = s.identifier
  where s.project_id = $1 and s.full_update_id = $2`;
const KINDS = {
  created: `${STAGED} and p.id is null`,
  changed: `${STAGED} and p.id is not null and (p.hash <> s.hash or s.gains_facts = 1)`,
  unchanged: `${STAGED} and p.hash = s.hash and s.gains_facts = 0`,
  deleted: `from product p where p.project_id = $1 and not exists (select 1 from staged_product s
    where s.project_id = p.project_id and s.full_update_id = $2 and s.identifier = p.identifier)`,
};

/** Counts what a commit would do; with the first identifiers of each kind when asked. */
export function compareStaged(
  postgres: Postgres,
  { projectId, fullUpdateId, withIdentifiers }: ComparedUpdate,
): Promise<Difference> {
  return postgres.snapshot(async (session) => {
    await performOn(session, projectId, planForWholeTables());
    const values = [projectId, fullUpdateId];
    const describe = async (kind: keyof typeof KINDS) => {
      const found = await count(session, KINDS[kind], values);
      if (!withIdentifiers) return { count: found, identifiers: [] };
      const column = kind === 'deleted' ? 'p.identifier' : 's.identifier';
      const rows = await session.rows<{ identifier: string }>(
        `select ${column} as identifier ${KINDS[kind]} order by 1 limit ${PREVIEWED}`,
        values,
      );
      return { count: found, identifiers: rows.map(({ identifier }) => identifier) };
    };
    return {
      present: await performOn(session, projectId, countProducts()),
      created: await describe('created'),
      changed: await describe('changed'),
      unchanged: await describe('unchanged'),
      deleted: await describe('deleted'),
    };
  });
}

interface ComparedUpdate {
  readonly projectId: number;
  readonly fullUpdateId: number;
  readonly withIdentifiers: boolean;
}
