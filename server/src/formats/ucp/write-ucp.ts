import { ndjson } from '../json/write-ndjson.ts';
import { type Field, type OutputFormat, required, text } from '../output/output.ts';

const many = (field: Field, most: number): Field => ({ ...field, most });

/**
 * Source: Universal Commerce Protocol, `source/schemas/shopping/types/variant.json`. Any other field is an option of a
 * variant. Whatever the mapping contains, the id of a variant is the identifier, and the id of a product is the group.
 */
export const ucp: OutputFormat = {
  type: 'ucp',
  label: 'Universal Commerce Protocol',
  description:
    'served live and never built: search, lookup and product for agents, with related products and fit as an extension',
  fields: [
    required(text('title')),
    required(text('price')),
    text('description'),
    { name: 'url', kind: 'url' },
    many({ name: 'media', kind: 'url' }, 20),
    text('list_price'),
    text('currency', 3),
    { name: 'availability', kind: 'choice', choices: ['in_stock', 'out_of_stock', 'preorder', 'backorder'] },
    { name: 'gtin', kind: 'gtin' },
    many(text('tags'), 20),
  ],
  takesOthers: true,
  servedAs: 'ucp',
  suggestions: {
    title: { field: 'name' },
    price: { attributes: ['price', 'preis', 'saleprice'] },
    description: { attributes: ['description', 'beschreibung', 'shortdescription'] },
    url: { field: 'productUrl' },
    media: { field: 'images' },
    availability: { attributes: ['availability', 'verfugbarkeit'] },
    gtin: { attributes: ['gtin', 'ean', 'upc', 'barcode'] },
  },
  wholeBecause: 'it is served and not built',
  variants: ndjson.variants,
  defaultVariant: ndjson.defaultVariant,
};
