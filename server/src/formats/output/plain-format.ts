/**
 * What CSV and NDJSON share, the files for one's own programs: they accept any field, and suggest the field names of a
 * product.
 */
export const PLAIN_FORMAT = {
  fields: undefined,
  suggestions: {
    identifier: { field: 'identifier' },
    groupIdentifier: { field: 'groupIdentifier' },
    name: { field: 'name' },
    productUrl: { field: 'productUrl' },
    image: { field: 'image' },
    categories: { field: 'categories' },
  },
  suggestsAttributes: true,
} as const;

/** The field that marks a product as removed in a file of changes. */
export const REMOVED = 'removed';
