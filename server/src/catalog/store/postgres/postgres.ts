/** The door of catalogs in PostgreSQL. */
export * from './catalog-store.ts';
