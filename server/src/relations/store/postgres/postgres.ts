/** The door of relations in PostgreSQL. */
export { relationBatchDerivation } from './membership-store.ts';
export * from './relation-store.ts';
