import {
  among,
  byEngine,
  listed,
  own,
  type Program,
  row,
  rows,
  type Sql,
  sql,
  text,
} from '../../storage/storage.ts';
import type { Side } from '../definitions/definitions.ts';
import { sideNumber } from '../memberships/memberships.ts';
import type { PresentUpload } from '../search/search.ts';

/** Reads whole sides of relations, and whole catalogs. */

/** @returns those of the builds whose target side holds any product, matching or not */
export function* listTargetBuilds(builds: readonly number[]): Program<number[]> {
  // Subqueries with a limit, so that PostgreSQL stops at the first one.
  const found = yield* rows<{ build: number }>(
    sql`select b.value as build from ${listed('b', 'bigint', builds)} where (select 1 from relation_member m
      where ${own('m')} and m.build_id = b.value and m.side = ${sideNumber('target')}
        and (select p.document_id from product p where ${own('p')} and p.id = m.product_id) = m.document_id
      limit 1) is not null or (select 1 from relation_link l
      where ${own('l')} and l.build_id = b.value
        and (select p.id from product p where ${own('p')} and p.identifier = l.target) is not null
      limit 1) is not null`,
  );
  return found.map(({ build }) => build);
}

/** `cross join` keeps SQLite from walking all products. */
const JOIN = byEngine({ sqlite: text('cross join'), postgres: text('join') });

/** Its products, each once; of a list the sources or the targets that are there. */
const productsOf = (build: number, side: Side): Sql =>
  sql`(select m.product_id as id from relation_member m ${JOIN} product p
    on ${own('p')} and p.id = m.product_id and p.document_id = m.document_id
    where ${own('m')} and m.build_id = ${build} and m.side = ${sideNumber(side)}
    union select p.id from ${LISTED[side]} l ${JOIN} product p on ${own('p')} and p.identifier = l.${text(side)}
    where ${own('l')} and l.build_id = ${build}) s`;

const LISTED: Readonly<Record<Side, Sql>> = {
  source: text('relation_link_source'),
  target: text('relation_link'),
};

export function* countMembers(build: number, side: Side): Program<number> {
  return (
    (yield* row<{ count: number }>(sql`select count(*) as count from ${productsOf(build, side)}`))?.count ?? 0
  );
}

/** @returns identifiers, one in `every`, by id */
export function* sampleMembers(build: number, side: Side, every: number): Program<string[]> {
  const found = yield* rows<{ identifier: string }>(
    sql`select p.identifier from
        (select id, row_number() over (order by id) as place from ${productsOf(build, side)}) s
      join product p on ${own('p')} and p.id = s.id where (s.place - 1) % ${every} = 0 order by p.id`,
  );
  return found.map(({ identifier }) => identifier);
}

const UPLOAD = byEngine({ sqlite: text('cast(d.raw as text)'), postgres: text('d.raw') });

const UPLOADS = sql`select p.id as "productId", p.document_id as document, ${UPLOAD} as raw
  from product p join document d on ${own('d')} and d.id = p.document_id`;

/** @returns products by id, after `after` */
export const listUploads = (after: number, limit: number): Program<PresentUpload[]> =>
  rows(sql`${UPLOADS} where ${own('p')} and p.id > ${after} order by p.id limit ${limit}`);

/** @returns those that are there, in no order */
export const findUploads = (identifiers: readonly string[]): Program<PresentUpload[]> =>
  rows(sql`${UPLOADS} where ${own('p')} and p.identifier ${among(identifiers)}`);
