/**
 * The door of the stores: definitions, the join index, lists of links and value tables, as programs for both
 * engines. It also has the port that an engine provides to the threads.
 */
export { buildPage, type ChangedIndex, dropBuilds, findUnusedBuild } from './build-store.ts';
export type { CatalogPass, CatalogPasses } from './catalog-pass.ts';
export type { InspectedCatalog } from './inspected-catalog.ts';
export {
  acceptLinks,
  applyLinks,
  beginLinks,
  freeLinks,
  readLinks,
  stageLinks,
} from './link-store.ts';
export {
  bindRelations,
  deleteRelation,
  deleteTable,
  findRelation,
  type ListedRelations,
  listRelations,
  listUnbuilt,
  readListed,
  replaceTable,
  type SavedTable,
  saveRelation,
  saveTable,
} from './relation-definition-store.ts';
export type {
  CatalogRules,
  InProject,
  OpenRelationCatalogs,
  Prefetch,
  RelationReads,
  RelationWriter,
} from './relation-port.ts';
export { findTable, listTables, measureTables } from './table-store.ts';
