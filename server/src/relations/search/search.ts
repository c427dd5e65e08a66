/** The door of search: finding related products from memberships, explaining them, and surveys of a whole relation. */

export {
  CatalogColumns,
  ColumnCache,
  findEdge,
  listWords,
  RuleMembers,
  readPages,
  UPLOADS_AT_ONCE,
} from './catalog-columns.ts';
export {
  type FoundGroups,
  listRelated,
  type RelatedList,
  type RelatedSearch,
  type SearchedRelation,
  searchRelated,
} from './related-search.ts';
export {
  type Candidate,
  type CandidateSearch,
  type CatalogMark,
  type Comparison,
  expectCandidates,
  FetchedView,
  type FoundSource,
  growPage,
  LINKED_AT_MOST,
  type LinkedProduct,
  type LinkSearch,
  type ListBasis,
  listComparisons,
  mergeRanked,
  placeOf,
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
export { surveyTotal, tryOnColumns } from './tried-columns.ts';
