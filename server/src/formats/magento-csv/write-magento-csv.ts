import { defineShopList, INSTEAD } from '../output/output.ts';

/**
 * Source: Adobe Commerce, "Product attributes reference" of the import; magento/magento2 2.4,
 * `LinkProcessor::processLinkBunches` of CatalogImportExport. With the behaviour Add/Update, a list adds to the
 * product's links of its kind. Only `__EMPTY__VALUE__` deletes them (since 2.4.3). Among the rows of one SKU, deletions
 * come first.
 */
export const magentoCsv = defineShopList({
  type: 'magento-csv',
  label: 'Magento CSV',
  description: 'a row per product with its sku, and its related, cross-sell and up-sell products',
  identifiedBy: 'sku',
  required: ['sku'],
  suggestions: { sku: { field: 'identifier' } },
  separator: ',',
  emptied: '__EMPTY__VALUE__',
  lists: [
    { column: 'related_skus', as: ['accessory', 'required_part', 'part_of_set'] },
    { column: 'crosssell_skus', as: ['often_bought_with'] },
    { column: 'upsell_skus', as: INSTEAD },
  ],
});
