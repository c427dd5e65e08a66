import { applyPostgresChange, changePostgresCatalog } from '../../../catalog/catalog.ts';
import { type Operation, type Postgres, performOn } from '../../../storage/storage.ts';
import type { RelationStore } from '../../port.ts';
import { createThreadedRelations, type RelationThreads, writerOperations } from '../threaded-relations.ts';
import { readMark } from './mark-store.ts';
import { extendIn } from './membership-store.ts';
import type { PostgresReaders } from './reader-store.ts';

/** The operations of the writing threads for relations. */
export const postgresRelationWriterOperations = (postgres: Postgres): Record<string, Operation> =>
  writerOperations({
    read: (projectId, program) => performOn(postgres, projectId, program),
    change: (projectId, work) =>
      changePostgresCatalog(postgres, projectId, (catalog, tx) =>
        work({ catalog, extend: extendIn(tx, projectId) }),
      ),
    apply: (projectId, order, work) => applyPostgresChange(postgres, { projectId, ...order }, work),
  });

/** Relations in PostgreSQL. Only answers may be read from replicas. */
export function createPostgresRelationStore({
  postgres,
  readPostgres,
  ...threads
}: RelationThreads & PostgresReaders): RelationStore {
  return createThreadedRelations(
    {
      readMark: (projectId) => readMark(readPostgres(), projectId),
      read: (projectId, program) => performOn(postgres, projectId, program),
      readForAnswers: (projectId, program) => performOn(readPostgres(), projectId, program),
    },
    threads,
  );
}
