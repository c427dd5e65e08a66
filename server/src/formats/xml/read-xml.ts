import { optional } from '../../kernel/optional.ts';
import {
  type Columns,
  createColumns,
  decodeText,
  defineInputFormat,
  FormatProblem,
  parseText,
  type ReadingNotes,
  RowValues,
  readAfterPeek,
  type SourceRow,
  type TextStream,
} from '../input/input.ts';
import type { ByteStream } from '../streams/streams.ts';
import { type XmlChoice, type XmlElement, XmlElements } from './xml-elements.ts';

export type { XmlChoice, XmlElement } from './xml-elements.ts';

export const xml = defineInputFormat({
  type: 'xml',
  label: 'XML',
  description:
    'a row is an element; columns have dotted names, and attributes are @id or price.@currency; namespaces are ignored',
  options: {
    record: optional.text({
      minLength: 1,
      maxLength: 1_000,
      'x-label': 'Repeated element',
      description:
        'name of the repeated element, or its path, such as catalog/products/product; default: detected',
    }),
  },
  mapping: 'needed',
  endings: ['xml'],
  open({ decode, notes }, { record }) {
    const sampled = record === undefined ? SAMPLE_CHARACTERS : 0;
    return readAfterPeek(decode(undefined, true), sampled, async function* (head, whole) {
      const name = record ?? findRepeatedElement(head);
      notes.found.record = name;
      const choice = { isChosen: chooseByPath(name), noteUnread: (path: string) => notes.noteUnread(path) };
      const names = new SelectorNames();
      let isEmpty = true;
      for await (const rows of readXmlRows(whole, choice, (element) => readValues(element, names))) {
        isEmpty &&= rows.length === 0;
        yield rows;
      }
      if (isEmpty) throw new FormatProblem('not_found', `There is no element ${name}`);
    });
  },
});

/** @returns the chosen elements that each chunk of a document completes */
export const readElements = (bytes: ByteStream, notes: ReadingNotes, choice: XmlChoice) =>
  parseText(decodeText(bytes, notes, { isMarkup: true }), new XmlElements(choice));

/** @returns a row for each chosen element */
export async function* readXmlRows(
  text: TextStream,
  choice: XmlChoice,
  readRow: (element: XmlElement) => Pick<SourceRow, 'values' | 'rows'>,
): AsyncGenerator<SourceRow[]> {
  let count = 0;
  const toRow = (element: XmlElement): SourceRow => {
    count += 1;
    return { number: count, ...readRow(element), source: toSource(element) };
  };
  for await (const elements of parseText(text, new XmlElements(choice))) yield elements.map(toRow);
}

/** @returns a function that matches elements by name or by path from the root, without their prefixes */
export function chooseByPath(record: string): (name: string, path: readonly string[]) => boolean {
  const parts = record.split('/').filter((name) => name !== '');
  const names = parts.map((name) => name.slice(name.indexOf(':') + 1));
  const last = names.pop() ?? '';
  if (names.length === 0 && !record.startsWith('/')) return (name) => name === last;
  const parents = names.join('/');
  return (name, path) => name === last && path.length === names.length && path.join('/') === parents;
}

/**
 * Columns have dotted names, and attributes are named `@id` and `price.@currency`. A repeated element is a list. If
 * such elements have several values, each element is a row whose values belong together.
 */
function readValues(element: XmlElement, names: SelectorNames): Pick<SourceRow, 'values' | 'rows'> {
  const values = new RowValues();
  addValues(values, element, { path: '', row: undefined });
  for (const [name, value] of names.select(element)) values.add(name, value);
  const { rows } = values;
  return { values: values.values, ...(rows && { rows }) };
}

/** @param row the number of the outermost repeated element around this element */
function addValues(
  values: RowValues,
  element: XmlElement,
  { path, row }: { path: string; row: number | undefined },
): void {
  const before = path === '' ? '' : `${path}.`;
  const add = (name: string, value: string) =>
    row === undefined ? values.add(name, value) : values.addInRow(name, value, row);
  for (const [name, value] of element.attributes) add(`${before}@${name}`, value);
  if (hasText(element)) add(path === '' ? element.name : path, element.text);
  const lists = row === undefined ? namesOfLists(element.children) : NO_LISTS;
  for (const child of element.children) {
    const own = lists.has(child.name) ? values.beginRow() : row;
    addValues(values, child, { path: before + child.name, row: own });
  }
}

const hasText = ({ text, children, attributes }: XmlElement) =>
  text !== '' || (children.length === 0 && attributes.size === 0);

const NO_LISTS: ReadonlySet<string> = new Set();
/** Text with one attribute is a single value, which the attribute can select. */
const hasParts = ({ attributes, children, text }: XmlElement) =>
  children.length > 0 || (text === '' && attributes.size > 1);

/** Finds repeated names whose elements contain values that belong together. */
function namesOfLists(children: readonly XmlElement[]): ReadonlySet<string> {
  if (!children.some(hasParts)) return NO_LISTS;
  const groups = [...Map.groupBy(children, ({ name }) => name)];
  return new Set(groups.flatMap(([name, all]) => (all.length > 1 && all.some(hasParts) ? [name] : [])));
}

/** The maximum number of names that select one of several elements. Elements that differ by ids have too many names. */
const SELECTORS = 500;
const SELECTED_LENGTH = 60;
/** More elements with one name than this are a list. */
const TWINS = 30;

/**
 * Makes additional columns for sibling elements that differ in an attribute. `model[@lang=de]` has the texts of the
 * elements with this value, and `model[not(@lang)]` the texts of the elements without the attribute.
 */
class SelectorNames {
  readonly #names = new Set<string>();

  select({ children }: XmlElement): (readonly [name: string, value: string])[] {
    if (!children.some(({ attributes }) => attributes.size > 0)) return [];
    return [...Map.groupBy(children, ({ name }) => name).values()]
      .filter((twins) => twins.length > 1 && twins.length <= TWINS)
      .flatMap(selectTwins)
      .filter(([name]) => {
        if (this.#names.size < SELECTORS && name.length <= SELECTED_LENGTH) this.#names.add(name);
        return this.#names.has(name);
      });
  }
}

function selectTwins(twins: readonly XmlElement[]): (readonly [name: string, value: string])[] {
  const names = new Set(twins.flatMap(({ attributes }) => [...attributes.keys()]));
  const filled = twins.filter(({ text }) => text !== '');
  return [...names].flatMap((attribute) =>
    filled.map(({ name, attributes, text }) => {
      const value = attributes.get(attribute);
      const selector = value === undefined ? `[not(@${attribute})]` : `[@${attribute}=${value}]`;
      return [name + selector, text] as const;
    }),
  );
}

type XmlSource = string | XmlSource[] | XmlObject;
interface XmlObject extends Columns<XmlSource> {}

/**
 * Returns the element in the form for expressions: a text, or an object with `@attribute`, `#text` and the elements by
 * name.
 */
function toSource(element: XmlElement): XmlSource {
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

/** The number of characters of a document that are searched for the repeated element. */
const SAMPLE_CHARACTERS = 1024 * 1024;
/** The limit of a sample. A document with more paths does not contain products. */
const PATHS = 10_000;

interface SeenElement {
  readonly path: string;
  readonly depth: number;
  /** Names of the elements and attributes in it. A product has several, and a keyword has none. */
  readonly parts: Set<string>;
  isRepeated: boolean;
}

/**
 * Finds the element that a document repeats for its products. Of the repeated siblings that contain other elements, it
 * takes the outermost, and of these the one with most contents. A document without any repetition may contain a single
 * product.
 * @returns its path from the root
 * @throws FormatProblem not_found, damaged, refused
 */
function findRepeatedElement(text: string): string {
  const { elements, problem } = sampleElements(text);
  const repeated = elements.filter((element) => element.isRepeated);
  const outermost = (some: readonly SeenElement[]) =>
    some.toSorted((a, b) => a.depth - b.depth || partsOf(b) - partsOf(a))[0];
  const chosen =
    outermost(repeated.filter(({ parts }) => parts.size > 0)) ??
    outermost(elements.filter(({ parts, depth }) => parts.size > 0 && depth > 0)) ??
    outermost(repeated);
  if (chosen !== undefined) return chosen.path;
  const message = 'No element is repeated. Please name the element that contains a product as "record"';
  throw problem ?? new FormatProblem('not_found', message);
}

/** With this many parts, an element looks as much like a product as an element with more. */
const ENOUGH_PARTS = 4;
const partsOf = ({ parts }: SeenElement) => Math.min(parts.size, ENOUGH_PARTS);

/** @returns the elements of a text, and its problem; the reader reports the problem if the elements suffice */
function sampleElements(text: string) {
  const elementByPath = new Map<string, SeenElement>();
  /** For each open element: how often each name has occurred in it. */
  const names: Map<string, number>[] = [];

  const take: XmlChoice['isChosen'] = (name, parents, attributes) => {
    const depth = parents.length;
    names.length = depth;
    const siblings = names[depth - 1];
    const nth = (siblings?.get(name) ?? 0) + 1;
    siblings?.set(name, nth);
    names.push(new Map());
    const parent = elementByPath.get(parents.join('/'));
    parent?.parts.add(name);
    const path = [...parents, name].join('/');
    const element = elementByPath.get(path) ?? { path, depth, parts: new Set<string>(), isRepeated: false };
    for (const attribute of Object.keys(attributes)) element.parts.add(`@${attribute}`);
    element.isRepeated ||= nth > 1;
    if (elementByPath.size < PATHS || elementByPath.has(path)) elementByPath.set(path, element);
    return false;
  };

  let problem: FormatProblem | undefined;
  try {
    new XmlElements({ isChosen: take }).push(text);
  } catch (error) {
    if (!(error instanceof FormatProblem)) throw error;
    problem = error;
  }
  return { elements: [...elementByPath.values()], problem };
}
