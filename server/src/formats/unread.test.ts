// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAll } from '../../test/support/formats/format-reading.ts';
import type { InputFormatSettings } from './input-formats.ts';

const BMECAT = `<BMECAT version="2005"><T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>W-1</SUPPLIER_PID>
  <PRODUCT_DETAILS><DESCRIPTION_SHORT>a</DESCRIPTION_SHORT><KEYWORD>b</KEYWORD></PRODUCT_DETAILS>
  <PRODUCT_FEATURES><REFERENCE_FEATURE_SYSTEM_NAME>ECLASS</REFERENCE_FEATURE_SYSTEM_NAME><REFERENCE_FEATURE_GROUP_ID>1</REFERENCE_FEATURE_GROUP_ID>
    <FEATURE_GROUP><FEATURE_GROUP_ID>1</FEATURE_GROUP_ID><FEATURE><FNAME>c</FNAME><FVALUE>d</FVALUE><FUNIT>mm</FUNIT><FORDER>1</FORDER></FEATURE></FEATURE_GROUP>
    <FEATURE><FTEMPLATE><FT_NAME>e</FT_NAME></FTEMPLATE><VALUE_IDREF>f</VALUE_IDREF><FVALUE_DETAILS>g</FVALUE_DETAILS></FEATURE>
    <FEATURE><FNAME>h</FNAME><VARIANTS><VARIANT><FVALUE>i</FVALUE><SUPPLIER_AID_SUPPLEMENT>j</SUPPLIER_AID_SUPPLEMENT></VARIANT></VARIANTS></FEATURE>
  </PRODUCT_FEATURES>
  <PRODUCT_PRICE_DETAILS><DATETIME><DATE>k</DATE></DATETIME><PRODUCT_PRICE><PRICE_AMOUNT>1</PRICE_AMOUNT><PRICE_CURRENCY>EUR</PRICE_CURRENCY><TAX>2</TAX><LOWER_BOUND>1</LOWER_BOUND></PRODUCT_PRICE></PRODUCT_PRICE_DETAILS>
  <MIME_INFO><MIME><MIME_TYPE>image/png</MIME_TYPE><MIME_SOURCE>l.png</MIME_SOURCE><MIME_PURPOSE>normal</MIME_PURPOSE><MIME_ORDER>1</MIME_ORDER></MIME></MIME_INFO>
  <USER_DEFINED_EXTENSIONS><UDX.A>m</UDX.A></USER_DEFINED_EXTENSIONS>
  <PRODUCT_REFERENCE type="similar"><PROD_ID_TO>n</PROD_ID_TO></PRODUCT_REFERENCE>
</PRODUCT><AREA><AREA_ID>o</AREA_ID></AREA></T_NEW_CATALOG></BMECAT>`;

const RSS = `<rss><channel><title>shop</title><webMaster>w</webMaster><item><g:id xmlns:g="x">1</g:id><title>a</title><link>b</link>
  <g:shipping xmlns:g="x"><g:price>c</g:price></g:shipping>
  <product_detail><section_name>d</section_name><attribute_name>e</attribute_name><attribute_value>f</attribute_value></product_detail></item></channel></rss>`;

const XML =
  '<shop><at>now</at><p><id>1</id><price><amount>2</amount></price></p><p><id>3</id></p><more><x>y</x></more></shop>';
const JSON_TEXT =
  '{"at":"now","products":[{"id":"1","name":"a","price":{"amount":"2"},"slots":[{"size":"b"}]}],"more":[{"x":"y"}]}';
const XCHANGE =
  '{"CatalogueId":"c","Supplier":[{"SupplierName":"s","Product":[{"ProductIdentification":{"ManufacturerName":"m","ManufacturerProductNumber":"1"},"ProductRelations":[{"RelationType":"ACCESSORY","RelatedProducts":[{"RelatedManufacturerProductNumber":"2"}]}],"EtimClassification":[{"EtimClassCode":"EC000001","EtimFeatures":[{"EtimFeatureCode":"EF000001","EtimValueCode":"EV000001"}]}],"TradeItem":[{"ItemLogisticDetails":[{"BaseItemNetLength":"9","NetDimensionUnit":"CMT"}]}]}]}]}';
const SHOPIFY = 'Handle,Title,Tags,Variant SKU,Option1 Name,Option1 Value,Image Src\na,b,c,d,e,f,g';
const WOO = 'ID,SKU,Name,Tags,Attribute 1 name,Attribute 1 value(s)\n1,a,b,c,d,e';

/** A file for each reader, and a pattern that matches the name and text of its elements. */
const files: readonly { format: InputFormatSettings; text: string; element: RegExp }[] = [
  { format: { type: 'bmecat' }, text: BMECAT, element: /(?<=<)([\w.]+)(?=>([^<]+)<)/g },
  { format: { type: 'google-merchant' }, text: RSS, element: /(?<=<)((?:g:)?\w+)(?=[^>]*>([^<\s][^<]*)<)/g },
  { format: { type: 'xml', record: 'p' }, text: XML, element: /(?<=<)(\w+)(?=>([^<]+)<)/g },
  { format: { type: 'etim-xchange' }, text: XCHANGE, element: /(?<=")(\w+)(?=":"([^"]*)")/g },
  { format: { type: 'json' }, text: JSON_TEXT, element: /(?<=")(\w+)(?=":"([^"]*)")/g },
  {
    format: { type: 'ndjson' },
    text: '{"id":"1","price":{"amount":"2"}}',
    element: /(?<=")(\w+)(?=":"([^"]*)")/g,
  },
  { format: { type: 'shopify-csv' }, text: SHOPIFY, element: /(?<=^|,)([^,\n]+)(?=,|\n)/g },
  { format: { type: 'woocommerce-csv' }, text: WOO, element: /(?<=^|,)([^,\n]+)(?=,|\n)/g },
];

/** Replaces one name, so that a reader meets an unknown element. @returns the changed text */
function rename(text: string, offset: number, [name = '', , value]: RegExpExecArray): string {
  const before = text.slice(0, offset);
  const rest = text.slice(offset + name.length);
  if (value !== undefined) {
    const renamed = `${before}NOTKNOWN${rest.replace(value, 'MARK')}`;
    return renamed.replace(`>MARK</${name}>`, '>MARK</NOTKNOWN>');
  }
  const [header = '', row = ''] = text.split('\n');
  const column = header.slice(0, offset).split(',').length - 1;
  return `${before}NOTKNOWN${rest.split('\n')[0]}\n${row.split(',').with(column, 'MARK').join(',')}`;
}

for (const { format, text, element } of files)
  test(`${format.type}: an unknown element makes a value, or is counted with its path (§13.2 rule 11)`, async () => {
    const matches = [...text.matchAll(element)].filter(({ index }) =>
      format.type.endsWith('csv') ? index < text.indexOf('\n') : true,
    );
    assert.ok(matches.length > 1);
    for (const match of matches) {
      const changed = rename(text, match.index, match as RegExpExecArray);
      const { rows, unread } = await readAll(format, changed);
      const hasValue = rows.some(({ values }) => JSON.stringify(Object.entries(values)).includes('MARK'));
      const isCounted = [...unread.keys()].some((path) => path.endsWith('NOTKNOWN'));
      assert.ok(hasValue || isCounted, `${match[0]} of ${changed}`);
    }
  });
