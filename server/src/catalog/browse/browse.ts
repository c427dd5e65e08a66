/**
 * The door of browse: catalogs as people read them. Lists by identifier, a product's page, commits and the coverage of the
 * ontology. Reads whole catalogs a part at a time and never changes one.
 */
export { readCategory } from './category-path.ts';
export { keptOperations } from './kept-changes.ts';
export {
  describeBriefly,
  FRONT_END,
  type IdentifierRange,
  keyOfCategory,
  type ListedPage,
  type ListedRow,
  type ListForm,
  type PlacedRow,
  readFront,
  toListItem,
  toTableItem,
  visitCategories,
  writeTableItem,
} from './product-list.ts';
export { pageOperations, readProductPage } from './product-page.ts';
export { createScans, type Scans } from './scan-client.ts';
export { type OpenTally, type SurveyResult, surveyOperations } from './survey.ts';
