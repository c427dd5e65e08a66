import {
  createColumns,
  defineInputFormat,
  FormatProblem,
  LIMITS,
  type RowProblem,
  type SourceRow,
  type TextStream,
} from '../input/input.ts';
import { type JsonRow, JsonRowBuilder } from './json-rows.ts';
import { JsonTokenizer } from './json-tokens.ts';

export const ndjson = defineInputFormat({
  type: 'ndjson',
  label: 'NDJSON',
  description: 'a row is an object on its own line; columns are named as in json',
  options: {},
  mapping: 'needed',
  endings: ['ndjson', 'jsonl'],
  open: ({ decode }) => readNdjson(decode()),
});

/** Reads one object per line. An invalid line is an error of that line only. */
export async function* readNdjson(text: TextStream): AsyncGenerator<SourceRow[]> {
  let number = 0;
  /** The current line; undefined if it is too long to store. */
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
    return broken(number, { code: 'no_object', message: 'the line does not contain an object' });
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
  // Errors of the builder precede the error of a missing end.
  for (const token of tokenizer.push(text)) row = builder.take(token) ?? row;
  for (const token of tokenizer.end()) row = builder.take(token) ?? row;
  if (row === undefined) throw new FormatProblem('broken_off', 'The JSON ends in the middle');
  return row;
}
