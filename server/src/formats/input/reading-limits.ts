type FormatReason =
  /** The file is not what its format promises: invalid JSON, an unclosed tag, a zip that is not one. */
  | 'damaged'
  | 'broken_off'
  | 'too_large'
  /** The file is valid, but it contains something that is never read: a DTD, an entity, encryption. */
  | 'refused'
  /** The list, sheet or column that the options name is missing. */
  | 'not_found';

/** Why a file cannot be read further, in words for the owner of the pipeline. */
export class FormatProblem extends Error {
  override readonly name = 'FormatProblem';
  readonly reason: FormatReason;
  /** The line where reading stopped, if the format has lines. */
  readonly line: number | undefined;

  constructor(
    reason: FormatReason,
    message: string,
    { line, cause }: { line?: number | undefined; cause?: unknown } = {},
  ) {
    super(line === undefined ? message : `Line ${line}: ${message}`, { cause });
    this.reason = reason;
    this.line = line;
  }
}

/**
 * How much memory one file may take at a time. An attribute value has at most 65,536 characters, and a product has at
 * most 2,000 values (docs/interface §2.3). Descriptions in HTML are longer before they are mapped.
 */
export const LIMITS = {
  fieldCharacters: 1024 * 1024,
  /** The text of a row with all its fields, and how much text is buffered of a row that does not end. */
  rowCharacters: 8 * 1024 * 1024,
  /** Elements, attributes and values of a row, including empty ones: 150 bytes each, 40 MB together. */
  rowParts: 250_000,
  /** The limit of docs/interface §8, plus the few levels around the list of products. */
  depth: 40,
  columns: 10_000,
} as const;

export const tooLarge = (message: string, line?: number) => new FormatProblem('too_large', message, { line });
const show = (limit: number) => limit.toLocaleString('en');

export const fieldTooLarge = (where: string, line?: number) =>
  tooLarge(`${where} is longer than ${show(LIMITS.fieldCharacters)} characters, the limit`, line);

export const rowTooLarge = (where: string, line?: number) =>
  tooLarge(`${where} is larger than ${show(LIMITS.rowCharacters)} characters, the limit`, line);

export const tooDeep = (where: string, line?: number) =>
  tooLarge(`${where} is nested deeper than ${LIMITS.depth} levels`, line);

export const tooManyColumns = (where: string, line?: number) =>
  tooLarge(`${where} has more than ${show(LIMITS.columns)} columns`, line);

/** Measures one row while it is read: its text, and its parts, which take memory even without text. */
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
    const most = `${show(LIMITS.rowParts)} elements, attributes and values, the limit`;
    throw tooLarge(`${this.#what} has more than ${most}`, line);
  }

  reset(): void {
    this.#characters = 0;
    this.#parts = 0;
  }
}
