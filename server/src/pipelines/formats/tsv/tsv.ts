import { quote, readCsv } from '../csv/csv.ts';
import { defineFormat, encoding, headerRow } from '../format.ts';

export const tsv = defineFormat({
  type: 'tsv',
  label: 'TSV',
  description: 'a row is a line; columns by the header, separated by tabs',
  options: { quote, encoding, headerRow },
  mapping: 'needed',
  endings: ['tsv'],
  isTable: true,
  open: ({ decode, notes }, options) =>
    readCsv(decode(options.encoding), notes, { ...options, delimiter: '\t' }),
});
