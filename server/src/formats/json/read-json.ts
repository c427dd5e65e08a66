import type { Token } from 'stream-json/core/parser.js';
import { optional } from '../../kernel/optional.ts';
import {
  type ChunkParser,
  defineInputFormat,
  FormatProblem,
  parseText,
  type ReadingNotes,
  type SourceRow,
  type TextStream,
} from '../input/input.ts';
import { Peekable } from '../streams/streams.ts';
import { findList } from './json-list-search.ts';
import { type JsonRow, JsonRowBuilder } from './json-rows.ts';
import { type Container, follow, JsonTokenizer, pathBelow, VALUES } from './json-tokens.ts';

export const json = defineInputFormat({
  type: 'json',
  label: 'JSON',
  description: 'a row is an object of the list; nested values have dotted names, such as price.value',
  options: {
    path: optional.text({
      maxLength: 1_000,
      'x-label': 'Path to the list',
      description:
        'keys that lead to the list, also through other lists, such as data.products; $ for the root; default: the list whose elements look most like products',
    }),
  },
  mapping: 'needed',
  endings: ['json'],
  open: ({ decode, notes }, options) => readJson(decode(), notes, options.path),
});

/**
 * How many characters of a document are searched for its list. The second size applies if the document begins with
 * other data.
 */
const SAMPLES = [1024 * 1024, 16 * 1024 * 1024];

/** @returns a batch of rows for each chunk of text that completes some */
export async function* readJson(
  text: TextStream,
  notes: ReadingNotes,
  path: string | undefined,
): AsyncGenerator<readonly SourceRow[]> {
  await using stream = new Peekable(text);
  let listPath = path === '$' ? '' : path;
  for (const length of listPath === undefined ? SAMPLES : [])
    listPath ??= findList(await stream.peek(length));
  yield* parseText(stream, new JsonList(notes, listPath));
}

/** Makes rows from the tokens of a document. The rows are the elements of the lists at a path. */
class JsonList implements ChunkParser<SourceRow> {
  readonly #notes: ReadingNotes;
  readonly #path: string | undefined;
  readonly #tokenizer = new JsonTokenizer();
  readonly #builder = new JsonRowBuilder();
  /** The open containers around the rows, including the list. */
  readonly #open: Container[] = [];
  #isInList = false;
  #hasList = false;
  /** Whether the document has an empty list, which may be the list of objects. */
  #hasEmptyList = false;
  #lastToken: Token['name'] | undefined;
  #number = 0;

  constructor(notes: ReadingNotes, path: string | undefined) {
    this.#notes = notes;
    this.#path = path;
  }

  /** @throws FormatProblem damaged, too_large */
  push(chunk: string): SourceRow[] {
    try {
      return this.#take(this.#tokenizer.push(chunk));
    } catch (error) {
      if (!(error instanceof FormatProblem)) throw error;
      const { reason, message, cause } = error;
      // The parser has no line numbers. A chunk has at most 64 KiB.
      const count = this.#number;
      const where = count === 0 ? 'near the beginning' : `soon after row ${count.toLocaleString('en')}`;
      throw new FormatProblem(reason, `${message} (${where})`, { cause });
    }
  }

  /** @throws FormatProblem broken_off, not_found */
  end(): SourceRow[] {
    const rows = this.#take(this.#tokenizer.end());
    const path = this.#path;
    if (this.#hasList || (path === undefined && this.#hasEmptyList)) return rows;
    const where = path === undefined ? 'There is no list of objects' : `There is no list at ${path}`;
    throw new FormatProblem('not_found', where);
  }

  #take(tokens: readonly Token[]): SourceRow[] {
    const rows: SourceRow[] = [];
    for (const token of tokens) {
      const isRow = !this.#builder.isEmpty || (this.#isInList && token.name !== 'endArray');
      const row = isRow ? this.#builder.take(token) : this.#walk(token);
      if (row !== undefined) rows.push(this.#numberRow(row));
    }
    return rows;
  }

  /** Processes a token outside the rows. */
  #walk(token: Token): undefined {
    const opened = follow(this.#open, token);
    if (VALUES.has(token.name)) this.#notes.noteUnread(pathBelow(this.#open.at(-1)));
    this.#isInList = opened?.isArray === true && opened.path === this.#path;
    if (this.#isInList) this.#notes.found.path = opened?.path ?? '';
    this.#hasList ||= this.#isInList;
    this.#hasEmptyList ||= token.name === 'endArray' && this.#lastToken === 'startArray';
    this.#lastToken = token.name;
  }

  #numberRow({ source, values, rows, isObject }: JsonRow): SourceRow {
    this.#number += 1;
    const row = { number: this.#number, values, source, ...(rows && { rows }) };
    if (isObject) return row;
    return { ...row, problems: [{ code: 'no_object', message: 'this element is not an object' }] };
  }
}
