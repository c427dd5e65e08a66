/** Text with commas or tabs. Pure. */
import type { FeedRow, RowWriter, WriterOptions } from './format.ts';

interface Dialect {
  /** A cell of several values. */
  join(values: readonly string[]): string;
  cell(text: string): string;
  readonly separator: string;
  /** Cells of related products with the names of their columns. */
  readonly related: RelatedColumns;
}

export interface RelatedColumns {
  readonly names: readonly string[];
  cells(row: FeedRow): readonly string[];
}

const NEEDS_QUOTES = /[",\r\n]/;

/** Source: RFC 4180. */
export const csvCell = (text: string): string =>
  NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** Text with tabs has no quotes: what would end a cell becomes a space. */
export const tsvCell = (text: string): string => text.replace(/[\t\r\n]+/g, ' ');

export function writeDelimited({ columns }: WriterOptions, dialect: Dialect): RowWriter {
  const { join, cell, separator, related } = dialect;
  const names = [...columns.map(({ name }) => name), ...related.names];
  const write = (values: readonly string[]): string => {
    if (values.length === 0) return '';
    return cell(values.length > 1 ? join(values) : (values[0] as string));
  };
  return {
    head: `${names.map(cell).join(separator)}\n`,
    write(row) {
      const cells = row.values.map(write);
      for (const text of related.cells(row)) cells.push(cell(text));
      return `${cells.join(separator)}\n`;
    },
    tail: '',
  };
}
