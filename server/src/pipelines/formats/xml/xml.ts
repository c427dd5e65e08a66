import { Type } from 'typebox';
import { parseText, readAfterPeek, type TextStream } from '../chunks.ts';
import { defineFormat } from '../format.ts';
import { FormatProblem } from '../format-problem.ts';
import {
  type Columns,
  type ColumnValue,
  createColumns,
  type ReadingNotes,
  RowValues,
  type SourceRow,
} from '../source-row.ts';
import { type XmlElement, XmlElements } from './xml-elements.ts';
import { findRepeatedElement, SAMPLE_CHARACTERS } from './xml-sample.ts';

export { type XmlChoice, type XmlElement, XmlElements } from './xml-elements.ts';

export const xml = defineFormat({
  type: 'xml',
  label: 'XML',
  description:
    'a row is an element; dotted names, attributes as @id, price.@currency; namespaces do not count',
  options: {
    record: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        'x-label': 'Repeated element',
        description:
          'name of the element that is repeated, or its path as catalog/products/product; default: detected',
      }),
    ),
  },
  mapping: 'needed',
  endings: ['xml'],
  open: ({ decode, notes }, options) => readXml(decode(undefined, true), notes, options),
});

interface XmlOptions {
  /** Name of the repeated element, or the names that lead to it from the root, as `catalog/products/product`. */
  readonly record?: string | undefined;
}

/** @returns a batch of rows for each chunk of text that ends some */
function readXml(
  text: TextStream,
  notes: ReadingNotes,
  { record }: XmlOptions = {},
): AsyncGenerator<SourceRow[]> {
  return readAfterPeek(text, record === undefined ? SAMPLE_CHARACTERS : 0, (head, whole) => {
    const wanted = record ?? findRepeatedElement(head);
    notes.found.record = wanted;
    return readElements(whole, wanted);
  });
}

async function* readElements(text: TextStream, record: string): AsyncGenerator<SourceRow[]> {
  let count = 0;
  const toRow = (element: XmlElement): SourceRow => {
    count += 1;
    return { number: count, values: readValues(element), source: toSource(element) };
  };
  const parser = new XmlElements({ isWanted: chooseByPath(record) });
  for await (const elements of parseText(text, parser)) yield elements.map(toRow);
  if (count === 0) throw new FormatProblem('not_found', `There is no element ${record}`);
}

/** @returns whether an element is meant by a name or by a path from the root; prefixes do not count */
export function chooseByPath(record: string): (name: string, path: readonly string[]) => boolean {
  const names = record
    .split('/')
    .filter((name) => name !== '')
    .map(dropPrefix);
  const last = names.pop() ?? '';
  if (names.length === 0 && !record.startsWith('/')) return (name) => name === last;
  const parents = names.join('/');
  return (name, path) => name === last && path.length === names.length && path.join('/') === parents;
}

const dropPrefix = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Columns are dotted names, attributes `@id` and `price.@currency`; an element that stands more than once is a list. */
function readValues(element: XmlElement): Columns<ColumnValue> {
  const values = new RowValues();
  addValues(values, element, '');
  return values.values;
}

function addValues(values: RowValues, element: XmlElement, path: string): void {
  const before = path === '' ? '' : `${path}.`;
  for (const [name, value] of element.attributes) values.add(`${before}@${name}`, value);
  const isLeaf = element.children.length === 0;
  const hasText = element.text !== '' || (isLeaf && element.attributes.size === 0);
  if (hasText) values.add(path === '' ? element.name : path, element.text);
  for (const child of element.children) addValues(values, child, before + child.name);
}

type XmlSource = string | XmlSource[] | XmlObject;
interface XmlObject extends Columns<XmlSource> {}

/** As expressions see it: a text, or an object with `@attribute`, `#text` and the elements by name. */
export function toSource(element: XmlElement): XmlSource {
  if (element.children.length === 0 && element.attributes.size === 0) return element.text;
  const source: XmlObject = createColumns<XmlSource>();
  for (const [name, value] of element.attributes) source[`@${name}`] = value;
  if (element.text !== '') source['#text'] = element.text;
  for (const child of element.children) {
    const value = toSource(child);
    const present = source[child.name];
    if (present === undefined) source[child.name] = value;
    else if (Array.isArray(present)) present.push(value);
    else source[child.name] = [present, value];
  }
  return source;
}
