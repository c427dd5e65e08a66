import { type CatalogSnapshots, createPostgresSnapshots, createSqliteSnapshots } from '../catalog/catalog.ts';
import { relationBatchDerivation, relationDerivation } from '../relations/relations.ts';
import {
  type CatalogFiles,
  createCatalogFiles,
  createPayloadRows,
  openPostgres,
  type Postgres,
  type ThreadPlace,
} from '../storage/storage.ts';

/** What a thread reads catalogs from. */
interface ThreadSnapshots {
  readonly snapshots: CatalogSnapshots;
  /** Of the embedded store only. */
  readonly files?: CatalogFiles;
}

/** Opens the store for a thread that reads catalogs as they were at one moment, and derives what relations ask. */
export function openSnapshots(place: ThreadPlace): ThreadSnapshots {
  if (place.kind === 'embedded') {
    const files = createCatalogFiles(place.catalogs, place.markMoves);
    return { files, snapshots: snapshotsOfFiles(files, place) };
  }
  const postgres = openPostgres(place);
  return { snapshots: snapshotsOfRows(postgres) };
}

export const snapshotsOfFiles = (
  files: CatalogFiles,
  { payloads }: Extract<ThreadPlace, { kind: 'embedded' }>,
): CatalogSnapshots => createSqliteSnapshots({ files, payloads, derivation: relationDerivation() });

/** @param pick where to read from, each time anew */
export function snapshotsOfRows(postgres: Postgres, pick = () => postgres): CatalogSnapshots {
  const { read: readPayload } = createPayloadRows(postgres);
  const derivation = relationBatchDerivation();
  const picked: Pick<Postgres, 'snapshot'> = { snapshot: (work) => pick().snapshot(work) };
  return createPostgresSnapshots({ postgres: picked, readPayload, derivation });
}
