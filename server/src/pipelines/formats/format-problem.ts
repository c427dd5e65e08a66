export type FormatReason =
  /** Not what the format says: no JSON, a tag that is not closed, a zip that is none. */
  | 'damaged'
  /** Ends in the middle. */
  | 'broken_off'
  | 'too_large'
  /** Well made, but with something that is never read: a DTD, an entity, an encryption. */
  | 'refused'
  /** The list, the sheet or the column that was asked for is not there. */
  | 'not_found';

/** Why a file cannot be read any further, in words for the owner of the pipeline. */
export class FormatProblem extends Error {
  override readonly name = 'FormatProblem';
  readonly reason: FormatReason;
  /** Where reading stopped, where the format has lines. */
  readonly line: number | undefined;

  constructor(
    reason: FormatReason,
    message: string,
    { line, cause }: { line?: number; cause?: unknown } = {},
  ) {
    super(line === undefined ? message : `Line ${line}: ${message}`, { cause });
    this.reason = reason;
    this.line = line;
  }
}

/**
 * What one file may make the service hold at a time. An attribute value has at most 65,536 characters and a product at
 * most 2,000 of them (docs/interface.md §2.3); descriptions in HTML are longer before they are mapped.
 */
export const LIMITS = {
  fieldCharacters: 1024 * 1024,
  /** The text of a row with all its fields; also what is kept of a row that does not end. */
  rowCharacters: 8 * 1024 * 1024,
  /** Elements, attributes and values of a row, empty ones too: 150 bytes each, 40 MB in all. */
  rowParts: 250_000,
  /** As in docs/interface.md §8, and the few levels that lead to the list of products. */
  depth: 40,
  columns: 10_000,
} as const;

export function fieldTooLarge(where: string, line?: number): FormatProblem {
  const most = LIMITS.fieldCharacters.toLocaleString('en');
  return new FormatProblem('too_large', `${where} is longer than ${most} characters, the limit`, at(line));
}

export function rowTooLarge(where: string, line?: number): FormatProblem {
  const most = LIMITS.rowCharacters.toLocaleString('en');
  return new FormatProblem('too_large', `${where} is larger than ${most} characters, the limit`, at(line));
}

/** Weighs one row while it is read: its text, and the parts that cost memory without text. */
export class RowSize {
  readonly #what: string;
  #characters = 0;
  #parts = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** @throws FormatProblem too_large */
  add(characters: number, parts: number, line?: number): void {
    this.#characters += characters;
    this.#parts += parts;
    if (this.#characters > LIMITS.rowCharacters) throw rowTooLarge(this.#what, line);
    if (this.#parts <= LIMITS.rowParts) return;
    const most = `${LIMITS.rowParts.toLocaleString('en')} elements, attributes and values, the limit`;
    throw new FormatProblem('too_large', `${this.#what} has more than ${most}`, at(line));
  }

  reset(): void {
    this.#characters = 0;
    this.#parts = 0;
  }
}

export function tooDeep(where: string, line?: number): FormatProblem {
  return new FormatProblem('too_large', `${where} is nested deeper than ${LIMITS.depth} levels`, at(line));
}

export function tooManyColumns(where: string, line?: number): FormatProblem {
  const most = LIMITS.columns.toLocaleString('en');
  return new FormatProblem('too_large', `${where} has more than ${most} columns`, at(line));
}

const at = (line: number | undefined) => (line === undefined ? {} : { line });
