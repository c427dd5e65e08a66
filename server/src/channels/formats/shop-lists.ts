import { type ChannelFormat, type FeedRow, INSTEAD, type RelatedAs, required, text } from './format.ts';
import { relatedBy, writeDelimited } from './plain-formats.ts';

/** Files that shops can import themselves, with the lists of products shown beside a product. */

interface ShopDialect
  extends Pick<ChannelFormat, 'type' | 'label' | 'description' | 'identity' | 'suggestions'> {
  readonly identifiedBy: string;
  readonly required: readonly string[];
  readonly separator: string;
  readonly lists: readonly { readonly column: string; readonly as: readonly RelatedAs[] }[];
  /** A cell that empties a list, if an empty one leaves it unchanged and any other only adds to it. */
  readonly emptied?: string;
}

const GOES_WITH: readonly RelatedAs[] = ['accessory', 'required_part', 'often_bought_with', 'part_of_set'];

function defineShopList(dialect: ShopDialect): ChannelFormat {
  const { required: names, separator, lists, emptied = '', ...record } = dialect;
  const sign = separator.trim();
  return {
    ...record,
    fields: names.map((name) => required(text(name))),
    takesOthers: true,
    // Shops split a list at every separator, whatever surrounds it.
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
                  const list = [...new Set(as.flatMap((one) => relatedBy(row, one)))].join(separator);
                  return list === '' && options.changes ? emptied : list;
                }),
              removed: lists.map(() => emptied),
            },
          });
          if (emptied === '' || !options.changes) return writer;
          // Products no longer in a list only disappear with the whole list, which a separate row clears first.
          const write = (row: FeedRow) =>
            (row.related.length > 0 ? writer.remove?.(row) : '') + writer.write(row);
          return { ...writer, write };
        },
      },
    },
  };
}

const SHOPIFY = 'product.metafields.shopify--discovery--product_recommendation';

/** Source: Shopify Help Center, "Using CSV files to import and export products", columns of metafields. */
export const shopifyCsv = defineShopList({
  type: 'shopify-csv',
  label: 'Shopify CSV',
  description:
    'a row a group, which is a product of Shopify, by its Handle; complementary and related products as the metafields of Search & Discovery',
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

/** Source: WooCommerce, "Product CSV Importer and Exporter", the schema of its columns. */
export const woocommerceCsv = defineShopList({
  type: 'woocommerce-csv',
  label: 'WooCommerce CSV',
  description: 'a row a product by its SKU, with its cross-sells and upsells by SKU',
  identifiedBy: 'SKU',
  required: ['SKU'],
  suggestions: { SKU: { field: 'identifier' }, Name: { field: 'name' } },
  separator: ', ',
  lists: [
    { column: 'Cross-sells', as: GOES_WITH },
    { column: 'Upsells', as: INSTEAD },
  ],
});

/**
 * Source: Adobe Commerce, "Product attributes reference" of the import; magento/magento2 2.4,
 * `LinkProcessor::processLinkBunches` of CatalogImportExport. With the behaviour Add/Update a list adds to the product's
 * links of its kind, only `__EMPTY__VALUE__` deletes them (since 2.4.3), and among rows of one SKU deletions come first.
 */
export const magentoCsv = defineShopList({
  type: 'magento-csv',
  label: 'Magento CSV',
  description: 'a row a product by its sku, with its related, cross-sell and up-sell products',
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
