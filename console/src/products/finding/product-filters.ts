/** What the products are narrowed by, as it stands in the address; empty: not by it. */
export const PRODUCT_FILTERS = ['q', 'where', 'sort', 'category', 'prefix', 'name', 'attribute'] as const;

export type ProductFilters = Readonly<Record<(typeof PRODUCT_FILTERS)[number], string>>;

/** What the address of the view has. */
export const VIEW_PARTS = [...PRODUCT_FILTERS, 'columns'] as const;

export const NO_FILTERS: ProductFilters = {
  ...{ q: '', where: '', sort: '', category: '' },
  ...{ prefix: '', name: '', attribute: '' },
};

/** By the index of the search, by reading the catalog, or as a list. */
export type Way = 'search' | 'scan' | 'list';

export function wayOf({ q, where, sort, name, attribute }: ProductFilters): Way {
  if (`${q}${where}${sort}`.trim() !== '') return 'search';
  return name !== '' || readAttribute(attribute) !== undefined ? 'scan' : 'list';
}

/** The service takes words and facets in one call, parts of names and identifiers in another: what is chosen last counts. */
export function withFilters(changed: Partial<ProductFilters>): Partial<ProductFilters> {
  const { q, where, sort, prefix, name, attribute } = changed;
  if (q || where || sort) return { prefix: '', name: '', attribute: '', ...changed };
  return prefix || name || attribute ? { q: '', where: '', sort: '', ...changed } : changed;
}

/** `Colour: red` as the service takes it; without a colon, any value of the attribute. */
export function readAttribute(text: string): string[] | undefined {
  const [name = '', ...rest] = text.split(':');
  if (name.trim() === '') return undefined;
  const part = rest.join(':').trim();
  return part === '' ? [name.trim()] : [name.trim(), part];
}
