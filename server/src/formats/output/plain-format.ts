/** What files for one's own programs share, CSV and NDJSON: any field, named like those of a product. */
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

/** The field that marks a product as gone in a file of changes. */
export const REMOVED = 'removed';
