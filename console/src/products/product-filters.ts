export const PRODUCT_FILTERS = ['prefix', 'category', 'name', 'attribute'] as const;

/** What somebody typed above the table; empty: not filtered by it. */
export type ProductFilters = Readonly<Record<(typeof PRODUCT_FILTERS)[number], string>>;

/** `Colour: red` as the service takes it; without a colon, any value of the attribute. */
export function readAttribute(text: string): string[] | undefined {
  const [name = '', ...rest] = text.split(':');
  if (name.trim() === '') return undefined;
  const part = rest.join(':').trim();
  return part === '' ? [name.trim()] : [name.trim(), part];
}
