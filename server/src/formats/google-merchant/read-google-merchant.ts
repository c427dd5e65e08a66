import { readCsv, splitList } from '../csv/read-csv.ts';
import {
  type Columns,
  type ColumnValue,
  defineInputFormat,
  encoding,
  FormatProblem,
  makePlain,
  ReadingNotes,
  RowValues,
  readAfterPeek,
  type SourceRow,
  type TextStream,
} from '../input/input.ts';
import { readXmlRows, type XmlChoice, type XmlElement } from '../xml/read-xml.ts';

/** Source: Google Merchant Center, product data specification. */
export const googleMerchant = defineInputFormat({
  type: 'google-merchant',
  label: 'Google Merchant',
  description:
    'a row is an item of an RSS or Atom feed, or a line of tab-separated text; columns have no g: prefix',
  options: { encoding },
  mapping: {
    identifier: 'id',
    groupIdentifier: 'item_group_id',
    name: 'title',
    productUrl: 'link',
    images: ['image_link', 'additional_image_link'],
    categories: { from: 'product_type', separator: ' > ' },
    attributes: '*',
  },
  endings: [],
  open: ({ decode, notes }, options) =>
    readAfterPeek(decode(options.encoding, true), HEAD_CHARACTERS, (head, whole) =>
      head.trimStart().startsWith('<') ? readFeed(whole, notes) : readTable(whole, notes),
    ),
});

const HEAD_CHARACTERS = 1_024;

/** Elements that describe the feed itself. */
const IGNORED = new Set(
  `title link description language pubDate lastBuildDate ttl generator copyright id updated subtitle author name uri
  email rights url managingEditor`.split(/\s+/),
);

async function* readFeed(text: TextStream, notes: ReadingNotes): AsyncGenerator<SourceRow[]> {
  const choice: XmlChoice = {
    isChosen: (name, path) => path.length > 0 && (name === 'item' || name === 'entry'),
    noteUnread(path) {
      if (!IGNORED.has(path.split('/').at(-1) ?? '')) notes.noteUnread(path);
    },
  };
  yield* readXmlRows(text, choice, (element) => {
    notes.found.feed ??= element.name === 'item' ? 'RSS' : 'Atom';
    return { values: readProduct(element, notes) };
  });
  if (notes.found.feed === undefined)
    throw new FormatProblem('not_found', 'The feed has neither <item> nor <entry>');
}

/** Attributes get the names of the specification, whatever their namespace prefix is. */
function readProduct(product: XmlElement, notes: ReadingNotes): Columns<ColumnValue> {
  const values = new RowValues();
  const prefixed = new Set(product.children.filter(({ prefix }) => prefix !== '').map(({ name }) => name));
  const names = new Set(product.children.map(({ name }) => name));
  for (const child of product.children) {
    // An Atom entry has its own id and link besides those of the namespace.
    if (child.prefix === '' && prefixed.has(child.name)) continue;
    if (child.name === 'product_detail') addDetail(values, readDetail(child), names);
    else if (child.name === 'link') addLink(values, child);
    else addElement(values, child, nameOf(child, names));
    noteAttributes(child, `${product.name}/${child.name}`, notes);
  }
  return values.values;
}

/** A link is read from its attributes. A detail may contain more than a name and a value. */
function noteAttributes(element: XmlElement, path: string, notes: ReadingNotes): void {
  if (element.name !== 'link')
    for (const name of element.attributes.keys()) notes.noteUnread(`${path}/@${name}`);
  if (element.name === 'product_detail')
    for (const { name } of element.children) if (!OF_DETAIL.has(name)) notes.noteUnread(`${path}/${name}`);
  for (const child of element.children) noteAttributes(child, `${path}/${child.name}`, notes);
}

const OF_DETAIL = new Set(['section_name', 'attribute_name', 'attribute_value']);

/** Atom calls a description a summary. */
const nameOf = ({ name, prefix }: XmlElement, names: ReadonlySet<string>): string =>
  name === 'summary' && prefix === '' && !names.has('description') ? 'description' : name;

function addElement(values: RowValues, element: XmlElement, path: string): void {
  if (element.children.length === 0 || element.text !== '') values.add(path, element.text);
  for (const child of element.children) addElement(values, child, `${path}.${child.name}`);
}

/** In Atom the address is an attribute, and only one of several links leads to the product. */
function addLink(values: RowValues, link: XmlElement): void {
  const address = link.attributes.get('href');
  if (address === undefined) values.add('link', link.text);
  else if ((link.attributes.get('rel') ?? 'alternate') === 'alternate') values.add('link', address);
}

interface ProductDetail {
  readonly name: string;
  readonly value: string;
}

function readDetail(detail: XmlElement): ProductDetail {
  const textOf = (name: string) => detail.children.find((child) => child.name === name)?.text ?? '';
  return { name: textOf('attribute_name'), value: textOf('attribute_value') };
}

/** A detail is the shop's own attribute, so it becomes a column with its name. */
function addDetail(values: RowValues, { name, value }: ProductDetail, names: ReadonlySet<string>): void {
  if (name !== '') values.add(names.has(name) ? `product_detail.${name}` : name, value);
}

async function* readTable(text: TextStream, notes: ReadingNotes): AsyncGenerator<SourceRow[]> {
  const own = new ReadingNotes();
  for await (const rows of readCsv(text, own)) {
    notes.found.feed = 'text';
    yield rows.map((row) => {
      const values = readTableRow(row.values);
      return { ...makePlain(row), values, source: values };
    });
  }
}

/** In text, names may contain spaces, and repeated values are separated by commas. */
function readTableRow(columns: Columns<ColumnValue>): Columns<ColumnValue> {
  const named = Object.entries(columns).map(([name, value]) => {
    const plain = name.trim().toLowerCase().replace(/^g:/, '').replaceAll(' ', '_');
    return [plain, String(value)] as const;
  });
  const names = new Set(named.map(([name]) => name));
  const values = new RowValues();
  for (const [name, value] of named) addField(values, { name, value }, names);
  return values.values;
}

function addField(values: RowValues, { name, value }: ProductDetail, names: ReadonlySet<string>): void {
  if (name === 'product_detail') for (const detail of splitDetails(value)) addDetail(values, detail, names);
  else if (name !== 'additional_image_link') values.add(name, value);
  else for (const link of splitList(value)) values.add(name, link, true);
}

/** `Section:Name:Value,Section:Name:Value`; a comma within a value does not begin a new detail. */
function splitDetails(value: string): ProductDetail[] {
  const details: string[] = [];
  for (const part of value.split(',')) {
    if (details.length === 0 || part.split(':').length > 2) details.push(part);
    else details[details.length - 1] += `,${part}`;
  }
  return details.map((detail) => {
    const [, name = '', ...rest] = detail.split(':');
    return { name: name.trim(), value: rest.join(':').trim() };
  });
}
