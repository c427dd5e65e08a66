import { readCatalogVersion, readOntology } from '../../../catalog/catalog.ts';
import type { CatalogFiles } from '../../../storage/storage.ts';
import { listRelated, type RelationView } from '../../search/search.ts';
import { type CatalogPasses, toPassed } from '../catalog-pass.ts';
import { listBuilt } from '../definition-store.ts';
import { createSharedLists } from '../shared-lists.ts';
import { findUploads, listUploads } from '../survey-store.ts';
import { createFileView, listSources } from './search-store.ts';

/** Related products that many others lead to: 10 MB of identifiers. */
const KEPT_IDENTIFIERS = 100_000;
/** Bytes: a million products have some 30,000 lists of a rule of four equalities, at 1 KB each. */
const SHARED = 64 * 1024 * 1024;

/** Whole catalogs in files. The thread must run nothing else meanwhile. */
export function createSqlitePasses(files: CatalogFiles): CatalogPasses {
  return {
    pass(projectId, work) {
      const file = files.open(projectId);
      return file.snapshot(() => {
        const share = createSharedLists(SHARED).of(file);
        const view = withKeptIdentifiers(createFileView(file, { share }));
        return work({
          version: readCatalogVersion(file),
          attributes: file.perform(readOntology()).attributes,
          relations: toPassed(file.perform(listBuilt())),
          findUploads: async (identifiers) => file.perform(findUploads(identifiers)),
          listUploads: async (after, limit) => file.perform(listUploads(after, limit)),
          async listRelated(products, wanted) {
            const sources = listSources(file, products);
            const identifiers = products.map(({ identifier }) => identifier);
            const page = { ...view, findSource: (identifier: string) => sources.get(identifier) };
            return listRelated(page, identifiers, wanted);
          },
        });
      });
    },
  };
}

function withKeptIdentifiers(view: RelationView): RelationView {
  const kept = new Map<number, string>();
  return {
    ...view,
    findIdentifier(productId) {
      const known = kept.get(productId) ?? view.findIdentifier(productId);
      if (kept.size >= KEPT_IDENTIFIERS) kept.clear();
      kept.set(productId, known);
      return known;
    },
  };
}
