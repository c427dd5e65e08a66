import { bookParts, escapeXml, writeZip } from '../formats/format-files.ts';

/** A product in upload form, limited to the fields in these files. */
export interface FileProduct {
  readonly identifier: string;
  readonly groupIdentifier: string;
  readonly name: string;
  readonly productUrl: string;
  readonly images: readonly { readonly url: string; readonly type: string }[];
  readonly categories: readonly { readonly path: readonly string[] }[];
  readonly attributes: readonly {
    readonly key: string;
    readonly value: string;
    readonly userGroups?: readonly string[];
  }[];
}

/** A catalog as a table, one column per attribute, with the mapping that reproduces it. */
export interface CatalogTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly mapping: object;
}

const VALUE_SEPARATOR = ' | ';
const LEVEL_SEPARATOR = ' > ';

/** The images of a product are ordered by type. The user groups of an attribute are those of all its values. */
export function toTable(products: readonly FileProduct[]): CatalogTable {
  const attributes = products.flatMap((product) => product.attributes);
  const keys = [...new Set(attributes.map(({ key }) => key))];
  const userGroups = new Map(attributes.map((attribute) => [attribute.key, attribute.userGroups]));
  const imageTypes = [...new Set(products.flatMap(({ images }) => images.map(({ type }) => type)))];
  const ownColumns = ['sku', 'group', 'title', 'link', 'path', ...imageTypes.map((type) => `image ${type}`)];
  const nameOf = (key: string) => `attribute ${keys.indexOf(key) + 1}`;
  return {
    columns: [...ownColumns, ...keys.map(nameOf)],
    rows: products.map((product) => toRow(product, keys, imageTypes)),
    mapping: {
      identifier: 'sku',
      groupIdentifier: 'group',
      name: 'title',
      productUrl: 'link',
      categories: { from: { column: 'path', split: VALUE_SEPARATOR }, separator: LEVEL_SEPARATOR },
      images: imageTypes.map((type) => ({ column: `image ${type}`, split: VALUE_SEPARATOR, type })),
      attributes: Object.fromEntries(
        keys.map((key) => [
          key,
          { column: nameOf(key), split: VALUE_SEPARATOR, userGroups: userGroups.get(key) },
        ]),
      ),
    },
  };
}

function toRow(product: FileProduct, keys: readonly string[], imageTypes: readonly string[]): string[] {
  const values = new Map<string, string[]>();
  for (const { key, value } of product.attributes) values.set(key, [...(values.get(key) ?? []), value]);
  const imagesOf = (type: string) =>
    product.images.filter((image) => image.type === type).map(({ url }) => url);
  return [
    product.identifier,
    product.groupIdentifier,
    product.name,
    product.productUrl,
    product.categories.map(({ path }) => path.join(LEVEL_SEPARATOR)).join(VALUE_SEPARATOR),
    ...imageTypes.map((type) => imagesOf(type).join(VALUE_SEPARATOR)),
    ...keys.map((key) => (values.get(key) ?? []).join(VALUE_SEPARATOR)),
  ];
}

export function toCsv({ columns, rows }: CatalogTable): string {
  return [columns, ...rows].map((row) => `${row.map(quoteCell).join(',')}\n`).join('');
}

const quoteCell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Elements named after the columns. Empty cells are omitted. */
export function toXml({ columns, rows }: CatalogTable): string {
  const names = columns.map((column) => column.replaceAll(' ', '-'));
  const cell = (text: string, index: number) =>
    text === '' ? '' : `<${names[index]}>${escapeXml(text)}</${names[index]}>`;
  const products = rows.map((row) => `<product>${row.map(cell).join('')}</product>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<catalog>\n${products.join('')}</catalog>\n`;
}

/** In XML, names have no spaces. @returns the mapping for `toXml` */
export const toXmlMapping = ({ mapping, columns }: CatalogTable): object =>
  JSON.parse(JSON.stringify(mapping), (_, value) =>
    typeof value === 'string' && columns.includes(value) ? value.replaceAll(' ', '-') : value,
  );

/** Texts are stored in the cells themselves, as many programs write them. */
export async function writeXlsx(path: string, { columns, rows }: CatalogTable): Promise<void> {
  const cell = (text: string) =>
    text === '' ? '<c/>' : `<c t="inlineStr"><is><t>${escapeXml(text)}</t></is></c>`;
  const lines = [columns, ...rows].map(
    (row, index) => `<row r="${index + 1}">${row.map(cell).join('')}</row>`,
  );
  await writeZip(path, bookParts({ sheets: [{ name: 'Products', rows: lines }] }));
}
