/** Files for one's own programs: comma-separated text, and one JSON document per line. */

import type { ChannelFormat, FeedRow, RelatedAs, RowWriter, WriterOptions } from './format.ts';

const suggestions = {
  identifier: { field: 'identifier' },
  groupIdentifier: { field: 'groupIdentifier' },
  name: { field: 'name' },
  productUrl: { field: 'productUrl' },
  image: { field: 'image' },
  categories: { field: 'categories' },
};

const shared = { fields: undefined, suggestions, suggestsAttributes: true as const };

/** @returns identifiers of related products of a kind, each once */
export function relatedBy(row: FeedRow, as: RelatedAs): string[] {
  const found = row.related.filter((one) => one.as === as && !one.isReversed);
  return [...new Set(found.flatMap(({ identifiers }) => identifiers))];
}

const REMOVED = 'removed';

const openCsv = (options: WriterOptions) =>
  writeDelimited(options, {
    related: {
      names: options.changes ? [...options.as, REMOVED] : options.as,
      cells: (row) => options.as.map((as) => relatedBy(row, as).join(',')),
      removed: [...options.as.map(() => ''), 'true'],
    },
  });

export const csv: ChannelFormat = {
  ...shared,
  type: 'csv',
  label: 'CSV',
  description: 'a line a product with a header line; several values of a field have commas between',
  defaultVariant: 'csv',
  variants: { csv: { ending: 'csv', mediaType: 'text/csv; charset=utf-8', open: openCsv } },
};

export const ndjson: ChannelFormat = {
  ...shared,
  type: 'ndjson',
  label: 'NDJSON',
  description: 'a JSON object a line; several values of a field are a list',
  defaultVariant: 'ndjson',
  variants: {
    ndjson: {
      ending: 'ndjson',
      mediaType: 'application/x-ndjson; charset=utf-8',
      open({ columns, as, identifiedBy }) {
        const names = columns.map(({ name }) => `${JSON.stringify(name)}:`);
        return {
          head: '',
          tail: '',
          write(row) {
            const parts: string[] = [];
            for (let at = 0; at < names.length; at += 1) {
              const values = row.values[at] as readonly string[];
              if (values.length === 0) continue;
              parts.push(names[at] + JSON.stringify(values.length === 1 ? values[0] : values));
            }
            for (const kind of as) parts.push(`"${kind}":${JSON.stringify(relatedBy(row, kind))}`);
            return `{${parts.join(',')}}\n`;
          },
          remove({ values }) {
            const at = columns.findIndex(({ name }) => name === identifiedBy);
            return `{${names[at]}${JSON.stringify(values[at]?.[0])},"${REMOVED}":true}\n`;
          },
        };
      },
    },
  },
};

/** By default, values and cells are separated by commas. */
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

/** Tab-separated text has no quotes: anything that would end a cell becomes a space. */
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
    for (let at = columns.length; at < names.length; at += 1)
      cells.push(cell(ofRelated[at - columns.length] ?? ''));
    return `${cells.join(separator)}\n`;
  };
  const stays = columns.map(({ name, isRequired }) => isRequired || name === identifiedBy);
  return {
    head: `${names.map(cell).join(separator)}\n`,
    write: (row) => line(row.values.map(write), related.cells(row)),
    ...(related.removed && {
      remove: ({ values }) =>
        line(
          values.map((one, at) => (stays[at] ? write(one) : '')),
          related.removed ?? [],
        ),
    }),
    tail: '',
  };
}
