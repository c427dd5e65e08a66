/** Names of today's template by the ones that exports have had for years, which stand for both here. */
const NAMES = new Map(
  Object.entries({
    'url handle': 'Handle',
    description: 'Body (HTML)',
    'product category': 'Product Category',
    'published on online store': 'Published',
    sku: 'Variant SKU',
    barcode: 'Variant Barcode',
    price: 'Variant Price',
    'compare-at price': 'Variant Compare At Price',
    'charge tax': 'Variant Taxable',
    'tax code': 'Variant Tax Code',
    'inventory tracker': 'Variant Inventory Tracker',
    'inventory quantity': 'Variant Inventory Qty',
    'continue selling when out of stock': 'Variant Inventory Policy',
    'weight value (grams)': 'Variant Grams',
    'weight unit for display': 'Variant Weight Unit',
    'requires shipping': 'Variant Requires Shipping',
    'fulfillment service': 'Variant Fulfillment Service',
    'product image url': 'Image Src',
    'image source': 'Image Src',
    'image position': 'Image Position',
    'image alt text': 'Image Alt Text',
    'variant image url': 'Variant Image',
    'variant image': 'Variant Image',
    'gift card': 'Gift Card',
    'seo title': 'SEO Title',
    'seo description': 'SEO Description',
    'option1 name': 'Option1 Name',
    'option1 value': 'Option1 Value',
    'option1 linked to': 'Option1 Linked To',
    'option2 name': 'Option2 Name',
    'option2 value': 'Option2 Value',
    'option2 linked to': 'Option2 Linked To',
    'option3 name': 'Option3 Name',
    'option3 value': 'Option3 Value',
    'option3 linked to': 'Option3 Linked To',
  }),
);

export function toShopifyName(name: string): string {
  return NAMES.get(name.toLowerCase()) ?? name;
}

/** Columns that belong to a variant: a row without them takes nothing over from the product's first row. */
const OF_VARIANT = /^(Variant |Option[123] |Cost per item$|Unit price |Price \/ |Compare[- ]At Price \/ )/i;
const OF_IMAGE = new Set(['Image Src', 'Image Position', 'Image Alt Text', 'Variant Image']);

export type ShopifyPart = 'product' | 'variant' | 'image';

export function partOf(name: string): ShopifyPart {
  if (OF_IMAGE.has(name)) return 'image';
  return OF_VARIANT.test(name) ? 'variant' : 'product';
}
