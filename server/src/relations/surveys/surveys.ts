/**
 * The door of surveys: examines the results of a relation on a whole catalog, and tries unstored rules on
 * products that a thread caches.
 */
export { CatalogColumns } from './catalog-columns.ts';
export { ColumnCache } from './column-cache.ts';
export { surveyRelation } from './relation-survey.ts';
export { RuleMembers } from './rule-members.ts';
export { SurveyCache } from './survey-cache.ts';
export {
  type PresentUpload,
  readingLimit,
  type SurveyedCatalog,
  type SurveyTime,
  type TriedCatalog,
} from './surveyed-catalog.ts';
export { surveyTotal } from './total-survey.ts';
export { tryOnColumns } from './tried-columns.ts';
export { listWords, readPages, UPLOADS_AT_ONCE } from './upload-pages.ts';
