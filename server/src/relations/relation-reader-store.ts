import { readCatalogVersion, readOntology } from '../catalog/catalog.ts';
import type { CatalogFile, CatalogFiles, Operation } from '../storage/storage.ts';
import { KEPT_TABLES, type MembershipTables, placeMemberships, withTriedTables } from './membership-store.ts';
import { CatalogRelations } from './related-answers.ts';
import {
  countMembers,
  createFileView,
  hasMembers,
  listUploads,
  sampleMembers,
} from './related-search-store.ts';
import { type RelationCatalogs, readerOperations } from './relation-reader.ts';
import { listBuilt } from './relation-store.ts';
import type { SurveyedCatalog } from './relation-survey.ts';

/** What the threads that answer relations do with catalogs in files. */
export function relationReaderOperations(files: CatalogFiles): Record<string, Operation> {
  return readerOperations(openCatalogs(files));
}

function openCatalogs(files: CatalogFiles): RelationCatalogs {
  const known = new WeakMap<CatalogFile, CatalogRelations>();
  return {
    async answer({ projectId }, work) {
      const file = files.open(projectId);
      return file.snapshot(() => {
        const version = readCatalogVersion(file);
        let relations = known.get(file);
        if (relations?.version !== version) {
          relations = readRelations(file, version);
          known.set(file, relations);
        }
        return work(relations, createFileView(file));
      });
    },
    async inspect(projectId, work) {
      const file = files.open(projectId);
      return file.snapshot(() =>
        work({
          ...surveyed(file, KEPT_TABLES),
          findBuilt: async (id) => listBuilt(file).find((relation) => relation.id === id),
          listBuilt: async () => listBuilt(file),
        }),
      );
    },
    async tryOut(projectId, work) {
      const file = files.open(projectId);
      return file.snapshot(() =>
        withTriedTables(file, (tables) =>
          work({
            ...surveyed(file, tables),
            listAttributes: async () => readOntology(file).attributes,
            listUploads: async (after, limit) => listUploads(file, after, limit),
            async place(placed) {
              for (const { id, productId, ...rest } of placed) {
                placeMemberships(file, { id, productId }, { ...rest, tables });
              }
            },
            async endPlacing() {},
          }),
        ),
      );
    },
  };
}

const readRelations = (file: CatalogFile, version: number) =>
  new CatalogRelations({
    version,
    attributes: readOntology(file).attributes,
    relations: listBuilt(file),
    hasTargets: (build) => hasMembers(file, build, 'target'),
  });

const surveyed = (file: CatalogFile, tables: MembershipTables): SurveyedCatalog => ({
  read: async (work) => work(createFileView(file, tables)),
  countMembers: async (build, side) => countMembers(file, { build, side, tables }),
  sampleSources: async (build, every) => sampleMembers(file, { build, side: 'source', tables, every }),
});
