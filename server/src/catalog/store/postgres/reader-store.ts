import type { Postgres, SqlSession } from '../../../storage/postgres/postgres.ts';
import { performOn } from '../../../storage/storage.ts';
import type { BatchDerivation } from '../../derivation.ts';
import type { CatalogSnapshot, CatalogSnapshots, PresentProduct } from '../../port.ts';
import { createSnapshotReads } from '../operations.ts';
import { readDerivationRevision } from '../state-store.ts';

/** How the parsing threads read catalogs in PostgreSQL, and the reads of lookups. */

/**
 * Products of project $1 with the identifiers $2, `w.identifier`: looked up one by one by the index, which `limit` makes
 * sure of. Compared with `any` or joined as they are, PostgreSQL may read the whole table instead, when it has no
 * statistics yet or plans for any list: 14 s for 10,000 of 60,000 products.
 */
const REQUESTED_PRODUCTS = `unnest($2::text[]) w (identifier) cross join lateral
  (select * from product where project_id = $1 and identifier = w.identifier limit 1) p`;
/** The same with their documents. */
export const REQUESTED_DOCUMENTS = `${REQUESTED_PRODUCTS} cross join lateral
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

/** Catalogs in PostgreSQL as the parsing threads read them: one statement for all products of a batch. */
export function createPostgresSnapshots(parts: {
  postgres: Pick<Postgres, 'snapshot'>;
  readPayload: CatalogSnapshots['readPayload'];
  derivation: BatchDerivation;
}): CatalogSnapshots {
  const { postgres, readPayload, derivation } = parts;
  return {
    readPayload,
    read: (projectId, work) =>
      postgres.snapshot((session) => work(snapshotOf(session, projectId, derivation))),
  };
}

function snapshotOf(session: SqlSession, projectId: number, derivation: BatchDerivation): CatalogSnapshot {
  return {
    ...createSnapshotReads((program) => performOn(session, projectId, program)),
    openDerivation: async () => ({
      revision: await performOn(session, projectId, readDerivationRevision()),
      derive: await derivation.open(session, projectId),
    }),
    async findPresent(identifiers) {
      const rows = await session.rows<PresentProduct & { identifier: string }>(
        `select w.identifier, p.id, encode(p.hash, 'hex') as hash, p.document_id as document from ${REQUESTED_PRODUCTS}`,
        [projectId, identifiers],
      );
      const found = new Map(rows.map(({ identifier, ...present }) => [identifier, present]));
      return identifiers.map((identifier) => found.get(identifier));
    },
  };
}
