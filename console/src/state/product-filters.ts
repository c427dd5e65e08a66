export const PRODUCT_FILTERS = ['prefix', 'category', 'name', 'attribute'] as const;

/** What somebody typed above the table; empty: not filtered by it. */
export type ProductFilters = Readonly<Record<(typeof PRODUCT_FILTERS)[number], string>>;

/** `Tools > Drills` as the path that the service takes. */
export const readPath = (text: string): string[] =>
  text
    .split('>')
    .map((part) => part.trim())
    .filter((part) => part !== '');
