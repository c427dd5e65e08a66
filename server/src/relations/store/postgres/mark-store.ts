import type { SqlSession } from '../../../storage/storage.ts';
import type { CatalogMark } from '../../port.ts';

/**
 * A prepared statement keeps a plan that was made when its tables were small and reads them whole, until PostgreSQL
 * analyses them, a minute after a load at the earliest. So statements that read row by row get another text once a
 * table is large: with more than a few pages every plan uses the index.
 */
const LARGE_BYTES = 64 * 1024;
const TABLES = ['product', 'document', 'relation_document', 'relation_member'];
const SCALE = TABLES.map(
  (table, at) => `case when pg_relation_size('${table}') > ${LARGE_BYTES} then ${2 ** at} else 0 end`,
).join(' + ');

/** @returns the version of a catalog, and which of the tables are large */
export async function readMark(session: SqlSession, projectId: number): Promise<CatalogMark> {
  const [mark] = await session.rows<CatalogMark>(
    `select coalesce((select catalog_version from catalog where project_id = $1), 0) as version, ${SCALE} as scale`,
    [projectId],
  );
  return mark ?? { version: 0, scale: 0 };
}
