import { type CatalogSnapshots, createPostgresSnapshots, createSqliteSnapshots } from '../catalog/catalog.ts';
import { relationBatchDerivation, relationDerivation } from '../relations/relations.ts';
import {
  type CatalogFiles,
  createCatalogFiles,
  createPayloadRows,
  openPostgres,
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
    const files = createCatalogFiles(place.catalogs);
    const derivation = relationDerivation();
    return { files, snapshots: createSqliteSnapshots({ files, payloads: place.payloads, derivation }) };
  }
  const postgres = openPostgres(place);
  const { read: readPayload } = createPayloadRows(postgres);
  const derivation = relationBatchDerivation();
  return { snapshots: createPostgresSnapshots({ postgres, readPayload, derivation }) };
}
