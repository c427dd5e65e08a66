import { readOntology } from '../../../catalog/catalog.ts';
import { type Postgres, performOn } from '../../../storage/storage.ts';
import { listRelated } from '../../search/search.ts';
import { type CatalogPasses, toPassed } from '../catalog-pass.ts';
import { listBuilt } from '../definition-store.ts';
import { findUploads, listUploads } from '../survey-store.ts';
import { readMark } from './mark-store.ts';
import { readCatalog } from './search-store.ts';

/** Whole catalogs in PostgreSQL, each in one transaction that only reads. */
export function createPostgresPasses(postgres: Postgres): CatalogPasses {
  return {
    pass: (projectId, work) =>
      postgres.snapshot(async (session) => {
        const { version, scale } = await readMark(session, projectId);
        return work({
          version,
          attributes: (await performOn(session, projectId, readOntology())).attributes,
          relations: toPassed(await performOn(session, projectId, listBuilt())),
          findUploads: (identifiers) => performOn(session, projectId, findUploads(identifiers)),
          listUploads: (after, limit) => performOn(session, projectId, listUploads(after, limit)),
          listRelated(products, wanted) {
            const identifiers = products.map(({ identifier }) => identifier);
            const prefetch = { searches: wanted, products: false, variants: false } as const;
            return readCatalog({ session, projectId, scale, prefetch }, (view) =>
              listRelated(view, identifiers, wanted),
            );
          },
        });
      }),
  };
}
