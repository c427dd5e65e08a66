import { readCatalogVersion } from '../../../catalog/catalog.ts';
import type { CatalogFiles, Operation } from '../../../storage/storage.ts';
import type { RelationStore } from '../../port.ts';
import { createThreadedRelations, type RelationThreads, writerOperations } from '../threaded-relations.ts';
import {
  bindRelations,
  buildPage,
  deleteRelation,
  dropBuilds,
  findRelation,
  listRelations,
  listUnbuilt,
  saveRelation,
} from './definition-store.ts';

/** What the writing threads do for relations. */
export function relationWriterOperations(files: CatalogFiles): Record<string, Operation> {
  return writerOperations({
    bind: (projectId) => bindRelations(files.open(projectId)),
    buildPage: (projectId, order) => buildPage(files.open(projectId), order),
    remove: (projectId, removed) => deleteRelation(files.open(projectId), removed),
    dropBuilds: (projectId) => dropBuilds(files.open(projectId)),
    save: (projectId, saved) => saveRelation(files.open(projectId), saved),
  });
}

/** The embedded store: relations lie in the catalog's file. `files`: those of the serving thread. */
export function createSqliteRelationStore({
  files,
  ...threads
}: RelationThreads & { readonly files: CatalogFiles }): RelationStore {
  const readVersion = (projectId: number) => readCatalogVersion(files.open(projectId));
  return createThreadedRelations(
    {
      readMark: async (projectId) => ({ version: readVersion(projectId), scale: 0 }),
      readListed: async (projectId) => ({
        version: readVersion(projectId),
        relations: listRelations(files.open(projectId)),
      }),
      list: async (projectId) => listRelations(files.open(projectId)),
      find: async (projectId, id) => findRelation(files.open(projectId), id),
      listUnbuilt: async (projectId) => listUnbuilt(files.open(projectId)),
    },
    threads,
  );
}
