/** Writes products in schema.org terms, one JSON-LD document per line. Source: schema.org/Product. */
import {
  choice,
  type FeedRow,
  type Field,
  INSTEAD,
  type OutputFormat,
  type RelatedAs,
  searched,
  text,
  type WriterOptions,
} from '../output/output.ts';

const FIELDS: readonly Field[] = [
  { name: 'sku', kind: 'identifier', isRequired: true },
  { name: 'name', kind: 'text', isRequired: true },
  text('description'),
  { name: 'url', kind: 'url' },
  { name: 'image', kind: 'url', most: 200 },
  text('brand'),
  { name: 'gtin', kind: 'gtin' },
  ...['mpn', 'category', 'color', 'size', 'material', 'pattern', 'model', 'keywords'].map((name) =>
    text(name),
  ),
  { name: 'price', kind: 'price' },
  {
    name: 'availability',
    kind: 'choice',
    choices: ['in_stock', 'out_of_stock', 'preorder', 'backorder', 'discontinued', 'limited_availability'],
  },
  choice('itemCondition', 'new', 'refurbished', 'used', 'damaged'),
  text('productGroupID'),
  { name: 'additionalProperty', kind: 'text', most: 2_000, parts: ['name', 'value'] },
];

/** Properties for products that lead to this one. In schema.org, the accessory names its product, not the reverse. */
const REVERSED: Readonly<Partial<Record<RelatedAs, string>>> = {
  accessory: 'isAccessoryOrSparePartFor',
  required_part: 'isConsumableFor',
};

const capital = (word: string) =>
  word.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
const product = (sku: string) => ({ '@type': 'Product', sku });

type WriteField = (document: Record<string, unknown>, values: readonly string[]) => void;

/** Fields that do not become a member of the document with the same name. */
const FIELD_WRITERS: Readonly<Record<string, WriteField>> = {
  brand(document, [name]) {
    document.brand = { '@type': 'Brand', name };
  },
  image(document, values) {
    document.image = values.length === 1 ? values[0] : values;
  },
  price(document, [price = '']) {
    const [amount, priceCurrency] = price.split(' ');
    document.offers = { '@type': 'Offer', ...(document.offers as object), price: amount, priceCurrency };
  },
  availability(document, [word = '']) {
    const availability = `https://schema.org/${word === 'preorder' ? 'PreOrder' : capital(word).replace('Backorder', 'BackOrder')}`;
    document.offers = { '@type': 'Offer', ...(document.offers as object), availability };
  },
  itemCondition(document, [word = '']) {
    document.itemCondition = `https://schema.org/${capital(word)}Condition`;
  },
  productGroupID(document, [productGroupID]) {
    if (productGroupID === document.sku) return;
    document.isVariantOf = { '@type': 'ProductGroup', productGroupID };
  },
  additionalProperty(document, values) {
    document.additionalProperty = values.map((property) => {
      const [name = '', ...rest] = property.split(':');
      return { '@type': 'PropertyValue', name, value: rest.join(':') };
    });
  },
};

function addRelated(document: Record<string, unknown>, { related }: FeedRow): void {
  const identifiersByProperty = new Map<string, Set<string>>();
  for (const { as, identifiers, isReversed } of related) {
    const forward = INSTEAD.includes(as) ? 'isSimilarTo' : 'isRelatedTo';
    const property = isReversed ? REVERSED[as] : forward;
    if (property === undefined || identifiers.length === 0) continue;
    const earlier = identifiersByProperty.get(property) ?? new Set();
    identifiersByProperty.set(property, earlier.union(new Set(identifiers)));
  }
  for (const [property, identifiers] of identifiersByProperty)
    document[property] = [...identifiers].map(product);
}

function openJsonLd({ columns }: WriterOptions) {
  return {
    head: '',
    tail: '',
    write(row: FeedRow) {
      const document: Record<string, unknown> = { '@context': 'https://schema.org', '@type': 'Product' };
      for (const [index, { name }] of columns.entries()) {
        const values = row.values[index] as readonly string[];
        if (values.length === 0) continue;
        const writeField = FIELD_WRITERS[name];
        if (writeField === undefined) document[name] = values[0];
        else writeField(document, values);
      }
      addRelated(document, row);
      return `${JSON.stringify(document)}\n`;
    },
  };
}

export const jsonLd: OutputFormat = {
  type: 'json-ld',
  label: 'JSON-LD (schema.org)',
  description:
    'a schema.org Product per line, with the products that it is an accessory for, related to or similar to',
  fields: FIELDS,
  identifiedBy: 'sku',
  suggestions: {
    sku: { field: 'identifier' },
    name: { field: 'name' },
    productGroupID: { field: 'groupIdentifier' },
    ...searched('description'),
    url: { field: 'productUrl' },
    image: { field: 'images' },
    ...searched('brand', 'gtin', 'mpn'),
    category: { field: 'categoryPath' },
    ...searched('color', 'size', 'material'),
    price: { attributes: ['price', 'preis', 'verkaufspreis'] },
    availability: { attributes: ['availability', 'verfugbarkeit', 'stockstatus'] },
    itemCondition: { attributes: ['condition', 'zustand'] },
  },
  wholeBecause: 'schema.org cannot mark a product as removed',
  reversed: new Set(Object.keys(REVERSED) as RelatedAs[]),
  defaultVariant: 'jsonl',
  variants: {
    jsonl: { ending: 'jsonl', mediaType: 'application/x-ndjson; charset=utf-8', open: openJsonLd },
  },
};
