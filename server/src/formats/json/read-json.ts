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
