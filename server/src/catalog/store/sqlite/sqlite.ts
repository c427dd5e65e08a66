/** The door of the embedded store: one SQLite file per project. */
export * from './catalog-store.ts';
