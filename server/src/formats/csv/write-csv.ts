import {
  type OutputFormat,
  PLAIN_FORMAT,
  REMOVED,
  relatedBy,
  type WriterOptions,
  writeDelimited,
} from '../output/output.ts';

const openCsv = (options: WriterOptions) =>
  writeDelimited(options, {
    related: {
      names: options.changes ? [...options.as, REMOVED] : options.as,
      cells: (row) => options.as.map((as) => relatedBy(row, as).join(',')),
      removed: [...options.as.map(() => ''), 'true'],
    },
  });

export const csv: OutputFormat = {
  ...PLAIN_FORMAT,
  type: 'csv',
  label: 'CSV',
  description: 'a header line, then one line per product; several values of a field are separated by commas',
  defaultVariant: 'csv',
  variants: { csv: { ending: 'csv', mediaType: 'text/csv; charset=utf-8', open: openCsv } },
};
