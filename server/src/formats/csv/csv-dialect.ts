import Papa from 'papaparse';
import { FormatProblem } from '../input/input.ts';

export interface CsvOptions {
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
  readonly headerRow?: number | undefined;
}

export const DELIMITERS = [',', ';', '\t', '|'] as const;

export interface CsvDialect {
  readonly delimiter: string;
  /** '' if the file uses no quotes. */
  readonly quote: string;
  readonly newline: '\n' | '\r';
}

/** The number of characters at the beginning of a file from which its dialect is guessed. */
export const SAMPLE_CHARACTERS = 64 * 1024;
/** Quotes other than " are only accepted if they surround at least this many values. */
const QUOTES_TO_BELIEVE = 4;

/** Detects from the beginning of a file how it is written, unless the owner has specified it. */
export function findDialect(sample: string, options: CsvOptions): CsvDialect {
  const newline = sample.includes('\n') || !sample.includes('\r') ? '\n' : '\r';
  const delimiter = options.delimiter ?? guessDelimiter(sample, newline);
  const quote = options.quote ?? guessQuote(sample, delimiter);
  if (delimiter !== quote) return { newline, delimiter, quote };
  throw new FormatProblem('refused', `The delimiter and the quote cannot both be ${quote}`);
}

/**
 * Guesses the delimiter that splits the first lines most evenly. Of two equal ones, it takes the one that splits more.
 */
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

/** Excel can name the delimiter in a first line such as `sep=;`. */
const SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** @returns the named delimiter, and the length of the line that names it */
export function readSeparatorLine(sample: string): { delimiter: string; length: number } | undefined {
  const named = SEPARATOR_LINE.exec(sample);
  return named?.[1] === undefined ? undefined : { delimiter: named[1], length: named[0].length };
}
