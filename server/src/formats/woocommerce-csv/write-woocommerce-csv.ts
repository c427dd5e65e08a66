import { defineShopList, GOES_WITH, INSTEAD } from '../output/output.ts';

/** Source: WooCommerce, "Product CSV Importer and Exporter", the schema of its columns. */
export const woocommerceCsv = defineShopList({
  type: 'woocommerce-csv',
  label: 'WooCommerce CSV',
  description: 'a row per product with its SKU, and its cross-sells and upsells by SKU',
  identifiedBy: 'SKU',
  required: ['SKU'],
  suggestions: { SKU: { field: 'identifier' }, Name: { field: 'name' } },
  separator: ', ',
  lists: [
    { column: 'Cross-sells', as: GOES_WITH },
    { column: 'Upsells', as: INSTEAD },
  ],
});
