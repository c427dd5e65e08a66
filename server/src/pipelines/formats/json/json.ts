import { getManyValues, isMany, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { Type } from 'typebox';
import { type ChunkParser, parseText, readAfterPeek, type TextStream } from '../chunks.ts';
import {
  type Columns,
  type ColumnValue,
  createColumns,
  defineFormat,
  FormatProblem,
  fieldTooLarge,
  LIMITS,
  type ReadingNotes,
  type RowProblem,
  RowSize,
  RowValues,
  type SourceRow,
  tooDeep,
  writePlainNumber,
} from '../format.ts';

export const json = defineFormat({
  type: 'json',
  label: 'JSON',
  description: 'a row is an object of the list; nested values have dotted names, as price.value',
  options: {
    path: Type.Optional(
      Type.String({
        maxLength: 1_000,
        'x-label': 'Path to the list',
        description:
          'keys that lead to the list, as data.products; $ for the root; default: the first list of objects',
      }),
    ),
  },
  mapping: 'needed',
  endings: ['json'],
  open: ({ decode, notes }, options) => readJson(decode(), notes, options.path),
});

/** @returns a batch of rows for each chunk of text that ends some */
export function readJson(
  text: TextStream,
  notes: ReadingNotes,
  path: string | undefined,
): AsyncGenerator<readonly SourceRow[]> {
  return parseText(text, new JsonList(notes, path));
}

interface Container {
  readonly isArray: boolean;
  key: string;
}

/** Finds the list of rows among the tokens of a document and takes the rows out of it. */
class JsonList implements ChunkParser<SourceRow> {
  readonly #tokenizer = new JsonTokenizer();
  readonly #notes: ReadingNotes;
  readonly #path: string | undefined;
  readonly #builder = new JsonRowBuilder();
  /** What is open around the rows, the list included. */
  readonly #open: Container[] = [];
  #state: 'searching' | 'first_element' | 'in_list' | 'behind_list' = 'searching';
  #hasEmptyList = false;
  #count = 0;

  constructor(notes: ReadingNotes, path: string | undefined) {
    this.#notes = notes;
    this.#path = path === '$' ? '' : path;
  }

  /** @throws FormatProblem damaged, too_large */
  push(chunk: string): SourceRow[] {
    try {
      return this.#take(this.#tokenizer.push(chunk));
    } catch (error) {
      throw error instanceof FormatProblem ? this.#locate(error) : error;
    }
  }

  /** The parser knows no lines; a chunk has at most 64 KiB. */
  #locate({ reason, message, cause }: FormatProblem): FormatProblem {
    const where =
      this.#count === 0 ? 'near the beginning' : `soon after row ${this.#count.toLocaleString('en')}`;
    return new FormatProblem(reason, `${message} (${where})`, { cause });
  }

  /** @throws FormatProblem broken_off, not_found */
  end(): SourceRow[] {
    const rows = this.#take(this.#tokenizer.end());
    if (this.#state === 'behind_list' || (this.#path === undefined && this.#hasEmptyList)) return rows;
    const where =
      this.#path === undefined ? 'There is no list of objects' : `There is no list at ${this.#path}`;
    throw new FormatProblem('not_found', where);
  }

  #take(tokens: readonly Token[]): SourceRow[] {
    const rows: SourceRow[] = [];
    for (const token of tokens) {
      const row = this.#isRow(token) ? this.#builder.take(token) : this.#walk(token);
      if (row !== undefined) rows.push(this.#numberRow(row));
    }
    return rows;
  }

  #isRow(token: Token): boolean {
    if (!this.#builder.isEmpty) return true;
    if (this.#state === 'first_element') this.#judge(token);
    return this.#state === 'in_list' && token.name !== 'endArray';
  }

  /** A list is one of objects if its first element is one. */
  #judge(first: Token): void {
    if (first.name === 'endArray') this.#hasEmptyList = true;
    if (first.name === 'startObject') this.#choose();
    else this.#state = 'searching';
  }

  #choose(): void {
    this.#state = 'in_list';
    this.#notes.found.path = this.#pathOfLast();
  }

  #walk(token: Token): undefined {
    if (token.name === 'startObject' || token.name === 'startArray') this.#enter(token.name === 'startArray');
    else if (token.name === 'endObject' || token.name === 'endArray') this.#leave();
    else if (token.name === 'keyValue') this.#setKey(token.value);
  }

  #enter(isArray: boolean): void {
    if (this.#open.length >= LIMITS.depth) throw tooDeep('The document');
    this.#open.push({ isArray, key: '' });
    const isBelowList = this.#open.slice(0, -1).some((container) => container.isArray);
    if (!isArray || isBelowList || this.#state !== 'searching') return;
    // The list at the root is taken whatever it holds, so that an element that is no object is reported.
    const isRequested =
      this.#path === undefined ? this.#open.length === 1 : this.#path === this.#pathOfLast();
    if (isRequested) this.#choose();
    else if (this.#path === undefined) this.#state = 'first_element';
  }

  #leave(): void {
    this.#open.pop();
    if (this.#state === 'in_list') this.#state = 'behind_list';
  }

  #setKey(key: string): void {
    const container = this.#open.at(-1);
    if (container !== undefined) container.key = key;
  }

  #pathOfLast(): string {
    return this.#open
      .slice(0, -1)
      .map(({ key }) => key)
      .join('.');
  }

  #numberRow({ source, values, isObject }: JsonRow): SourceRow {
    this.#count += 1;
    const row = { number: this.#count, values, source };
    return isObject
      ? row
      : { ...row, problems: [{ code: 'no_object', message: 'this element is no object' }] };
  }
}

type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
interface JsonObject extends Columns<JsonValue> {}

interface Level {
  readonly container: JsonValue[] | JsonObject;
  /** Name of the column that the container would be, '' for the row itself. */
  readonly name: string;
  /** Within a list every name may come again. */
  readonly isList: boolean;
  key: string;
}

interface JsonRow {
  readonly source: JsonValue;
  /** Dotted names: `price.value`; the elements of a list stand under one name. Numbers as they are written. */
  readonly values: Columns<ColumnValue>;
  readonly isObject: boolean;
}

/** Builds one row out of tokens: the object itself, and its values by dotted names. */
class JsonRowBuilder {
  readonly #levels: Level[] = [];
  #values = new RowValues();
  readonly #size = new RowSize('A row');

  /**
   * @returns the row when the token ends it
   * @throws FormatProblem too_large
   */
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
    this.#levels.push({ container, name: nameBelow(parent), isList, key: '' });
  }

  #close(): JsonRow | undefined {
    const level = this.#levels.pop();
    if (level === undefined || this.#levels.length > 0) return undefined;
    return this.#finish(level.container);
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
    if (text !== undefined) this.#values.add(nameBelow(level), text, level.isList);
    return undefined;
  }

  #finish(source: JsonValue): JsonRow {
    const { values } = this.#values;
    this.#values = new RowValues();
    this.#size.reset();
    return {
      source,
      values,
      isObject: typeof source === 'object' && source !== null && !Array.isArray(source),
    };
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

/** Splits JSON that comes in chunks into tokens. Numbers keep their text; no string is longer than a field may be. */
class JsonTokenizer {
  readonly #parse = jsonParser({ packValues: true, streamValues: false });
  #quietCharacters = 0;

  /** @throws FormatProblem damaged, too_large */
  push(chunk: string): readonly Token[] {
    const tokens = this.#run(chunk, 'damaged');
    // A string that is not finished makes no token, and must not grow for ever.
    this.#quietCharacters = tokens.length > 0 ? 0 : this.#quietCharacters + chunk.length;
    if (this.#quietCharacters > LIMITS.fieldCharacters) throw fieldTooLarge('A value');
    return tokens;
  }

  /** @throws FormatProblem broken_off */
  end(): readonly Token[] {
    // The parser takes this sign in place of a text; its types do not say so.
    return this.#run(none as unknown as string, 'broken_off');
  }

  #run(chunk: string, reason: 'damaged' | 'broken_off'): readonly Token[] {
    try {
      const outcome: unknown = this.#parse(chunk);
      return isMany(outcome) ? (getManyValues(outcome) as Token[]) : [];
    } catch (cause) {
      const message = reason === 'damaged' ? describe(cause) : 'The JSON ends in the middle';
      throw new FormatProblem(reason, message, { cause });
    }
  }
}

function describe(cause: unknown): string {
  const text =
    cause instanceof Error ? cause.message.replace(/^Parser (cannot parse input: |has )?/, '') : '';
  return `The text is not JSON: ${text}`;
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

/** A line each; a line that is no object is an error of its own and no other's. */
async function* readNdjson(text: TextStream): AsyncGenerator<SourceRow[]> {
  for await (const lines of parseText(text, new LineSplitter())) yield lines.map(readLine);
}

interface Line {
  readonly number: number;
  /** undefined when it was too long to keep. */
  readonly text: string | undefined;
}

class LineSplitter {
  #text = '';
  #number = 1;
  #isTooLong = false;

  push(chunk: string): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      this.#keep(chunk.slice(start, end));
      this.#finish(lines);
      start = end + 1;
    }
    this.#keep(chunk.slice(start));
    return lines;
  }

  end(): Line[] {
    const lines: Line[] = [];
    this.#finish(lines);
    return lines;
  }

  #keep(part: string): void {
    if (this.#text.length + part.length > LIMITS.rowCharacters) this.#isTooLong = true;
    this.#text = this.#isTooLong ? '' : this.#text + part;
  }

  #finish(lines: Line[]): void {
    const text = this.#text.trim();
    if (this.#isTooLong) lines.push({ number: this.#number, text: undefined });
    else if (text !== '') lines.push({ number: this.#number, text });
    this.#text = '';
    this.#isTooLong = false;
    this.#number += 1;
  }
}

function readLine({ number, text }: Line): SourceRow {
  if (text === undefined) return broken(number, { code: 'too_large', message: 'the line is too long' });
  try {
    const { source, values, isObject } = readJsonText(text);
    if (isObject) return { number, values, source };
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
  for (const token of tokenizer.push(text)) row = builder.take(token) ?? row;
  for (const token of tokenizer.end()) row = builder.take(token) ?? row;
  if (row === undefined) throw new FormatProblem('broken_off', 'The JSON ends in the middle');
  return row;
}

export const native = defineFormat({
  type: 'native',
  label: 'Relata',
  description: 'a product in the shape of an upload, in a JSON list or one a line; takes no mapping',
  options: {},
  mapping: 'none',
  endings: [],
  open: ({ decode, notes }) => readNative(decode(), notes),
});

/** Enough to see how the list begins. */
const HEAD_CHARACTERS = 1_024;
const WRAPPED = /^\s*\{\s*"products"\s*:/;
const LIST = /^\s*\[/;

/** Products as an upload takes them: `{"products":[…]}`, the list alone, or a product on each line. They are the `source` of their rows. */
function readNative(text: TextStream, notes: ReadingNotes): AsyncGenerator<readonly SourceRow[]> {
  return readAfterPeek(text, HEAD_CHARACTERS, (head, whole) => {
    if (WRAPPED.test(head)) return readJson(whole, notes, 'products');
    return LIST.test(head) ? readJson(whole, notes, '$') : readNdjson(whole);
  });
}
