/** Writes text with a line per product and a separator between its cells. */
import type { FeedRow } from './feed-row.ts';
import type { RowWriter, WriterOptions } from './output-format.ts';

/** By default, commas separate values and cells. */
interface Dialect {
  join?(values: readonly string[]): string;
  cell?(text: string): string;
  readonly separator?: string;
  readonly related: {
    readonly names: readonly string[];
    cells(row: FeedRow): readonly string[];
    readonly removed?: readonly string[];
  };
}

const NEEDS_QUOTES = /[",\r\n]/;

/** Source: RFC 4180. */
const csvCell = (text: string): string =>
  NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** Tab-separated text has no quotes, so every character that would end a cell becomes a space. */
export const tsvCell = (text: string): string =>
  ENDS_CELL.test(text) ? text.replace(/[\t\r\n]+/g, ' ') : text;

const ENDS_CELL = /[\t\r\n]/;

export function writeDelimited({ columns, identifiedBy }: WriterOptions, dialect: Dialect): RowWriter {
  const { join = (values) => values.join(','), cell = csvCell, separator = ',', related } = dialect;
  const names = [...columns.map(({ name }) => name), ...related.names];
  const write = (values: readonly string[]): string => {
    if (values.length === 0) return '';
    return cell(values.length > 1 ? join(values) : (values[0] as string));
  };
  const line = (cells: string[], ofRelated: readonly string[]) => {
    for (let index = columns.length; index < names.length; index += 1)
      cells.push(cell(ofRelated[index - columns.length] ?? ''));
    return `${cells.join(separator)}\n`;
  };
  const isRetained = columns.map(({ name, isRequired }) => isRequired || name === identifiedBy);
  return {
    head: `${names.map(cell).join(separator)}\n`,
    write: (row) => line(row.values.map(write), related.cells(row)),
    ...(related.removed && {
      remove: ({ values }) =>
        line(
          values.map((cellValues, index) => (isRetained[index] ? write(cellValues) : '')),
          related.removed ?? [],
        ),
    }),
    tail: '',
  };
}
