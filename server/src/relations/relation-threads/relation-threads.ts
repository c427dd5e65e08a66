/**
 * The door of the threads of relations. It has the operations of the answering and the writing threads, and
 * the store through which the serving thread calls them. Both engines have the same operations.
 */
export { readerOperations } from './reader-operations.ts';
export type { TriedRelation } from './relation-health.ts';
export { createThreadedRelations, type RelationStore } from './threaded-relations.ts';
export { writerOperations } from './writer-operations.ts';
