import Papa, { type ParseStepResult } from 'papaparse';
import { FormatProblem, LIMITS, rowTooLarge } from '../format-problem.ts';

export interface Dialect {
  readonly delimiter: string;
  /** '' where the file knows no quotes. */
  readonly quote: string;
  readonly newline: '\n' | '\r';
}

export interface CsvRow {
  /** Where the row begins. */
  readonly line: number;
  readonly fields: readonly string[];
  /** Why the fields cannot be believed. */
  readonly problem?: string;
}

/**
 * A quote that is not closed swallows what follows, up to the end of the file; then reading goes on behind the line that
 * it stands in. What is read twice so may be as much as the file, and this much more.
 */
const READ_TWICE_CHARACTERS = 32 * 1024 * 1024;

/**
 * Splits a text that comes in chunks into rows. The parser works on whole texts, so each chunk is read together with the
 * unfinished row before it; a row that stays unfinished is looked at again only when it has doubled.
 */
export class CsvSplitter {
  readonly #dialect: Dialect;
  #text = '';
  #worthReadingFrom = 0;
  #line: number;
  #readCharacters = 0;
  #readTwiceCharacters = 0;
  /** Within a line that is given up and whose end has not come. */
  #isSkipping = false;

  constructor(dialect: Dialect, firstLine = 1) {
    this.#dialect = dialect;
    this.#line = firstLine;
  }

  /** @throws FormatProblem too_large */
  push(chunk: string): CsvRow[] {
    this.#text += this.#isSkipping ? this.#skipLine(chunk) : chunk;
    this.#readCharacters += chunk.length;
    if (this.#text.length < this.#worthReadingFrom) return [];
    const rows = this.#readAll(false);
    this.#worthReadingFrom = Math.min(this.#text.length * 2, LIMITS.rowCharacters + 1);
    return rows;
  }

  end(): CsvRow[] {
    return this.#readAll(true);
  }

  /** @returns what stands behind the line that is skipped */
  #skipLine(chunk: string): string {
    const end = chunk.indexOf(this.#dialect.newline);
    if (end === -1) return '';
    this.#isSkipping = false;
    this.#line += 1;
    return chunk.slice(end + 1);
  }

  #readAll(isLast: boolean): CsvRow[] {
    const rows: CsvRow[] = [];
    let hasMore = true;
    while (hasMore && this.#text !== '') {
      const pass = new Pass(this.#text, this.#dialect, isLast);
      const outcome = pass.read(this.#line);
      for (const row of outcome.rows) rows.push(row);
      this.#text = this.#text.slice(outcome.consumed);
      this.#line = outcome.line;
      this.#isSkipping = outcome.isCut;
      this.#readTwiceCharacters += outcome.readTwice;
      hasMore = outcome.readTwice > 0;
      this.#checkEffort();
    }
    if (this.#text.length > LIMITS.rowCharacters) throw rowTooLarge('The row', this.#line);
    return rows;
  }

  #checkEffort(): void {
    if (this.#readTwiceCharacters <= this.#readCharacters + READ_TWICE_CHARACTERS) return;
    const message =
      'too many quotes are opened and not closed. If the file has quotes that mean nothing, set "quote" to ""';
    throw new FormatProblem('damaged', message, { line: this.#line });
  }
}

interface PassOutcome {
  readonly rows: readonly CsvRow[];
  readonly consumed: number;
  /** Line behind what was consumed. */
  readonly line: number;
  /** Above 0 when reading has to go on behind a row with a quote that is not closed. */
  readonly readTwice: number;
  /** What was consumed ends within a line that is given up. */
  readonly isCut: boolean;
}

/** One pass of the parser over text that begins with a row. */
class Pass {
  readonly #text: string;
  readonly #dialect: Dialect;
  readonly #isLast: boolean;
  /** The parser drops a byte order mark, as stands between files that were put together, and does not count it. */
  readonly #dropped: number;
  readonly #rows: CsvRow[] = [];
  #consumed = 0;
  #line = 1;
  #readTwice = 0;
  #isCut = false;

  constructor(text: string, dialect: Dialect, isLast: boolean) {
    this.#text = text;
    this.#dialect = dialect;
    this.#isLast = isLast;
    this.#dropped = text.startsWith('\uFEFF') ? 1 : 0;
  }

  read(firstLine: number): PassOutcome {
    this.#line = firstLine;
    const { delimiter, newline, quote } = this.#dialect;
    Papa.parse<string[]>(this.#text, {
      delimiter,
      newline,
      ...(quote === '' ? { fastMode: true } : { quoteChar: quote }),
      step: (result, parser) => {
        if (!this.#hasToStop()) this.#take(result);
        if (this.#hasToStop()) parser.abort();
      },
    });
    return {
      rows: this.#rows,
      consumed: this.#consumed,
      line: this.#line,
      readTwice: this.#readTwice,
      isCut: this.#isCut,
    };
  }

  #hasToStop(): boolean {
    return this.#readTwice > 0 || this.#isCut;
  }

  #take({ data, errors, meta: { cursor } }: ParseStepResult<string[]>): void {
    const start = this.#consumed;
    const end = cursor + this.#dropped;
    if (end === start || cursor === 0) return;
    const open = errors.find(({ code }) => code === 'MissingQuotes');
    const isEnded = this.#text.endsWith(this.#dialect.newline, end) && open === undefined;
    const isHopeless = open !== undefined && cursor - (open.index ?? 0) > LIMITS.fieldCharacters;
    if (!isEnded && !this.#isLast && !isHopeless) return;
    if (errors.length > 0) this.#giveUpLine(end, open !== undefined);
    else this.#finishRow(end, dropReturn(data, this.#text.slice(start, end), this.#dialect.quote));
  }

  #finishRow(end: number, fields: readonly string[], problem?: string): void {
    this.#rows.push(
      problem === undefined ? { line: this.#line, fields } : { line: this.#line, fields, problem },
    );
    this.#line += this.#countLines(this.#consumed, end);
    this.#consumed = end;
  }

  /** Only the line with the broken quote is given up: the rows behind it are most likely sound. */
  #giveUpLine(end: number, isOpen: boolean): void {
    const lineEnd = this.#text.indexOf(this.#dialect.newline, this.#consumed);
    this.#isCut = lineEnd === -1 && !this.#isLast;
    const next = lineEnd === -1 || lineEnd >= end ? end : lineEnd + 1;
    const { quote } = this.#dialect;
    const problem =
      isOpen || next < end
        ? `a quote (${quote}) is opened and not closed`
        : `a quote (${quote}) stands within a quoted value; it has to be written twice`;
    this.#finishRow(next, [], problem);
    this.#readTwice = end - next;
  }

  #countLines(start: number, end: number): number {
    let count = 0;
    let at = this.#text.indexOf(this.#dialect.newline, start);
    while (at !== -1 && at < end) {
      count += 1;
      at = this.#text.indexOf(this.#dialect.newline, at + 1);
    }
    return count;
  }
}

/** Lines may end in \r\n: the \r belongs to the line's end, unless it is the last character of a quoted value. */
function dropReturn(fields: string[], row: string, quote: string): string[] {
  const last = fields.at(-1);
  if (last === undefined || !last.endsWith('\r')) return fields;
  const lineEnd = row.endsWith('\n') ? '\r\n' : '\r';
  const quoted = `${quote}${last.replaceAll(quote, quote + quote)}${quote}`;
  if (!row.endsWith(lineEnd) || (quote !== '' && row.endsWith(quoted + lineEnd))) return fields;
  fields[fields.length - 1] = last.slice(0, -1);
  return fields;
}
