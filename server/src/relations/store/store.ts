/** The door of the stores: relations on SQLite files and on PostgreSQL, each behind threads. */

export type { SavedTable } from './definition-store.ts';
export type { CatalogPass, CatalogPasses, TriedRelation } from './relation-reader.ts';
export type { RelationStore } from './threaded-relations.ts';
