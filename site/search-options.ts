/** The page has to search in the same way in which the build indexes. */
export interface Found {
  readonly id: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

export const SEARCH_OPTIONS = {
  fields: ['title', 'page', 'text'],
  storeFields: ['page', 'title', 'text'],
  searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' as const },
};
