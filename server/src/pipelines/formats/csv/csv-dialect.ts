import Papa from 'papaparse';
import { FormatProblem } from '../format-problem.ts';
import type { Dialect } from './csv-rows.ts';

export const DELIMITERS = [',', ';', '\t', '|'] as const;

export interface DialectOptions {
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
}

/** How much of a file its delimiter is guessed from. */
export const SAMPLE_CHARACTERS = 64 * 1024;
/** A quote of another kind than " is believed only when it is seen around values again and again. */
const QUOTES_TO_BELIEVE = 4;

/** Finds out how a file is written from its beginning, as far as the owner has not said so. */
export function findDialect(sample: string, options: DialectOptions): Dialect {
  const newline = sample.includes('\n') || !sample.includes('\r') ? '\n' : '\r';
  const delimiter = options.delimiter ?? guessDelimiter(sample, newline);
  const quote = options.quote ?? guessQuote(sample, delimiter);
  if (delimiter !== quote) return { newline, delimiter, quote };
  throw new FormatProblem('refused', `The delimiter and the quote cannot both be ${quote}`);
}

/** The delimiter that splits the first lines most evenly; of those that do so equally well, the one that splits more. */
function guessDelimiter(sample: string, newline: '\n' | '\r'): string {
  const { meta } = Papa.parse(sample, {
    newline,
    preview: 1,
    delimitersToGuess: [...DELIMITERS],
    skipEmptyLines: true,
  });
  return meta.delimiter;
}

function guessQuote(sample: string, delimiter: string): string {
  if (sample.includes('"')) return '"';
  const cells = sample.split(/[\r\n]/).flatMap((line) => line.split(delimiter));
  const quoted = cells.filter((cell) => cell.length > 1 && cell.startsWith("'") && cell.endsWith("'"));
  return quoted.length >= QUOTES_TO_BELIEVE ? "'" : '"';
}

/** Excel's own way to name the delimiter, a first line as `sep=;`. */
const SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** @returns the delimiter named, and how many characters name it */
export function readSeparatorLine(sample: string): { delimiter: string; length: number } | undefined {
  const named = SEPARATOR_LINE.exec(sample);
  return named?.[1] === undefined ? undefined : { delimiter: named[1], length: named[0].length };
}
