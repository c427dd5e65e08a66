import { Type } from 'typebox';
import { type ChunkParser, parseText, type TextStream } from '../chunks.ts';
import { defineFormat } from '../format.ts';
import { FormatProblem, LIMITS, tooDeep } from '../format-problem.ts';
import type { ReadingNotes, SourceRow } from '../source-row.ts';
import { type JsonRow, JsonRowBuilder } from './json-object.ts';
import { JsonTokenizer, type Token } from './json-tokens.ts';

export { type JsonRow, JsonRowBuilder } from './json-object.ts';
export { JsonTokenizer } from './json-tokens.ts';

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
  open: ({ decode, notes }, options) => readJson(decode(), notes, options),
});

export interface JsonOptions {
  /** Keys that lead to the list, joined by dots, as `data.products`; default: the first list that holds objects. */
  readonly path?: string | undefined;
}

/** @returns a batch of rows for each chunk of text that ends some */
export function readJson(
  text: TextStream,
  notes: ReadingNotes,
  { path }: JsonOptions = {},
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
    const isAskedFor = this.#path === undefined ? this.#open.length === 1 : this.#path === this.#pathOfLast();
    if (isAskedFor) this.#choose();
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
