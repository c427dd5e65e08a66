import { byEngine, own, type Sql, sql, text } from '../../storage/storage.ts';
import type { Side } from '../definitions/definitions.ts';
import { LINKED_AT_MOST, type LinkedProduct } from '../search/search.ts';

/** Reads what a product is listed with, by the source or by the target, of those that are in the catalog. */

export type LinkedRow = LinkedProduct;

/** Parts of the statement that name what is wanted. */
interface WantedSql {
  readonly build: Sql;
  readonly identifier: Sql;
  readonly side: Side;
}

const GROUP = byEngine({
  sqlite: text("json_extract(cast(d.raw as text), '$.groupIdentifier')"),
  postgres: text("d.raw::json ->> 'groupIdentifier'"),
});

/** The products themselves: `cross join` keeps SQLite from beginning with them, a lateral join PostgreSQL. */
const productOf = (identifier: string): Sql =>
  byEngine({
    sqlite: sql`cross join product p on p.identifier = ${text(identifier)}
      cross join document d on d.id = p.document_id`,
    postgres: sql`cross join lateral (select p.id, p.document_id from product p
        where ${own('p')} and p.identifier = ${text(identifier)} offset 0) p
      cross join lateral (select d.raw from document d where ${own('d')} and d.id = p.document_id offset 0) d`,
  });

/**
 * `more`: further columns, of the document `d`.
 * @returns the statement for the place of a list; of a source its targets in their order, of a target its sources in
 * the order of the lines
 */
export function describeLinked({ build, side, identifier }: WantedSql, more: Sql = text('')): Sql {
  const columns = sql`p.id as "productId", ${GROUP} as "group", l.place, l.${side === 'target' ? text('place') : text('line')} as at${more}`;
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
  postgres: sql`cross join lateral (select l.place, l.target from relation_link l
    where ${own('l')} and l.build_id = s.build_id and l.line = s.line order by l.place offset 0) l`,
});

const JOIN_SOURCE = byEngine({
  sqlite: text('cross join relation_link_source s on s.build_id = l.build_id and s.line = l.line'),
  postgres: sql`cross join lateral (select s.source from relation_link_source s
    where ${own('s')} and s.build_id = l.build_id and s.line = l.line offset 0) s`,
});
