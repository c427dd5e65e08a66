/** Files for programs of one's own: text with commas, and a JSON document a line. */
import { csvCell, writeDelimited } from './delimited.ts';
import type { ChannelFormat, FeedRow, RelatedAs, WriterOptions } from './format.ts';

const suggestions = {
  identifier: { field: 'identifier' },
  groupIdentifier: { field: 'groupIdentifier' },
  name: { field: 'name' },
  productUrl: { field: 'productUrl' },
  image: { field: 'image' },
  categories: { field: 'categories' },
};

const shared = {
  fields: undefined,
  suggestions,
  suggestsAttributes: true,
  rowsPerFile: undefined,
  mostRelated: undefined,
  reversed: new Set<RelatedAs>(),
};

/** @returns identifiers of related products by kind, each kind once */
export function relatedBy(row: FeedRow, as: RelatedAs): string[] {
  const found = row.related.filter((one) => one.as === as && !one.isReversed);
  return [...new Set(found.flatMap(({ identifiers }) => identifiers))];
}

const openCsv = (options: WriterOptions) =>
  writeDelimited(options, {
    separator: ',',
    cell: csvCell,
    join: (values) => values.join(','),
    related: {
      names: options.as,
      cells: (row) => options.as.map((as) => relatedBy(row, as).join(',')),
    },
  });

export const csv: ChannelFormat = {
  ...shared,
  type: 'csv',
  label: 'CSV',
  description: 'a line a product with a header line; several values of a field have commas between',
  defaultVariant: 'csv',
  variants: {
    csv: { ending: 'csv', mediaType: 'text/csv; charset=utf-8', compression: 'none', open: openCsv },
  },
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
      compression: 'none',
      open({ columns, as }) {
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
        };
      },
    },
  },
};
