import type { Format } from '../../formats/formats.ts';

export interface SuggestedFormat {
  readonly type: Format['type'];
  readonly reason: string;
}

interface Sign {
  /** Formats that read such a file without knowing what it is. */
  readonly readAs: readonly Format['type'][];
  readonly type: Format['type'];
  readonly columns: readonly RegExp[];
  readonly reason: string;
}

/** Columns that only files of one format have, under the names that the readers of general formats give them. */
const SIGNS: readonly Sign[] = [
  {
    readAs: ['json', 'ndjson'],
    type: 'native',
    columns: [
      /^(products\.)?identifier$/,
      /^(products\.)?(attributes\.key|categories\.path|images\.url|groupIdentifier)$/,
    ],
    reason: 'its lines are products in the upload shape',
  },
  {
    readAs: ['xml'],
    type: 'bmecat',
    columns: [/(^|\.)SUPPLIER_[AP]ID$/, /(^|\.)(ARTICLE|PRODUCT)_(DETAILS|PRICE_DETAILS)\./],
    reason: 'its elements are those of BMEcat',
  },
  {
    readAs: ['csv', 'tsv'],
    type: 'shopify-csv',
    columns: [/^(Handle|URL handle)$/i, /^Option1 Name$/i],
    reason: 'its columns are those of a Shopify export',
  },
  {
    readAs: ['csv', 'tsv'],
    type: 'woocommerce-csv',
    columns: [/^SKU$/, /^Attribute 1 value\(s\)$/],
    reason: 'its columns are those of a WooCommerce export',
  },
];

/** @returns the format that a file is written in, where it was read as a more general one */
export function suggestFormat(type: Format['type'], columns: readonly string[]): SuggestedFormat | undefined {
  const found = SIGNS.find(
    (sign) =>
      sign.readAs.includes(type) && sign.columns.every((one) => columns.some((name) => one.test(name))),
  );
  return found && { type: found.type, reason: found.reason };
}
