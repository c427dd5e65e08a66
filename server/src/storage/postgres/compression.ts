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
  const { mark, statements } = row?.knowsLz4 ? BY_LZ4 : AS_THEY_ARE;
  if (row?.present === mark) return;
  for (const statement of statements) await tx.run(statement);
}

interface Choice {
  /** Storage and compression of `document.raw`, as PostgreSQL notes them. */
  readonly mark: string;
  readonly statements: readonly string[];
}

const BY_LZ4: Choice = {
  // Main: only what no page holds goes to the table beside it.
  mark: 'ml',
  statements: [
    `alter table document alter column raw set storage main, alter column raw set compression lz4,
       reset (toast_tuple_target)`,
    `alter table staged_batch alter column identifiers set compression lz4,
       alter column products set compression lz4, alter column report set compression lz4`,
  ],
};

const AS_THEY_ARE: Choice = {
  mark: 'e',
  statements: [
    `alter table document alter column raw set storage external, alter column raw set compression default,
       set (toast_tuple_target = 8160)`,
    `alter table staged_batch alter column identifiers set compression default,
       alter column products set compression default, alter column report set compression default`,
  ],
};
