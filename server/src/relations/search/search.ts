/**
 * The door of search: related products found from memberships, why they are found, and surveys of a whole relation.
 */

export {
  type CatalogColumns,
  ColumnCache,
  findEdge,
  listWords,
  RuleMembers,
  readPages,
} from './catalog-columns.ts';
export {
  type FoundGroups,
  listRelated,
  type RelatedSearch,
  type SearchedRelation,
  searchRelated,
} from './related-search.ts';
export {
  type Candidate,
  type CandidateSearch,
  type CatalogMark,
  expectCandidates,
  FetchedView,
  type FoundSource,
  growPage,
  LINKED_AT_MOST,
  type LinkedProduct,
  type LinkSearch,
  mergeRanked,
  type RankedPlace,
  type RelationView,
  type ShareLists,
  SORTED_AT_MOST,
  SQL_OPERATORS,
  type StoredUpload,
  type Variant,
  type VariantSearch,
} from './related-view.ts';
export {
  type ExplainInput,
  explainElements,
  explainFound,
  explainLinked,
  explainRelation,
  type ProductRelation,
  type ProductRelationsInput,
  relateProduct,
} from './relation-explain.ts';
export {
  type PresentUpload,
  readingLimit,
  type SurveyedCatalog,
  type SurveyTime,
  surveyRelation,
  type TriedCatalog,
} from './relation-survey.ts';
export { surveyTotal } from './total-survey.ts';
export { tryOnColumns } from './tried-columns.ts';
export { WorkLimit } from './work-limit.ts';
