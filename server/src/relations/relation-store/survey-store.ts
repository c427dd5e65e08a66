import {
  among,
  byEngine,
  cell,
  column,
  listed,
  own,
  type Program,
  rows,
  type Sql,
  sql,
  text,
} from '../../storage/programs/programs.ts';
import { LINKED_AT_MOST } from '../matching/matching.ts';
import { ENTRIES_PER_PRODUCT, sideNumber } from '../memberships/memberships.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';
import type { PresentUpload } from '../surveys/surveys.ts';

/** Reads whole sides of relations and whole catalogs. */

/** A view of single members, because the embedded store has runs of them. */
const MEMBERS = byEngine({ sqlite: text('relation_entry'), postgres: text('relation_member') });

/** @returns the builds whose target side has a product, whether or not it matches anything */
export const listTargetBuilds = (builds: readonly number[]): Program<number[]> =>
  // The subqueries have a limit, so that PostgreSQL stops at the first row.
  column`select b.value from ${listed('b', 'bigint', builds)} where (select 1 from ${MEMBERS} m
    where ${own('m')} and m.build_id = b.value and m.side = ${sideNumber('target')}
      and (select p.document_id from product p where ${own('p')} and p.id = m.product_id) = m.document_id
    limit 1) is not null or (select 1 from relation_link l
    where ${own('l')} and l.build_id = b.value
      and (select p.id from product p where ${own('p')} and p.identifier = l.target) is not null
    limit 1) is not null`;

/** `cross join` prevents SQLite from scanning all products. */
const JOIN = byEngine({ sqlite: text('cross join'), postgres: text('join') });

/** The products of a side without repetition. For a list they are the present sources or targets. */
const productsOf = (build: number, side: Side): Sql =>
  sql`(select m.product_id as id from ${MEMBERS} m ${JOIN} product p
    on ${own('p')} and p.id = m.product_id and p.document_id = m.document_id
    where ${own('m')} and m.build_id = ${build} and m.side = ${sideNumber(side)}
    union select p.id from ${text(side === 'source' ? 'relation_link_source' : 'relation_link')} l
    ${JOIN} product p on ${own('p')} and p.identifier = l.${text(side)}
    where ${own('l')} and l.build_id = ${build}) s`;

export function* countMembers(build: number, side: Side): Program<number> {
  return (yield* cell<number>`select count(*) as count from ${productsOf(build, side)}`) ?? 0;
}

/**
 * @returns the products that reached the limit of entries for a build, so that further entries may be missing
 */
export const listCut = (build: number): Program<string[]> =>
  column`select p.identifier from (select m.product_id as id from ${MEMBERS} m ${JOIN} product p
      on ${own('p')} and p.id = m.product_id and p.document_id = m.document_id
      where ${own('m')} and m.build_id = ${build}
      group by m.side, m.product_id having count(*) >= ${ENTRIES_PER_PRODUCT}) s
    join product p on ${own('p')} and p.id = s.id group by p.id, p.identifier order by p.id`;

/** @returns the identifier of every `every`th product, by id */
export const sampleMembers = (build: number, side: Side, every: number): Program<string[]> =>
  column`select p.identifier from
      (select id, row_number() over (order by id) as place from ${productsOf(build, side)}) s
    join product p on ${own('p')} and p.id = s.id where (s.place - 1) % ${every} = 0 order by p.id`;

const UPLOAD = byEngine({ sqlite: text('cast(d.raw as text)'), postgres: text('d.raw') });

const UPLOADS = sql`select p.id as "productId", p.document_id as document, p.updated_at as "updatedAt", ${UPLOAD} as raw
  from product p join document d on ${own('d')} and d.id = p.document_id`;

/** @returns the existing products, in no particular order */
export const findUploads = (identifiers: readonly string[]): Program<PresentUpload[]> =>
  rows`${UPLOADS} where ${own('p')} and p.identifier ${among(identifiers)}`;

/**
 * Reads the present products that a list links with a product, starting from the source or from the target.
 */

const GROUP = byEngine({
  sqlite: text("json_extract(cast(d.raw as text), '$.groupIdentifier')"),
  postgres: text("d.raw::json ->> 'groupIdentifier'"),
});

/**
 * Joins the products last: `cross join` prevents SQLite from starting with them, and a lateral join does so
 * for PostgreSQL.
 */
const productOf = (identifier: string): Sql =>
  byEngine({
    sqlite: sql`cross join product p on p.identifier = ${text(identifier)}
      cross join document d on d.id = p.document_id`,
    postgres: sql`cross join lateral (select p.id, p.document_id from product p
        where ${own('p')} and p.identifier = ${text(identifier)} offset 0) p
      cross join lateral (select d.raw from document d where ${own('d')} and d.id = p.document_id offset 0) d`,
  });

/**
 * @param more additional columns of the document `d`
 * @returns the statement for one source or target. For a source it lists the targets in order, for a target
 * the sources in the order of the lines.
 */
export function describeLinked(
  { build, side, identifier }: { readonly build: Sql; readonly identifier: Sql; readonly side: Side },
  more: Sql = text(''),
): Sql {
  const columns = sql`p.id as "productId", ${GROUP} as "group", l.place, l.quantity, l.${side === 'target' ? text('place') : text('line')} as at${more}`;
  if (side === 'target') {
    return sql`select ${columns} from relation_link_source s ${JOIN_LINKS} ${productOf('l.target')}
      where ${own('s')} and s.build_id = ${build} and s.source = ${identifier}
      order by l.place limit ${text(String(LINKED_AT_MOST))}`;
  }
  return sql`select ${columns} from relation_link l ${JOIN_SOURCE} ${productOf('s.source')}
    where ${own('l')} and l.build_id = ${build} and l.target = ${identifier}
    order by l.line limit ${text(String(LINKED_AT_MOST))}`;
}

const JOIN_LINKS = byEngine({
  sqlite: text('cross join relation_link l on l.build_id = s.build_id and l.line = s.line'),
  postgres: sql`cross join lateral (select l.place, l.target, l.quantity from relation_link l
    where ${own('l')} and l.build_id = s.build_id and l.line = s.line order by l.place offset 0) l`,
});

const JOIN_SOURCE = byEngine({
  sqlite: text('cross join relation_link_source s on s.build_id = l.build_id and s.line = l.line'),
  postgres: sql`cross join lateral (select s.source from relation_link_source s
    where ${own('s')} and s.build_id = l.build_id and s.line = l.line offset 0) s`,
});
