/**
 * Writes product feeds for ChatGPT. Source: developers.openai.com/commerce/specs/file-upload/products, read in November
 * 2026. `related_product_id` and `relationship_type` are from its earlier editions; current readers ignore them.
 */

import {
  choice,
  type FeedRow,
  type Field,
  type FieldKind,
  type OutputFormat,
  required,
  searched,
  text,
  type WriterOptions,
  writeDelimited,
} from '../output/output.ts';

const of = (kind: FieldKind, ...names: string[]): Field[] => names.map((name) => ({ name, kind }));

const FIELDS: readonly Field[] = [
  required({ name: 'item_id', kind: 'identifier', maxLength: 100 }),
  required(text('title', 150)),
  required(text('description', 5_000)),
  required({ name: 'url', kind: 'url' }),
  required(text('brand')),
  required(text('seller_name')),
  required({ name: 'image_url', kind: 'url' }),
  required(choice('availability', 'in_stock', 'out_of_stock', 'pre_order', 'backorder', 'unknown')),
  required({ name: 'price', kind: 'price' }),
  ...of('boolean', 'is_eligible_search', 'is_eligible_checkout', 'is_ads_eligible', 'listing_has_variations'),
  ...of('boolean', 'accepts_returns', 'accepts_exchanges', 'is_digital'),
  { name: 'group_id', kind: 'identifier', maxLength: 100 },
  ...of('text', 'offer_id', 'mpn', 'product_category', 'material', 'color', 'size', 'size_system'),
  ...of('text', 'marketplace_seller', 'shipping', 'dimensions_unit', 'item_weight_unit'),
  { name: 'gtin', kind: 'gtin' },
  choice('condition', 'new', 'refurbished', 'used'),
  choice('gender', 'male', 'female', 'unisex'),
  choice('age_group', 'newborn', 'infant', 'toddler', 'kids', 'adult'),
  ...of('decimal', 'length', 'width', 'height', 'weight', 'star_rating', 'store_star_rating'),
  { name: 'additional_image_urls', kind: 'url', most: 100 },
  ...of('price', 'sale_price', 'shipping_price'),
  ...of('url', 'seller_url', 'return_policy', 'seller_privacy_policy', 'seller_tos'),
  ...of('integer', 'return_deadline_in_days', 'review_count', 'store_review_count'),
  { name: 'target_countries', kind: 'country', most: 300 },
  { name: 'store_country', kind: 'country' },
];

const BARE = new Set<FieldKind>(['boolean', 'integer']);

const RELATED = ['related_product_id', 'relationship_type'];

/** @returns the first kind that has identifiers, with these identifiers; an empty list if no kind has any */
function listRelated({ related }: FeedRow): string[] {
  const first = related.find(({ identifiers }) => identifiers.length > 0);
  return first === undefined ? [] : [[...new Set(first.identifiers)].join(','), first.as];
}

function openJsonl({ columns }: WriterOptions) {
  const writers = columns.map(({ name, kind, most = 1 }) => (values: readonly string[]) => {
    if (values.length === 0) return [];
    const written = BARE.has(kind) ? values[0] : JSON.stringify(most > 1 ? values : values[0]);
    return [`${JSON.stringify(name)}:${written}`];
  });
  return {
    head: '',
    tail: '',
    write(row: FeedRow) {
      const parts = writers.flatMap((write, index) => write(row.values[index] as readonly string[]));
      const related = listRelated(row).map((text, index) => `"${RELATED[index]}":${JSON.stringify(text)}`);
      return `{${[...parts, ...related].join(',')}}\n`;
    },
  };
}

const openCsv = (options: WriterOptions) =>
  writeDelimited(options, {
    related: { names: options.as.length > 0 ? RELATED : [], cells: listRelated },
  });

export const openai: OutputFormat = {
  type: 'openai',
  label: 'OpenAI product feed',
  description: 'a JSON object per line, compressed with gzip (jsonl), or comma-separated text (csv)',
  fields: FIELDS,
  identifiedBy: 'item_id',
  suggestions: {
    item_id: { field: 'identifier' },
    title: { field: 'name' },
    ...searched('description'),
    url: { field: 'productUrl' },
    ...searched('brand'),
    seller_name: { attributes: ['sellername', 'seller', 'verkaufer', 'merchant'] },
    image_url: { field: 'image' },
    additional_image_urls: { field: 'additionalImages' },
    ...searched('availability'),
    price: { attributes: ['price', 'preis', 'verkaufspreis'] },
    group_id: { field: 'groupIdentifier' },
    product_category: { field: 'categoryPath' },
    ...searched('gtin', 'mpn', 'condition', 'color', 'size', 'material'),
  },
  wholeBecause: 'each file replaces the previous one',
  // The recommended maximum.
  rowsPerFile: 500_000,
  relatedIdentifier: /^[^,]+$/,
  defaultVariant: 'jsonl',
  variants: {
    jsonl: {
      ending: 'jsonl',
      mediaType: 'application/jsonl; charset=utf-8',
      compression: 'gzip',
      open: openJsonl,
    },
    csv: { ending: 'csv', mediaType: 'text/csv; charset=utf-8', open: openCsv },
  },
};
