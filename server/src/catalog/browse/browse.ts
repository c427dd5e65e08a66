/**
 * The door of browse: catalogs as people read them. Lists by identifier, a product's page, commits and the coverage of the
 * ontology. Reads whole catalogs a part at a time and never changes one.
 */

export {
  describeBriefly,
  FRONT_END,
  keyOfCategory,
  type ListedPage,
  type ListForm,
  readCategory,
  readFront,
  toListItem,
  toTableItem,
  visitCategories,
  writeTableItem,
} from './product-list.ts';
export { pageOperations, readProductPage } from './product-page.ts';
export { createScans, longReadOperations, type Scans } from './scan-client.ts';
export { type OpenTally, type SurveyResult, surveyOperations } from './survey.ts';
