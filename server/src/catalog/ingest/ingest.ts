/**
 * The door of ingest: a body becomes checked products, their facts and their stored form, on the parsing threads. Never
 * writes a catalog.
 */
export { createIngest, type Ingest, type Packed } from './ingest-client.ts';
export { type IngestSource, ingestOperations } from './ingest-thread.ts';
