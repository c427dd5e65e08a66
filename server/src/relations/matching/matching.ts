/**
 * The door of matching: finds the products that are related to a product, by the rules of relations and by
 * lists of links, and explains why.
 */
export { FetchedView } from './fetched-view.ts';
export { type ProductRelation, type ProductRelationsInput, relateProduct } from './product-relations.ts';
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
  type FoundSource,
  growPage,
  holdsFor,
  LINKED_AT_MOST,
  type LinkedProduct,
  type LinkSearch,
  type ListBasis,
  listComparisons,
  mergeRanked,
  positionOf,
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
  explainPair,
  explainRelation,
  judgeElements,
  orient,
} from './relation-explain.ts';
export { SharedLists } from './shared-lists.ts';
