import type { RowProblem } from '../source-row.ts';
import type { TextStore } from '../text-store.ts';
import type { XmlElement } from '../xml/xml.ts';
import { type Book, readText, unescapeText } from './xlsx-book.ts';
import { type NumberStyle, writeNumber } from './xlsx-numbers.ts';

export interface Cell {
  /** From 0. */
  readonly column: number;
  /** undefined when there is a problem instead. */
  readonly text: string | undefined;
  readonly problem?: Omit<RowProblem, 'column'>;
}

/** The last column that a sheet can have is XFD. */
const COLUMNS = 16_384;
const NUMBER: NumberStyle = { kind: 'number' };

/** Reads what the cells of a row show. */
export class CellReader {
  readonly #book: Book;
  readonly #texts: TextStore;

  constructor(book: Book, texts: TextStore) {
    this.#book = book;
    this.#texts = texts;
  }

  /** @returns the cells that are not empty */
  readRow(row: XmlElement): Cell[] {
    const cells: Cell[] = [];
    let next = 0;
    for (const element of row.children) {
      const column = readColumn(element.attributes.get('r')) ?? next;
      next = column + 1;
      const read = column < COLUMNS ? this.#readCell(element) : undefined;
      if (typeof read === 'object') cells.push({ column, text: undefined, problem: read });
      else if (read !== undefined && read !== '') cells.push({ column, text: read });
    }
    return cells;
  }

  #readCell(cell: XmlElement): string | Cell['problem'] {
    const type = cell.attributes.get('t') ?? 'n';
    if (type === 'inlineStr') return readPart(cell, 'is', readText);
    const value = readPart(cell, 'v', ({ text }) => text);
    if (value !== undefined) return this.#readValue(value, type, cell);
    return cell.children.some(({ name }) => name === 'f') ? NOT_COMPUTED : undefined;
  }

  #readValue(value: string, type: string, cell: XmlElement): string | Cell['problem'] {
    switch (type) {
      case 's':
        return (
          this.#texts.find(Number(value)) ?? { code: 'cell', message: 'refers to a text that is not there' }
        );
      case 'b':
        return value === '1' ? 'true' : 'false';
      case 'e':
        return { code: 'cell', message: `shows an error: ${value.slice(0, 20)}` };
      case 'n':
        return value === '' ? '' : writeNumber(value.trim(), this.#styleOf(cell), this.#book.startsIn1904);
      default:
        return unescapeText(value);
    }
  }

  #styleOf(cell: XmlElement): NumberStyle {
    return this.#book.styles[Number(cell.attributes.get('s') ?? 0)] ?? NUMBER;
  }
}

const NOT_COMPUTED = {
  code: 'cell',
  message: 'holds a formula without its result. Please open and save the file in a spreadsheet program',
} as const;

function readPart(cell: XmlElement, name: string, read: (part: XmlElement) => string): string | undefined {
  const part = cell.children.find((child) => child.name === name);
  return part === undefined ? undefined : read(part);
}

/** @returns the column of a reference as `BC12`, from 0 */
function readColumn(reference: string | undefined): number | undefined {
  if (reference === undefined) return undefined;
  let column = 0;
  for (let index = 0; index < reference.length && column <= COLUMNS; index += 1) {
    const letter = (reference.charCodeAt(index) | 0x20) - 0x60;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return column === 0 ? undefined : column - 1;
}
