import { defineShopList, GOES_WITH, INSTEAD } from '../output/output.ts';

const SHOPIFY = 'product.metafields.shopify--discovery--product_recommendation';

/** Source: Shopify Help Center, "Using CSV files to import and export products", columns of metafields. */
export const shopifyCsv = defineShopList({
  type: 'shopify-csv',
  label: 'Shopify CSV',
  description:
    'a row per group, which is a product of Shopify, with its Handle; complementary and related products are the metafields of Search & Discovery',
  identifiedBy: 'Handle',
  identity: 'groupIdentifier',
  required: ['Handle', 'Title'],
  suggestions: { Handle: { field: 'groupIdentifier' }, Title: { field: 'name' } },
  separator: '; ',
  lists: [
    { column: `Complementary products (${SHOPIFY}.complementary_products)`, as: GOES_WITH },
    { column: `Related products (${SHOPIFY}.related_products)`, as: INSTEAD },
  ],
});
