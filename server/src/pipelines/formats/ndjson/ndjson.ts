import { parseText, type TextStream } from '../chunks.ts';
import { defineFormat } from '../format.ts';
import { FormatProblem, LIMITS } from '../format-problem.ts';
import { type JsonRow, JsonRowBuilder, JsonTokenizer } from '../json/json.ts';
import { createColumns, type RowProblem, type SourceRow } from '../source-row.ts';

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
export async function* readNdjson(text: TextStream): AsyncGenerator<SourceRow[]> {
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
