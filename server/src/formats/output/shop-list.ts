/** Files that shops can import themselves. They list the products that a shop shows beside a product. */

import { writeDelimited } from './delimited.ts';
import { type FeedRow, type RelatedAs, relatedBy } from './feed-row.ts';
import { required, text } from './fields.ts';
import type { OutputFormat } from './output-format.ts';

interface ShopDialect
  extends Pick<OutputFormat, 'type' | 'label' | 'description' | 'identity' | 'suggestions'> {
  readonly identifiedBy: string;
  readonly required: readonly string[];
  readonly separator: string;
  readonly lists: readonly { readonly column: string; readonly as: readonly RelatedAs[] }[];
  /**
   * A cell that empties a list. Only needed if an empty cell leaves the list unchanged and any other cell adds to it.
   */
  readonly emptied?: string;
}

export const GOES_WITH: readonly RelatedAs[] = [
  'accessory',
  'required_part',
  'often_bought_with',
  'part_of_set',
];

export function defineShopList(dialect: ShopDialect): OutputFormat {
  const { required: names, separator, lists, emptied = '', ...record } = dialect;
  const sign = separator.trim();
  return {
    ...record,
    fields: names.map((name) => required(text(name))),
    takesOthers: true,
    // Shops split a list at every separator, even inside quotes.
    relatedIdentifier: new RegExp(`^[^${sign}]+$`),
    defaultVariant: 'csv',
    variants: {
      csv: {
        ending: 'csv',
        mediaType: 'text/csv; charset=utf-8',
        open(options) {
          const writer = writeDelimited(options, {
            join: (values) => values.join(', '),
            related: {
              names: lists.map(({ column }) => column),
              cells: (row) =>
                lists.map(({ as }) => {
                  const list = [...new Set(as.flatMap((kind) => relatedBy(row, kind)))].join(separator);
                  return list === '' && options.changes ? emptied : list;
                }),
              removed: lists.map(() => emptied),
            },
          });
          if (emptied === '' || !options.changes) return writer;
          // A shop removes products from a list only by clearing the whole list, so a separate row clears it first.
          const write = (row: FeedRow) =>
            (row.related.length > 0 ? writer.remove?.(row) : '') + writer.write(row);
          return { ...writer, write };
        },
      },
    },
  };
}
