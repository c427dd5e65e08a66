import { getManyValues, isMany, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { optional } from '../../../kernel/optional.ts';
import { Peekable } from '../../streams.ts';
import {
  type ChunkParser,
  type Columns,
  type ColumnValue,
  createColumns,
  defineFormat,
  FormatProblem,
  fieldTooLarge,
  LIMITS,
  parseText,
  type ReadingNotes,
  type RowProblem,
  RowSize,
  RowValues,
  readAfterPeek,
  type SourceRow,
  type TextStream,
  tooDeep,
  writePlainNumber,
} from '../format.ts';

export const json = defineFormat({
  type: 'json',
  label: 'JSON',
  description: 'a row is an object of the list; nested values have dotted names, as price.value',
  options: {
    path: optional.text({
      maxLength: 1_000,
      'x-label': 'Path to the list',
      description:
        'keys that lead to the list, also through other lists, as data.products; $ for the root; default: the list whose elements look most like products',
    }),
  },
  mapping: 'needed',
  endings: ['json'],
  open: ({ decode, notes }, options) => readJson(decode(), notes, options.path),
});

/** How much of a document is searched for its list; the second size if it begins with something else. */
const SAMPLES = [1024 * 1024, 16 * 1024 * 1024];

/** @returns a batch of rows for each chunk of text that ends some */
export async function* readJson(
  text: TextStream,
  notes: ReadingNotes,
  path: string | undefined,
): AsyncGenerator<readonly SourceRow[]> {
  await using stream = new Peekable(text);
  let found = path === '$' ? '' : path;
  for (const length of found === undefined ? SAMPLES : []) found ??= findList(await stream.peek(length));
  yield* parseText(stream, createJsonList(notes, found));
}

interface Container {
  readonly isArray: boolean;
  /** The dotted keys that lead to it; an element of a list has the path of the list. */
  readonly path: string;
  key: string;
}

const pathBelow = (container: Container | undefined): string =>
  [container?.path ?? '', container?.key ?? ''].filter((part) => part !== '').join('.');

/** Tracks the open containers. @returns the container that a token opens. @throws FormatProblem too_large */
function follow(open: Container[], token: Token): Container | undefined {
  const last = open.at(-1);
  if (token.name === 'keyValue' && last !== undefined) last.key = token.value;
  else if (token.name === 'endObject' || token.name === 'endArray') open.pop();
  if (token.name !== 'startObject' && token.name !== 'startArray') return undefined;
  if (open.length >= LIMITS.depth) throw tooDeep('The document');
  const opened = { isArray: token.name === 'startArray', path: pathBelow(last), key: '' };
  open.push(opened);
  return opened;
}

/** Tokens of values: texts, numbers, true and false; null is no value. */
const VALUES = new Set(['stringValue', 'numberValue', 'trueValue', 'falseValue']);

/** A list of objects, and the keys of its elements, without those of nested lists of objects. */
interface ListSample {
  readonly path: string;
  /** Paths of the lists that contain it. */
  readonly within: readonly string[];
  readonly keys: Set<string>;
}

/** Names of lists of products; then the keys of identifiers, of names, and of what only products have. */
const LIST_NAME = /^(?:products?|produkte?|articles?|artikel|items?|skus?|goods)$/i;
const KEYS = [
  /^id$|sku$|identifier$|(?:gtin|ean)\d*$|(?:product|produkt|article|artikel|item|part)_?-?(?:number|nummer|nr|no|id|code)$/i,
  /(?:name|title|titel|bezeichnung|description)$/i,
  /price|preis|gtin|ean$|sku|brand|marke|stock|image|bild|categor|kategorie/i,
];

const countKinds = ({ keys }: ListSample, kinds: readonly RegExp[]) =>
  kinds.filter((kind) => [...keys].some((key) => kind.test(key))).length;

const hasListName = ({ path }: ListSample) => LIST_NAME.test(path.split('.').at(-1) ?? '');

/** Scores how much a list looks like products: by its name, then by the keys of its elements. */
const weighList = (list: ListSample) =>
  (hasListName(list) ? 30 : 0) + 10 * countKinds(list, KEYS) + Math.min(list.keys.size, 9);

/**
 * A list at the root is chosen whatever it contains, so that an element that is not an object is reported. Lists
 * within elements with an identifier and a name belong to those, like variants, unless they are named like products.
 * @returns the path of the list whose elements look most like products; undefined if the text begins with none
 */
function findList(pieces: readonly string[]): string | undefined {
  const lists = sampleLists(pieces);
  const isProduct = (path: string) => countKinds(lists.get(path) as ListSample, KEYS.slice(0, 2)) === 2;
  if (lists.has('')) return '';
  const possible = [...lists.values()].filter((list) => hasListName(list) || !list.within.some(isProduct));
  const weights = possible.map(weighList);
  return possible[weights.indexOf(Math.max(...weights))]?.path;
}

/** @returns the lists of objects by path, in a text that may be cut anywhere */
function sampleLists(pieces: readonly string[]): ReadonlyMap<string, ListSample> {
  const lists = new Map<string, ListSample>();
  const open: Container[] = [];
  const tokenizer = new JsonTokenizer();
  const findLists = () => open.flatMap(({ isArray, path }) => (isArray && lists.has(path) ? path : []));

  const noteKey = (key: string) => lists.get(findLists().at(-1) ?? '')?.keys.add(key);

  function take(token: Token): void {
    const holder = open.at(-1);
    const opened = follow(open, token);
    if (VALUES.has(token.name)) noteKey(pathBelow(holder).split('.').at(-1) ?? '');
    if (opened === undefined || lists.has(opened.path) || lists.size >= LIMITS.columns) return;
    const isOfObjects = opened.isArray ? holder === undefined : holder?.isArray === true;
    if (isOfObjects) lists.set(opened.path, { path: opened.path, within: findLists(), keys: new Set() });
  }

  try {
    for (const piece of pieces) for (const token of tokenizer.push(piece)) take(token);
  } catch (error) {
    // The reader that follows reports what is wrong with the text.
    if (!(error instanceof FormatProblem)) throw error;
  }
  return lists;
}

/** Makes rows of the tokens of a document: the elements of the lists at a path. */
function createJsonList(notes: ReadingNotes, path: string | undefined): ChunkParser<SourceRow> {
  const tokenizer = new JsonTokenizer();
  const builder = new JsonRowBuilder();
  /** The open containers around the rows, including the list. */
  const open: Container[] = [];
  let isInList = false;
  let hasList = false;
  /** It could be a list of objects. */
  let hasEmptyList = false;
  let lastToken: Token['name'] | undefined;
  let number = 0;

  function take(tokens: readonly Token[]): SourceRow[] {
    const rows: SourceRow[] = [];
    for (const token of tokens) {
      const isRow = !builder.isEmpty || (isInList && token.name !== 'endArray');
      const row = isRow ? builder.take(token) : walk(token);
      if (row !== undefined) rows.push(numberRow(row));
    }
    return rows;
  }

  function walk(token: Token): undefined {
    const opened = follow(open, token);
    if (VALUES.has(token.name)) notes.noteUnread(pathBelow(open.at(-1)));
    isInList = opened?.isArray === true && opened.path === path;
    if (isInList) notes.found.path = opened?.path ?? '';
    hasList ||= isInList;
    hasEmptyList ||= token.name === 'endArray' && lastToken === 'startArray';
    lastToken = token.name;
  }

  function numberRow({ source, values, rows, isObject }: JsonRow): SourceRow {
    number += 1;
    const row = { number, values, source, ...(rows && { rows }) };
    if (isObject) return row;
    return { ...row, problems: [{ code: 'no_object', message: 'this element is no object' }] };
  }

  return {
    /** @throws FormatProblem damaged, too_large */
    push(chunk) {
      try {
        return take(tokenizer.push(chunk));
      } catch (error) {
        if (!(error instanceof FormatProblem)) throw error;
        const { reason, message, cause } = error;
        // The parser has no line numbers; a chunk has at most 64 KiB.
        const where = number === 0 ? 'near the beginning' : `soon after row ${number.toLocaleString('en')}`;
        throw new FormatProblem(reason, `${message} (${where})`, { cause });
      }
    },
    /** @throws FormatProblem broken_off, not_found */
    end() {
      const rows = take(tokenizer.end());
      if (hasList || (path === undefined && hasEmptyList)) return rows;
      const where = path === undefined ? 'There is no list of objects' : `There is no list at ${path}`;
      throw new FormatProblem('not_found', where);
    },
  };
}

type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
interface JsonObject extends Columns<JsonValue> {}

interface Level {
  readonly container: JsonValue[] | JsonObject;
  /** The column that the container belongs to, '' for the row itself. */
  readonly name: string;
  /** In a list every name may be repeated. */
  readonly isList: boolean;
  /** In a list of objects, the number of the outermost element that contains it. */
  readonly row: number | undefined;
  key: string;
}

interface JsonRow {
  readonly source: JsonValue;
  /** Dotted names, as `price.value`; the elements of a list share one name. Numbers as written. */
  readonly values: Columns<ColumnValue>;
  readonly rows: SourceRow['rows'];
  readonly isObject: boolean;
}

/** Builds one row from tokens: the object itself, and its values by dotted names. */
class JsonRowBuilder {
  readonly #levels: Level[] = [];
  #values = new RowValues();
  readonly #size = new RowSize('A row');

  /** @returns the row, if the token completes it. @throws FormatProblem too_large */
  take(token: Token): JsonRow | undefined {
    switch (token.name) {
      case 'startObject':
        return this.#open(createColumns<JsonValue>());
      case 'startArray':
        return this.#open([]);
      case 'endObject':
      case 'endArray':
        return this.#close();
      case 'keyValue':
        return this.#takeKey(token.value);
      case 'numberValue':
        return this.#takeScalar(Number(token.value), writePlainNumber(token.value));
      case 'stringValue':
        return this.#takeScalar(token.value, token.value);
      case 'nullValue':
        return this.#takeScalar(null, undefined);
      case 'trueValue':
      case 'falseValue':
        return this.#takeScalar(token.value, String(token.value));
      default:
        return undefined;
    }
  }

  get isEmpty(): boolean {
    return this.#levels.length === 0;
  }

  #open(container: Level['container']): undefined {
    this.#size.add(0, 1);
    if (this.#levels.length >= LIMITS.depth) throw tooDeep('A row');
    const parent = this.#levels.at(-1);
    if (parent !== undefined) put(parent, container);
    const isList = Array.isArray(container) || parent?.isList === true;
    const isElement = Array.isArray(parent?.container) && !Array.isArray(container);
    const row = parent?.row ?? (isElement ? this.#values.beginRow() : undefined);
    this.#levels.push({ container, name: nameBelow(parent), isList, row, key: '' });
  }

  #close(): JsonRow | undefined {
    const level = this.#levels.pop();
    return level === undefined || this.#levels.length > 0 ? undefined : this.#finish(level.container);
  }

  #takeKey(key: string): undefined {
    this.#size.add(key.length, 1);
    const level = this.#levels.at(-1);
    if (level !== undefined) level.key = key;
  }

  #takeScalar(value: JsonValue, text: string | undefined): JsonRow | undefined {
    const length = text?.length ?? 0;
    if (length > LIMITS.fieldCharacters) throw fieldTooLarge('A value');
    this.#size.add(length, 1);
    const level = this.#levels.at(-1);
    if (level === undefined) return this.#finish(value);
    put(level, value);
    if (text === undefined) return undefined;
    if (level.row === undefined) this.#values.add(nameBelow(level), text, level.isList);
    else this.#values.addInRow(nameBelow(level), text, level.row);
    return undefined;
  }

  #finish(source: JsonValue): JsonRow {
    const { values, rows } = this.#values;
    this.#values = new RowValues();
    this.#size.reset();
    const isObject = typeof source === 'object' && source !== null && !Array.isArray(source);
    return { source, values, rows, isObject };
  }
}

function put(level: Level, value: JsonValue): void {
  if (Array.isArray(level.container)) level.container.push(value);
  else level.container[level.key] = value;
}

/** An element of a list has the name of the list. */
function nameBelow(level: Level | undefined): string {
  if (level === undefined) return '';
  if (Array.isArray(level.container)) return level.name;
  return level.name === '' ? level.key : `${level.name}.${level.key}`;
}

/** Splits JSON that comes in chunks into tokens. Numbers stay text; no string is longer than a field may be. */
class JsonTokenizer {
  readonly #parse = jsonParser({ packValues: true, streamValues: false });
  #quietCharacters = 0;

  /** @throws FormatProblem damaged, too_large */
  push(chunk: string): readonly Token[] {
    const tokens = this.#run(chunk, 'damaged');
    // An unfinished string makes no token, and must not grow without bound.
    this.#quietCharacters = tokens.length > 0 ? 0 : this.#quietCharacters + chunk.length;
    if (this.#quietCharacters > LIMITS.fieldCharacters) throw fieldTooLarge('A value');
    return tokens;
  }

  /** @throws FormatProblem broken_off */
  end(): readonly Token[] {
    // The parser accepts this value as its end, although its types do not say so.
    return this.#run(none as unknown as string, 'broken_off');
  }

  #run(chunk: string, reason: 'damaged' | 'broken_off'): readonly Token[] {
    try {
      const outcome: unknown = this.#parse(chunk);
      return isMany(outcome) ? (getManyValues(outcome) as Token[]) : [];
    } catch (cause) {
      const text = (cause as Error).message.replace(/^Parser (cannot parse input: |has )?/, '');
      const message = reason === 'damaged' ? `The text is not JSON: ${text}` : 'The JSON ends in the middle';
      throw new FormatProblem(reason, message, { cause });
    }
  }
}

export const ndjson = defineFormat({
  type: 'ndjson',
  label: 'NDJSON',
  description: 'a row is an object on a line of its own; columns as in json',
  options: {},
  mapping: 'needed',
  endings: ['ndjson', 'jsonl'],
  open: ({ decode }) => readNdjson(decode()),
});

/** One object per line; an invalid line is an error of that line only. */
async function* readNdjson(text: TextStream): AsyncGenerator<SourceRow[]> {
  let number = 0;
  /** undefined if it is too long to store. */
  let line: string | undefined = '';

  function keep(part: string): void {
    const isShort = line !== undefined && line.length + part.length <= LIMITS.rowCharacters;
    line = isShort ? line + part : undefined;
  }

  function finish(): SourceRow[] {
    const finished = line?.trim();
    number += 1;
    line = '';
    return finished === '' ? [] : [readLine(number, finished)];
  }

  for await (const chunk of text) {
    const [first = '', ...others] = chunk.split('\n');
    keep(first);
    yield others.flatMap((part) => {
      const rows = finish();
      keep(part);
      return rows;
    });
  }
  yield finish();
}

function readLine(number: number, text: string | undefined): SourceRow {
  if (text === undefined) return broken(number, { code: 'too_large', message: 'the line is too long' });
  try {
    const { source, values, rows, isObject } = readJsonText(text);
    if (isObject) return { number, values, source, ...(rows && { rows }) };
    return broken(number, { code: 'no_object', message: 'the line holds no object' });
  } catch (error) {
    if (!(error instanceof FormatProblem)) throw error;
    const code = error.reason === 'too_large' ? 'too_large' : 'not_json';
    return broken(number, { code, message: error.message });
  }
}

function broken(number: number, problem: RowProblem): SourceRow {
  return { number, values: createColumns(), source: null, problems: [problem] };
}

/** @throws FormatProblem damaged, broken_off, too_large */
function readJsonText(text: string): JsonRow {
  const tokenizer = new JsonTokenizer();
  const builder = new JsonRowBuilder();
  let row: JsonRow | undefined;
  // The builder's errors come before those of a missing end.
  for (const token of tokenizer.push(text)) row = builder.take(token) ?? row;
  for (const token of tokenizer.end()) row = builder.take(token) ?? row;
  if (row === undefined) throw new FormatProblem('broken_off', 'The JSON ends in the middle');
  return row;
}

/** Enough to see how the list begins. */
const HEAD_CHARACTERS = 1_024;

/** Products as an upload has them: `{"products":[…]}`, just the list, or one product per line. They are the `source` of their rows. */
export const native = defineFormat({
  type: 'native',
  label: 'Relata',
  description: 'a product in the shape of an upload, in a JSON list or one a line; takes no mapping',
  options: {},
  mapping: 'none',
  endings: [],
  open: ({ decode, notes }) =>
    readAfterPeek(decode(), HEAD_CHARACTERS, (head, whole) => {
      if (/^\s*\{\s*"products"\s*:/.test(head)) return readJson(whole, notes, 'products');
      return /^\s*\[/.test(head) ? readJson(whole, notes, '$') : readNdjson(whole);
    }),
});
