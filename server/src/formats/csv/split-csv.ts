import { type ChunkParser, FormatProblem, LIMITS, rowTooLarge } from '../input/input.ts';
import type { CsvDialect } from './csv-dialect.ts';
import { type CsvCells, CsvRowReader } from './csv-row-reader.ts';

export interface CsvRow extends CsvCells {
  /** The line where the row begins. */
  readonly number: number;
}

/**
 * An unclosed quote swallows everything up to the end of the file. Reading then resumes after the line that contains
 * the quote. The text that is read twice for this reason may be as long as the file, plus this length.
 */
const READ_TWICE_CHARACTERS = 32 * 1024 * 1024;
const TOO_MANY_QUOTES =
  'too many quotes are opened and not closed. If quotes have no special meaning in the file, set "quote" to ""';

/** Splits text that arrives in chunks into rows. An unfinished row is read again only when the text has doubled. */
export function splitCsv(dialect: CsvDialect, firstLine = 1): ChunkParser<CsvRow> {
  const { newline } = dialect;
  const reader = new CsvRowReader(dialect);
  let text = '';
  let worthReadingFrom = 0;
  let line = firstLine;
  let readTwiceRoom = READ_TWICE_CHARACTERS;
  /** Whether reading is inside an abandoned line whose end has not arrived. */
  let isSkipping = false;

  /** @returns the text after the skipped line */
  function skipLine(chunk: string): string {
    const end = chunk.indexOf(newline);
    if (end === -1) return '';
    isSkipping = false;
    line += 1;
    return chunk.slice(end + 1);
  }

  function countLines(start: number, end: number): number {
    let count = 0;
    for (
      let lineEnd = text.indexOf(newline, start);
      lineEnd !== -1 && lineEnd < end;
      lineEnd = text.indexOf(newline, lineEnd + 1)
    )
      count += 1;
    return count;
  }

  function readAll(isLast: boolean): CsvRow[] {
    const rows: CsvRow[] = [];
    let start = 0;
    for (let row = reader.read(text, 0, isLast); row !== undefined; row = reader.read(text, start, isLast)) {
      const { cells, end, problem, readTwice = 0 } = row;
      rows.push({ number: line, cells, problem });
      line += countLines(start, end);
      readTwiceRoom -= readTwice;
      if (readTwiceRoom < 0) throw new FormatProblem('damaged', TOO_MANY_QUOTES, { line });
      isSkipping = problem !== undefined && !isLast && !text.endsWith(newline, end);
      start = end;
    }
    text = text.slice(start);
    if (text.length > LIMITS.rowCharacters) throw rowTooLarge('The row', line);
    return rows;
  }

  return {
    /** @throws FormatProblem damaged, too_large */
    push(chunk) {
      text += isSkipping ? skipLine(chunk) : chunk;
      readTwiceRoom += chunk.length;
      if (text.length < worthReadingFrom) return [];
      const rows = readAll(false);
      worthReadingFrom = Math.min(text.length * 2, LIMITS.rowCharacters + 1);
      return rows;
    },
    end: () => readAll(true),
  };
}
