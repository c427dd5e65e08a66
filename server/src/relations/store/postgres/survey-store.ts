import type { SqlSession } from '../../../storage/storage.ts';
import type { Side } from '../../definitions/definitions.ts';
import { sideNumber } from '../../memberships/memberships.ts';
import type { PresentUpload } from '../../search/search.ts';
import type { MembershipTables } from './membership-store.ts';

/** Reading whole sides of relations, and whole catalogs, in PostgreSQL. */

/** @returns those of the builds whose target side holds any product, matching or not */
export async function listTargetBuilds(
  session: SqlSession,
  projectId: number,
  builds: readonly number[],
): Promise<number[]> {
  const found = await session.rows<{ build: number }>(
    `select b.build from unnest($2::bigint[]) b (build)
     cross join lateral (select from relation_member m
       where m.project_id = $1 and m.build_id = b.build and m.side = $3
         and (select p.document_id from product p where p.project_id = $1 and p.id = m.product_id) = m.document_id
       limit 1) m`,
    [projectId, builds, sideNumber('target')],
  );
  return found.map(({ build }) => build);
}

const productsOfSide = ({ member }: MembershipTables) => `select distinct m.product_id as id
  from ${member} m join product p on p.project_id = m.project_id and p.id = m.product_id and p.document_id = m.document_id
  where m.project_id = $1 and m.build_id = $2 and m.side = $3`;

export async function countMembers(
  session: SqlSession,
  projectId: number,
  { build, side, tables }: { build: number; side: Side; tables: MembershipTables },
): Promise<number> {
  const [found] = await session.rows<{ count: number }>(
    `select count(*) as count from (${productsOfSide(tables)}) s`,
    [projectId, build, sideNumber(side)],
  );
  return found?.count ?? 0;
}

/** @returns identifiers of the source side, one in `every`, by id */
export async function sampleSources(
  session: SqlSession,
  projectId: number,
  { build, every, tables }: { build: number; every: number; tables: MembershipTables },
): Promise<string[]> {
  const found = await session.rows<{ identifier: string }>(
    `select p.identifier from (select id, row_number() over (order by id) as place from (${productsOfSide(tables)}) s) s
     join product p on p.project_id = $1 and p.id = s.id where (s.place - 1) % $4 = 0 order by p.id`,
    [projectId, build, sideNumber('source'), every],
  );
  return found.map(({ identifier }) => identifier);
}

/** @returns products by id, after `after` */
export const listUploads = (
  session: SqlSession,
  projectId: number,
  { after, limit }: { after: number; limit: number },
) =>
  session.rows<PresentUpload>(
    `select p.id as "productId", p.document_id as document, d.raw
     from product p join document d on d.project_id = p.project_id and d.id = p.document_id
     where p.project_id = $1 and p.id > $2 order by p.id limit $3`,
    [projectId, after, limit],
  );
