/**
 * The door of the embedded store: one SQLite file a project.
 */
export * from './catalog-store.ts';
