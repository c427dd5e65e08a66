import type { SqlTransaction } from './connections.ts';

/**
 * Where the server has lz4, uploads of more than 2 KB are compressed by it, and stay in their row; a product of 3.3 KB then
 * writes half as much to the WAL. Where it has not, they stay as they are, as pglz takes too long. Decided at each
 * start: a database may have come from another server.
 */
export async function chooseCompression(tx: SqlTransaction): Promise<void> {
  const [row] = await tx.rows<{ knowsLz4: boolean; present: string }>(`
    select 'lz4' = any(enumvals) as "knowsLz4", attstorage::text || attcompression::text as present
    from pg_settings, pg_attribute
    where name = 'default_toast_compression' and attrelid = 'document'::regclass and attname = 'raw'`);
  // Main: only what no page holds goes to the table beside it.
  const { mark, storage, method, target } = row?.knowsLz4
    ? { mark: 'ml', storage: 'main', method: 'lz4', target: 'reset (toast_tuple_target)' }
    : { mark: 'e', storage: 'external', method: 'default', target: 'set (toast_tuple_target = 8160)' };
  if (row?.present === mark) return;
  await tx.run(
    `alter table document alter column raw set storage ${storage}, alter column raw set compression ${method}, ${target}`,
  );
  for (const column of ['identifiers', 'products', 'report'])
    await tx.run(`alter table staged_batch alter column ${column} set compression ${method}`);
}
