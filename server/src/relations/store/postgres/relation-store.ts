import type { Operation, Postgres } from '../../../storage/storage.ts';
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
  readListed,
  saveRelation,
} from './definition-store.ts';
import { readMark } from './mark-store.ts';
import type { PostgresReaders } from './reader-store.ts';

/** What the writing threads do for relations, with the connections of their thread. */
export function postgresRelationWriterOperations(postgres: Postgres): Record<string, Operation> {
  return writerOperations({
    bind: (projectId) => bindRelations(postgres, projectId),
    buildPage: (projectId, order) => buildPage(postgres, projectId, order),
    remove: (projectId, removed) => deleteRelation(postgres, projectId, removed),
    dropBuilds: (projectId) => dropBuilds(postgres, projectId),
    save: (projectId, saved) => saveRelation(postgres, projectId, saved),
  });
}

/** Relations in PostgreSQL. Answers may be read from replicas; what is decided upon, and what was just made, is not. */
export function createPostgresRelationStore({
  postgres,
  readPostgres,
  ...threads
}: RelationThreads & PostgresReaders): RelationStore {
  return createThreadedRelations(
    {
      readMark: (projectId) => readMark(readPostgres(), projectId),
      readListed: (projectId) => readListed(readPostgres(), projectId),
      list: (projectId) => listRelations(postgres, projectId),
      find: (projectId, id) => findRelation(postgres, projectId, id),
      listUnbuilt: (projectId) => listUnbuilt(postgres, projectId),
    },
    threads,
  );
}
