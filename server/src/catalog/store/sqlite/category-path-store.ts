import type { CatalogFile } from '../../../storage/storage.ts';
import { writePath } from '../../browse/browse.ts';
import type { ListedPath, LookedCategories, LookedCategory, PathRange } from '../../port.ts';

/** Asks first which are missing: to insert what is there costs the walk 10 %. */
export function placePaths(file: CatalogFile, paths: ReadonlyMap<number, readonly string[]>): void {
  const missing = file
    .prepare(
      `select value as key from json_each(?) where not exists
       (select 1 from category_path where path_key = value)`,
    )
    .all(JSON.stringify([...paths.keys()])) as unknown as { key: number }[];
  const insert = file.prepare('insert into category_path (path_key, path) values (?, ?)');
  for (const { key } of missing) insert.run(key, writePath(paths.get(key) ?? []));
}

/** Relies on the index of path. */
export function listCategoryPaths(file: CatalogFile, { from, isAfter, to, limit }: PathRange): ListedPath[] {
  return file
    .prepare(
      `select path_key as key, path from category_path
       where path ${isAfter ? '>' : '>='} ? ${to === undefined ? '' : 'and path < ?'} order by path limit ?`,
    )
    .all(...[from, ...(to === undefined ? [] : [to]), limit]) as unknown as ListedPath[];
}

export function findCategoryPath(file: CatalogFile, key: number): string | undefined {
  const row = file.prepare('select path from category_path where path_key = ?').get(key);
  return row?.path as string | undefined;
}

/** The newest rows of each, as far as the first that leads to a product. Relies on the key of category_document. */
export function lookIntoCategories(file: CatalogFile, { keys, most }: LookedCategories): LookedCategory[] {
  const rows = file.prepare(
    `select exists (select 1 from document d cross join product p on p.id = d.product_id
       where d.id = c.document_id and p.document_id = d.id) as isAlive
     from category_document c where c.path_key = ? order by c.document_id desc limit ?`,
  );
  return keys.map((key) => {
    let looked = 0;
    for (const { isAlive } of rows.iterate(key, most)) {
      looked += 1;
      if (isAlive === 1) return { isAlive: true, looked };
    }
    return { isAlive: false, looked };
  });
}
