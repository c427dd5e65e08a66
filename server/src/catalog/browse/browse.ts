/**
 * The door of browse: catalogs as people look through them. Lists, searches, a product's page, categories and the
 * coverage of the ontology. Reads whole catalogs a part at a time and never changes one.
 */
export { readCategory, writePath } from './category-path.ts';
export {
  advance,
  type CategoryWalk,
  DROP_STEP,
  DROPPING,
  deriveCategoryRows,
  FIRST_WALK,
  isOvergrown,
  READ_FOR_PAGE,
  WALK_STEP,
  type WalkedDocument,
  type WalkState,
  type WalkStep,
} from './category-walk.ts';
export { keptOperations } from './kept-changes.ts';
export {
  describeBriefly,
  FRONT_END,
  type IdentifierRange,
  keyOfCategory,
  type ListedRow,
  type PlacedRow,
  toTableItem,
  type UploadFront,
  visitCategories,
} from './product-list.ts';
export { createProductLists } from './product-lists.ts';
export { pageOperations, readProductPage } from './product-page.ts';
export { scanOperations } from './product-scan.ts';
export { createScans, type Scans } from './scan-client.ts';
export { type OpenTally, type SurveyResult, surveyOperations } from './survey.ts';
