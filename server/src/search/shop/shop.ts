/** The door of shop: the search of shop connectors, as they send and read it. Source: docs/interface §4.14. */
export {
  answerShopSearch,
  answerSuggestions,
  CategoryTally,
  type FoundGroups,
  listMainPaths,
  listNamedCategories,
  planShopSearch,
  type ShopFilter,
  type ShopQuestion,
  type ShownProduct,
  type Sorting,
} from './shop-search.ts';
