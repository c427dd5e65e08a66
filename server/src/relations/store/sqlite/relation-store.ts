import { applySqliteChange, changeSqliteCatalog, readCatalogVersion } from '../../../catalog/catalog.ts';
import type { CatalogFiles, Operation } from '../../../storage/storage.ts';
import type { RelationStore } from '../../port.ts';
import {
  createThreadedRelations,
  type RelationReads,
  type RelationThreads,
  writerOperations,
} from '../threaded-relations.ts';
import { extendIn } from './membership-store.ts';

/** The operations of the writing threads for relations. */
export const relationWriterOperations = (files: CatalogFiles): Record<string, Operation> =>
  writerOperations({
    read: (projectId, program) => files.open(projectId).perform(program),
    change(projectId, work) {
      const file = files.open(projectId);
      return changeSqliteCatalog(file, (catalog) => work({ catalog, extend: extendIn(file) }));
    },
    apply: (projectId, order, work) => applySqliteChange(files.open(projectId), order, work),
  });

/** The embedded store: relations are in the catalog's file. `files`: those of the serving thread. */
export function createSqliteRelationStore({
  files,
  ...threads
}: RelationThreads & { readonly files: CatalogFiles }): RelationStore {
  const read: RelationReads['read'] = async (projectId, program) => files.open(projectId).perform(program);
  const readMark = async (projectId: number) => ({
    version: readCatalogVersion(files.open(projectId)),
    scale: 0,
  });
  return createThreadedRelations({ readMark, read, readForAnswers: read }, threads);
}
