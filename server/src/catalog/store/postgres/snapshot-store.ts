import { type Postgres, performOn, type SqlSession } from '../../../storage/storage.ts';
import type { BatchDerivation } from '../../derivation.ts';
import type {
  CatalogSnapshot,
  CatalogSnapshots,
  OutdatedProduct,
  PatchedProduct,
  PresentProduct,
} from '../../snapshot.ts';
import { createSnapshotReads } from '../catalog-reads.ts';
import { planForParts } from '../planning-store.ts';
import { readDerivationRevision } from '../state-store.ts';
import { findStored, WANTED_DOCUMENTS, WANTED_PRODUCTS } from './reader-store.ts';

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

const PRESENT = `w.identifier, p.id, encode(p.hash, 'hex') as hash, p.document_id as document`;

/** Looked up one by one: joined as it is, all documents may be read. */
const documentOf = (row: string) =>
  `cross join lateral (select raw from document where project_id = $1 and id = ${row}.document_id limit 1) d`;

function snapshotOf(session: SqlSession, projectId: number, derivation: BatchDerivation): CatalogSnapshot {
  return {
    ...createSnapshotReads((program) => performOn(session, projectId, program)),
    openDerivation: async () => ({
      revision: await performOn(session, projectId, readDerivationRevision()),
      derive: await derivation.open(session, projectId),
    }),
    findPresent: async (identifiers) => {
      const find = byIdentifier(
        await session.rows<PresentProduct & { identifier: string }>(
          `select ${PRESENT} from ${WANTED_PRODUCTS}`,
          [projectId, identifiers],
        ),
      );
      return identifiers.map(find);
    },
    findStored: (identifier) => findStored(session, projectId, identifier),
    findPatched: async (identifiers) =>
      byIdentifier(
        await session.rows<PatchedProduct & { identifier: string }>(
          `select ${PRESENT}, d.raw from ${WANTED_DOCUMENTS}`,
          [projectId, identifiers],
        ),
      ),
    async listOutdated({ revision, after, limit }) {
      await performOn(session, projectId, planForParts());
      return session.rows<OutdatedProduct>(
        `select p.id, p.document_id as document, p.ontology_revision as revision, d.raw
         from (select id, document_id, ontology_revision from product
           where project_id = $1 and id > $2 and ontology_revision < $3 order by id limit $4) p ${documentOf('p')}
         order by p.id`,
        [projectId, after, revision, limit],
      );
    },
  };
}

function byIdentifier<Row extends { identifier: string }>(rows: readonly Row[]) {
  const found = new Map(rows.map(({ identifier, ...row }) => [identifier, row]));
  return (identifier: string) => found.get(identifier);
}
