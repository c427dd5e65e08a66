/**
 * The door of search: related products found from memberships, why they are found, and surveys of a whole relation.
 */
export { FetchedView, type RankedPlace, type WantedPage } from './fetched-view.ts';
export { KeptColumns, RuleMembers } from './kept-columns.ts';
export { explainLinked } from './linked-explain.ts';
export {
  type ProductRelation,
  type ProductRelationsInput,
  relateProduct,
  toSearched,
} from './product-relations.ts';
export { listRelated, type WantedRelated } from './related-identifiers.ts';
export { type FoundGroups, type SearchedRelation, searchRelated } from './related-search.ts';
export {
  type Candidate,
  expectCandidates,
  type FoundSource,
  growPage,
  LINKED_AT_MOST,
  type LinkedProduct,
  type RelationView,
  type ShareLists,
  SORTED_AT_MOST,
  SQL_OPERATORS,
  type StoredUpload,
  type Variant,
  type Wanted,
  type WantedLinks,
} from './related-view.ts';
export { explainPair, type PairExplanation } from './relation-explain.ts';
export { type ExplainInput, explainRelation, type RelationExplanation } from './relation-questions.ts';
export {
  type PresentUpload,
  type RelationSurvey,
  readingLimit,
  type SurveyedCatalog,
  type SurveyedRelation,
  type SurveyTime,
  surveyRelation,
  type TriedCatalog,
} from './relation-survey.ts';
export { tryOnColumns } from './tried-columns.ts';
export { WorkLimit } from './work-limit.ts';
