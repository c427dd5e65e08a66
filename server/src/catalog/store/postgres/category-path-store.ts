import type { Postgres, SqlSession } from '../../../storage/storage.ts';
import { writePath } from '../../browse/browse.ts';
import type { ListedPath, LookedCategories, LookedCategory, PathRange } from '../../port.ts';
import { planForParts } from './planning-store.ts';

/** The beginning that is in the index of paths. */
const begin = (text: string) => `left(${text}, 200)`;

/** Asks first which are missing: mostly none is. The lock of the catalog keeps others from placing them too. */
export async function placePaths(
  session: SqlSession,
  projectId: number,
  paths: ReadonlyMap<number, readonly string[]>,
): Promise<void> {
  const missing = await session.rows<{ key: number }>(
    `select k.key from unnest($2::bigint[]) k (key) left join lateral
       (select true as is_there from category_path where project_id = $1 and path_key = k.key limit 1) p on true
     where p.is_there is null`,
    [projectId, [...paths.keys()]],
  );
  if (missing.length === 0) return;
  const keys = missing.map(({ key }) => key);
  await session.run(
    `insert into category_path (project_id, path_key, path)
     select $1, * from unnest($2::bigint[], $3::text[]) on conflict do nothing`,
    [projectId, keys, keys.map((key) => writePath(paths.get(key) ?? []))],
  );
}

/** Relies on the index of the beginnings of paths. */
export function listCategoryPaths(
  postgres: Postgres,
  projectId: number,
  { from, isAfter, to, limit }: PathRange,
): Promise<ListedPath[]> {
  const end = to === undefined ? '' : `and path < $4 and ${begin('path')} <= ${begin('$4')}`;
  return postgres.snapshot(async (session) => {
    // Else all paths of the project are read and sorted for each page.
    await planForParts(session);
    return session.rows<ListedPath>(
      `select path_key as key, path from category_path
       where project_id = $1 and path ${isAfter ? '>' : '>='} $2 and ${begin('path')} >= ${begin('$2')} ${end}
       order by ${begin('path')}, path limit $3`,
      [projectId, from, limit, ...(to === undefined ? [] : [to])],
    );
  });
}

export async function findCategoryPath(
  session: SqlSession,
  projectId: number,
  key: number,
): Promise<string | undefined> {
  const [row] = await session.rows<{ path: string }>(
    'select path from category_path where project_id = $1 and path_key = $2',
    [projectId, key],
  );
  return row?.path;
}

/** The newest rows of each, as far as the first that leads to a product. Relies on the key of category_document. */
export function lookIntoCategories(
  session: SqlSession,
  projectId: number,
  { keys, most }: LookedCategories,
): Promise<LookedCategory[]> {
  const newest = `from category_document where project_id = $1 and path_key = k.key
    order by document_id desc limit $3`;
  return session.rows<LookedCategory>(
    `select a.place is not null as "isAlive",
       coalesce(a.place, (select count(*) from (select ${newest}) c)) as looked
     from unnest($2::bigint[]) with ordinality k (key, at)
     left join lateral (select c.place
       from (select document_id, row_number() over (order by document_id desc) as place ${newest}) c
       cross join lateral (select product_id from document
         where project_id = $1 and id = c.document_id limit 1) d
       cross join lateral (select from product
         where project_id = $1 and id = d.product_id and document_id = c.document_id limit 1) p limit 1) a on true
     order by k.at`,
    [projectId, keys, most],
  );
}
