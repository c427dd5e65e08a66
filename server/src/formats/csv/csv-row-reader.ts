import { LIMITS } from '../input/input.ts';
import type { CsvDialect } from './csv-dialect.ts';

export interface CsvCells {
  readonly cells: readonly string[];
  /** Why the cells are unreliable. */
  readonly problem?: string | undefined;
}

interface ReadRow extends CsvCells {
  /** Where the next row begins. */
  readonly end: number;
  /** The number of characters of later rows that were read as part of this row. */
  readonly readTwice?: number;
}

interface ReadCell {
  readonly value: string;
  /** The position after the delimiter or the end of the line. */
  readonly end: number;
  /** The character that ends the cell; undefined at the end of the text. */
  readonly sign: string | undefined;
  /** A quote is not closed, or it is inside a quoted value and not doubled. */
  readonly isBroken?: boolean;
  readonly isOpen?: boolean;
}

/** Reads the row at a position of a text. */
export class CsvRowReader {
  readonly #dialect: CsvDialect;
  readonly #plainEnd: RegExp;
  /** Some programs write spaces after a closing quote. */
  readonly #quotedEnd: RegExp;

  constructor(dialect: CsvDialect) {
    const sign = `${RegExp.escape(dialect.delimiter)}|${dialect.newline}`;
    this.#dialect = dialect;
    this.#plainEnd = new RegExp(`(${sign})|$`, 'g');
    this.#quotedEnd = new RegExp(`(?:(?!${sign})\\s)*(${sign})|$`, 'y');
  }

  /** @returns undefined if the row may be incomplete, or if the text has no further row */
  read(text: string, position: number, isLast: boolean): ReadRow | undefined {
    if (position === text.length) return undefined;
    const { delimiter, quote } = this.#dialect;
    // A byte order mark may occur between files that were concatenated.
    const start = text[position] === '\uFEFF' ? position + 1 : position;
    const lineEnd = this.#findLineEnd(text, start);
    const line = text.slice(start, lineEnd);
    if (quote !== '' && line.includes(quote)) return this.#readQuotedRow(text, start, isLast);
    if (lineEnd === text.length && !isLast) return undefined;
    return { cells: this.#withoutReturn(line).split(delimiter), end: Math.min(lineEnd + 1, text.length) };
  }

  #readQuotedRow(text: string, start: number, isLast: boolean): ReadRow | undefined {
    const { delimiter, quote } = this.#dialect;
    const cells: string[] = [];
    let isBroken = false;
    let position = start;
    let cell: ReadCell;
    do {
      const isQuoted = text.startsWith(quote, position);
      cell = isQuoted ? this.#readQuoted(text, position + 1) : this.#readPlain(text, position);
      cells.push(cell.value);
      isBroken ||= cell.isBroken === true;
      position = cell.end;
    } while (cell.sign === delimiter);
    if (cell.sign === undefined && !isLast) return undefined;
    return isBroken ? this.#abandonLine(text, start, cell) : { cells, end: position };
  }

  #readPlain(text: string, start: number): ReadCell {
    this.#plainEnd.lastIndex = start;
    const [, sign] = this.#plainEnd.exec(text) ?? [];
    const end = this.#plainEnd.lastIndex;
    const value = text.slice(start, end - (sign?.length ?? 0));
    return {
      value: sign === this.#dialect.delimiter ? value : this.#withoutReturn(value),
      end,
      sign,
    };
  }

  #readQuoted(text: string, start: number): ReadCell {
    const { newline, quote } = this.#dialect;
    let isBroken = false;
    for (let close = text.indexOf(quote, start); close !== -1; close = text.indexOf(quote, close + 1)) {
      if (text[close + 1] === quote) {
        close += 1;
        continue;
      }
      this.#quotedEnd.lastIndex = close + 1;
      const ending = this.#quotedEnd.exec(text);
      if (ending !== null) {
        const value = text.slice(start, close).replaceAll(quote + quote, quote);
        return { value, end: this.#quotedEnd.lastIndex, sign: ending[1], isBroken };
      }
      isBroken = true;
    }
    // Abandons a value that is too long before its end.
    const sign = text.length - start > LIMITS.fieldCharacters ? newline : undefined;
    return { value: '', end: text.length, sign, isBroken: true, isOpen: true };
  }

  /** Abandons only the line with the broken quote, because the rows after it are most likely valid. */
  #abandonLine(text: string, start: number, { end, isOpen }: ReadCell): ReadRow {
    const { quote } = this.#dialect;
    const next = Math.min(this.#findLineEnd(text, start) + 1, end);
    const problem =
      isOpen || next < end
        ? `a quote (${quote}) is opened and not closed`
        : `a quote (${quote}) inside a quoted value is not doubled; write it twice`;
    return { cells: [], end: next, problem, readTwice: end - next };
  }

  /** @returns the position of the end of the line, or of the text */
  #findLineEnd(text: string, start: number): number {
    const end = text.indexOf(this.#dialect.newline, start);
    return end === -1 ? text.length : end;
  }

  /** Lines may end in \r\n. */
  #withoutReturn(text: string): string {
    return this.#dialect.newline === '\n' && text.endsWith('\r') ? text.slice(0, -1) : text;
  }
}
