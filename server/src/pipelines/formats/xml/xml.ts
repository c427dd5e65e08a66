import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { Type } from 'typebox';
import { parseText, readAfterPeek, type TextStream } from '../chunks.ts';
import {
  type Columns,
  type ColumnValue,
  createColumns,
  defineFormat,
  FormatProblem,
  LIMITS,
  type ReadingNotes,
  RowValues,
  type SourceRow,
  tooDeep,
} from '../format.ts';
import { isOfParser, notXml, refuseDoctype, type XmlElement, XmlElements } from './xml-elements.ts';

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
  open: ({ decode, notes }, options) => readXml(decode(undefined, true), notes, options.record),
});

/** @returns a batch of rows for each chunk of text that ends some */
function readXml(
  text: TextStream,
  notes: ReadingNotes,
  record: string | undefined,
): AsyncGenerator<SourceRow[]> {
  return readAfterPeek(text, record === undefined ? SAMPLE_CHARACTERS : 0, (head, whole) => {
    const name = record ?? findRepeatedElement(head);
    notes.found.record = name;
    return readElements(whole, name);
  });
}

async function* readElements(text: TextStream, record: string): AsyncGenerator<SourceRow[]> {
  let count = 0;
  const toRow = (element: XmlElement): SourceRow => {
    count += 1;
    return { number: count, values: readValues(element), source: toSource(element) };
  };
  const parser = new XmlElements({ isChosen: chooseByPath(record) });
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

/** How much of a document the repeated element is searched in. */
const SAMPLE_CHARACTERS = 1024 * 1024;
/** Names that a sample may have; a document with more is not one of products. */
const PATHS = 10_000;

interface SeenElement {
  readonly path: string;
  readonly depth: number;
  /** Holds elements or attributes, as a product does and a keyword does not. */
  hasParts: boolean;
  isRepeated: boolean;
}

/**
 * Finds the element that a document repeats for its products: of those that stand more than once side by side and hold
 * others, the outermost, and of these the first. Where nothing is repeated there may be one product only.
 * @returns its path from the root
 * @throws FormatProblem not_found, damaged, refused
 */
function findRepeatedElement(text: string): string {
  const sample = new Sample();
  const problem = sample.read(text);
  const repeated = sample.elements.filter((element) => element.isRepeated);
  const chosen =
    outermost(repeated.filter((element) => element.hasParts)) ??
    outermost(sample.elements.filter((element) => element.hasParts && element.depth > 0)) ??
    outermost(repeated);
  if (chosen !== undefined) return chosen.path;
  const message =
    'There is no element that is repeated. Please name the one that holds a product as "record"';
  throw problem ?? new FormatProblem('not_found', message);
}

function outermost(elements: readonly SeenElement[]): SeenElement | undefined {
  return elements.reduce<SeenElement | undefined>(
    (best, element) => (best === undefined || element.depth < best.depth ? element : best),
    undefined,
  );
}

class Sample {
  readonly #seen = new Map<string, SeenElement>();
  /** Paths of the open elements, and how often each name stood in them. */
  readonly #open: { readonly path: string; readonly names: Map<string, number> }[] = [];

  get elements(): readonly SeenElement[] {
    return [...this.#seen.values()];
  }

  /** @returns what is wrong with the document; the reader that comes after says so where nothing is missing before */
  read(text: string): FormatProblem | undefined {
    const parser = new SaxesParser();
    parser.on('doctype', () => {
      throw refuseDoctype(parser.line);
    });
    parser.on('opentag', (tag) => this.#start(tag, parser.line));
    parser.on('closetag', () => this.#open.pop());
    try {
      parser.write(text);
      return undefined;
    } catch (error) {
      if (isOfParser(error)) return notXml(error, parser.line);
      if (error instanceof FormatProblem) return error;
      throw error;
    }
  }

  #start(tag: SaxesTagPlain, line: number): void {
    if (this.#open.length >= LIMITS.depth) throw tooDeep('The document', line);
    const name = tag.name.slice(tag.name.indexOf(':') + 1);
    const parent = this.#open.at(-1);
    const path = parent === undefined ? name : `${parent.path}/${name}`;
    const nth = (parent?.names.get(name) ?? 0) + 1;
    parent?.names.set(name, nth);
    const holder = parent === undefined ? undefined : this.#seen.get(parent.path);
    if (holder !== undefined) holder.hasParts = true;
    this.#note(path, { isRepeated: nth > 1, hasAttributes: Object.keys(tag.attributes).length > 0 });
    this.#open.push({ path, names: new Map() });
  }

  #note(path: string, { isRepeated, hasAttributes }: { isRepeated: boolean; hasAttributes: boolean }): void {
    const known = this.#seen.get(path);
    if (known === undefined && this.#seen.size >= PATHS) return;
    const element = known ?? { path, depth: this.#open.length, hasParts: false, isRepeated: false };
    element.hasParts ||= hasAttributes;
    element.isRepeated ||= isRepeated;
    this.#seen.set(path, element);
  }
}
