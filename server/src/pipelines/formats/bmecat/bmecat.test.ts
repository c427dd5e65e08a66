import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createTempDir,
  readAll,
  readInEveryWay,
  readValues,
} from '../../../../test/support/format-reading.ts';
import { XmlElements } from '../xml/xml-elements.ts';
import { BmecatIndex } from './bmecat-index.ts';

const bmecat = { type: 'bmecat' } as const;

const GROUPS = `<CATALOG_GROUP_SYSTEM><GROUP_SYSTEM_ID>1</GROUP_SYSTEM_ID>
  <CATALOG_STRUCTURE type="root"><GROUP_ID>1</GROUP_ID><GROUP_NAME>Katalog</GROUP_NAME><PARENT_ID>0</PARENT_ID></CATALOG_STRUCTURE>
  <CATALOG_STRUCTURE type="leaf"><GROUP_ID>3</GROUP_ID><GROUP_NAME>Bohrer > 5 mm</GROUP_NAME><PARENT_ID>2</PARENT_ID></CATALOG_STRUCTURE>
  <CATALOG_STRUCTURE type="node"><GROUP_ID>2</GROUP_ID><GROUP_NAME>Werkzeug</GROUP_NAME><PARENT_ID>1</PARENT_ID></CATALOG_STRUCTURE>
  <CATALOG_STRUCTURE type="leaf"><GROUP_ID>9</GROUP_ID><GROUP_NAME>Kreis</GROUP_NAME><PARENT_ID>9</PARENT_ID></CATALOG_STRUCTURE>
</CATALOG_GROUP_SYSTEM>`;

/** As BMEcat 1.2 describes a new catalog: groups first, then articles, then which article is in which group. */
const VERSION_12 = `<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE BMECAT SYSTEM "bmecat_new_catalog_1_2.dtd">
<BMECAT version="1.2" xmlns="http://www.bmecat.org/bmecat/1.2/bmecat_new_catalog">
<HEADER><GENERATOR_INFO>test</GENERATOR_INFO>
  <CATALOG><LANGUAGE>deu</LANGUAGE><CATALOG_ID>1</CATALOG_ID><CURRENCY>EUR</CURRENCY><MIME_ROOT>https://shop.example/mime/</MIME_ROOT></CATALOG>
  <SUPPLIER><SUPPLIER_NAME>Example</SUPPLIER_NAME><MIME_INFO><MIME><MIME_SOURCE>logo.jpg</MIME_SOURCE></MIME></MIME_INFO></SUPPLIER>
</HEADER>
<T_NEW_CATALOG>
${GROUPS}
<ARTICLE>
  <SUPPLIER_AID>D-18</SUPPLIER_AID>
  <ARTICLE_DETAILS>
    <DESCRIPTION_SHORT>Bohrer f\xfcr Beton 13&quot;</DESCRIPTION_SHORT>
    <DESCRIPTION_LONG>Zwei St\xfcck.</DESCRIPTION_LONG>
    <EAN>4006381333931</EAN>
    <MANUFACTURER_AID>M-18</MANUFACTURER_AID><MANUFACTURER_NAME>Bosch</MANUFACTURER_NAME>
    <KEYWORD>Bohrer</KEYWORD><KEYWORD>Beton</KEYWORD>
    <ARTICLE_STATUS type="core_article">Kernsortiment</ARTICLE_STATUS>
  </ARTICLE_DETAILS>
  <ARTICLE_FEATURES>
    <REFERENCE_FEATURE_SYSTEM_NAME>ECLASS-5.1</REFERENCE_FEATURE_SYSTEM_NAME>
    <REFERENCE_FEATURE_GROUP_ID>21010101</REFERENCE_FEATURE_GROUP_ID>
    <FEATURE><FNAME>Durchmesser</FNAME><FVALUE>8</FVALUE><FUNIT>mm</FUNIT><FORDER>1</FORDER></FEATURE>
    <FEATURE><FNAME>Netzspannung</FNAME><VARIANTS><VARIANT><FVALUE>110</FVALUE><SUPPLIER_AID_SUPPLEMENT>-1</SUPPLIER_AID_SUPPLEMENT></VARIANT><VARIANT><FVALUE>220</FVALUE><SUPPLIER_AID_SUPPLEMENT>-2</SUPPLIER_AID_SUPPLEMENT></VARIANT></VARIANTS><FUNIT>V</FUNIT></FEATURE>
    <FEATURE><FNAME>Farbe</FNAME><FVALUE>rot</FVALUE><FVALUE>schwarz</FVALUE></FEATURE>
    <FEATURE><FNAME>EAN</FNAME><FVALUE>x</FVALUE></FEATURE>
    <FEATURE><FNAME>__proto__</FNAME><FVALUE>y</FVALUE></FEATURE>
  </ARTICLE_FEATURES>
  <ARTICLE_FEATURES><FEATURE><FNAME>Durchmesser</FNAME><FVALUE>8</FVALUE><FUNIT>mm</FUNIT></FEATURE></ARTICLE_FEATURES>
  <ARTICLE_ORDER_DETAILS><ORDER_UNIT>C62</ORDER_UNIT><NO_CU_PER_OU>1</NO_CU_PER_OU></ARTICLE_ORDER_DETAILS>
  <ARTICLE_PRICE_DETAILS>
    <ARTICLE_PRICE price_type="net_list"><PRICE_AMOUNT>19.90</PRICE_AMOUNT><PRICE_CURRENCY>CHF</PRICE_CURRENCY><TAX>0.19</TAX><LOWER_BOUND>1</LOWER_BOUND></ARTICLE_PRICE>
    <ARTICLE_PRICE price_type="net_list"><PRICE_AMOUNT>17.50</PRICE_AMOUNT><LOWER_BOUND>100</LOWER_BOUND></ARTICLE_PRICE>
    <ARTICLE_PRICE price_type="net_customer"><PRICE_AMOUNT>15.00</PRICE_AMOUNT></ARTICLE_PRICE>
  </ARTICLE_PRICE_DETAILS>
  <MIME_INFO>
    <MIME><MIME_TYPE>image/jpeg</MIME_TYPE><MIME_SOURCE>2.jpg</MIME_SOURCE><MIME_PURPOSE>normal</MIME_PURPOSE><MIME_ORDER>2</MIME_ORDER></MIME>
    <MIME><MIME_TYPE>image/jpeg</MIME_TYPE><MIME_SOURCE>https://cdn.example/1.jpg</MIME_SOURCE><MIME_PURPOSE>detail</MIME_PURPOSE><MIME_ORDER>1</MIME_ORDER></MIME>
    <MIME><MIME_TYPE>image/jpeg</MIME_TYPE><MIME_SOURCE>s.jpg</MIME_SOURCE><MIME_PURPOSE>thumbnail</MIME_PURPOSE></MIME>
    <MIME><MIME_TYPE>application/pdf</MIME_TYPE><MIME_SOURCE>/d.pdf</MIME_SOURCE><MIME_PURPOSE>data_sheet</MIME_PURPOSE></MIME>
  </MIME_INFO>
  <USER_DEFINED_EXTENSIONS><UDX.SHOP.COLOUR>blue</UDX.SHOP.COLOUR></USER_DEFINED_EXTENSIONS>
  <ARTICLE_REFERENCE type="similar"><ART_ID_TO>D-20</ART_ID_TO></ARTICLE_REFERENCE>
</ARTICLE>
<ARTICLE><SUPPLIER_AID>D-20</SUPPLIER_AID><ARTICLE_DETAILS><DESCRIPTION_SHORT>Ohne alles</DESCRIPTION_SHORT></ARTICLE_DETAILS></ARTICLE>
<ARTICLE_TO_CATALOGGROUP_MAP><ART_ID>D-18</ART_ID><CATALOG_GROUP_ID>3</CATALOG_GROUP_ID></ARTICLE_TO_CATALOGGROUP_MAP>
<ARTICLE_TO_CATALOGGROUP_MAP><ART_ID>D-18</ART_ID><CATALOG_GROUP_ID>2</CATALOG_GROUP_ID></ARTICLE_TO_CATALOGGROUP_MAP>
<ARTICLE_TO_CATALOGGROUP_MAP><ART_ID>D-20</ART_ID><CATALOG_GROUP_ID>nowhere</CATALOG_GROUP_ID></ARTICLE_TO_CATALOGGROUP_MAP>
</T_NEW_CATALOG></BMECAT>`;

test('a catalog of 1.2 has its features, prices, pictures and, from its end, its groups', async (t) => {
  const { rows, found } = await readInEveryWay(bmecat, Buffer.from(VERSION_12, 'latin1'), createTempDir(t));
  assert.equal(found.encoding, 'windows-1252');
  assert.deepEqual(
    rows.map(({ number, values }) => [number, ...Object.entries(values)]),
    [
      [
        1,
        ['SUPPLIER_PID', 'D-18'],
        ['DESCRIPTION_SHORT', 'Bohrer für Beton 13"'],
        ['DESCRIPTION_LONG', 'Zwei Stück.'],
        ['EAN', '4006381333931'],
        ['MANUFACTURER_PID', 'M-18'],
        ['MANUFACTURER_NAME', 'Bosch'],
        ['KEYWORD', ['Bohrer', 'Beton']],
        ['PRODUCT_STATUS', 'Kernsortiment'],
        ['Durchmesser', '8 mm'],
        ['Netzspannung', ['110 V', '220 V']],
        ['Farbe', ['rot', 'schwarz']],
        ['FEATURE.EAN', 'x'],
        ['__proto__', 'y'],
        ['ORDER_UNIT', 'C62'],
        ['NO_CU_PER_OU', '1'],
        ['PRICE.net_list', '19.90 CHF'],
        ['PRICE.net_list.100', '17.50 EUR'],
        ['PRICE.net_customer', '15.00 EUR'],
        ['MIME.thumbnail', ['https://shop.example/mime/s.jpg']],
        ['MIME.data_sheet', ['https://shop.example/mime/d.pdf']],
        ['images', ['https://cdn.example/1.jpg', 'https://shop.example/mime/2.jpg']],
        ['UDX.SHOP.COLOUR', 'blue'],
        ['REFERENCE.similar', ['D-20']],
        ['categories', ['Werkzeug > Bohrer>5 mm', 'Werkzeug']],
      ],
      [2, ['SUPPLIER_PID', 'D-20'], ['DESCRIPTION_SHORT', 'Ohne alles']],
    ],
  );
});

/** As BMEcat 2005: products, several languages, features of a classification, groups may stand behind the products. */
const VERSION_2005 = `<?xml version="1.0" encoding="UTF-8"?>
<bme:BMECAT version="2005" xmlns:bme="http://www.bmecat.org/bmecat/2005">
<bme:HEADER><bme:CATALOG><bme:LANGUAGE>eng</bme:LANGUAGE><bme:LANGUAGE default="true">deu</bme:LANGUAGE></bme:CATALOG></bme:HEADER>
<bme:T_NEW_CATALOG>
<bme:PRODUCT mode="new">
  <bme:SUPPLIER_PID type="supplier_specific">D-18</bme:SUPPLIER_PID>
  <bme:PRODUCT_DETAILS>
    <bme:DESCRIPTION_SHORT lang="eng">Drill</bme:DESCRIPTION_SHORT><bme:DESCRIPTION_SHORT lang="deu">Bohrer</bme:DESCRIPTION_SHORT>
    <bme:DESCRIPTION_LONG lang="eng">Only in English</bme:DESCRIPTION_LONG>
    <bme:INTERNATIONAL_PID type="gtin">4006381333931</bme:INTERNATIONAL_PID><bme:INTERNATIONAL_PID type="upc">12</bme:INTERNATIONAL_PID>
    <bme:KEYWORD lang="deu">a</bme:KEYWORD><bme:KEYWORD lang="deu">b</bme:KEYWORD><bme:KEYWORD lang="eng">c</bme:KEYWORD>
  </bme:PRODUCT_DETAILS>
  <bme:PRODUCT_FEATURES><bme:REFERENCE_FEATURE_SYSTEM_NAME>ETIM-8.0</bme:REFERENCE_FEATURE_SYSTEM_NAME>
    <bme:FEATURE><bme:FNAME lang="eng">Voltage</bme:FNAME><bme:FNAME lang="deu">Spannung</bme:FNAME><bme:FVALUE>18</bme:FVALUE><bme:FVALUE>20</bme:FVALUE><bme:FUNIT>V</bme:FUNIT></bme:FEATURE>
    <bme:FEATURE><bme:FT_IDREF>EF000008</bme:FT_IDREF><bme:FVALUE>30</bme:FVALUE><bme:FUNIT>mm</bme:FUNIT></bme:FEATURE>
    <bme:FEATURE><bme:FNAME>Leer</bme:FNAME><bme:FVALUE/></bme:FEATURE>
  </bme:PRODUCT_FEATURES>
  <bme:PRODUCT_PRICE_DETAILS><bme:PRODUCT_PRICE price_type="nrp"><bme:PRICE_AMOUNT>238.00</bme:PRICE_AMOUNT></bme:PRODUCT_PRICE></bme:PRODUCT_PRICE_DETAILS>
  <bme:MIME_INFO><bme:MIME><bme:MIME_SOURCE>bild.PNG</bme:MIME_SOURCE></bme:MIME></bme:MIME_INFO>
  <bme:PRODUCT_LOGISTIC_DETAILS><bme:CUSTOMS_TARIFF_NUMBER><bme:CUSTOMS_NUMBER>84713000</bme:CUSTOMS_NUMBER></bme:CUSTOMS_TARIFF_NUMBER><bme:PRODUCT_DIMENSIONS><bme:WEIGHT>1.37</bme:WEIGHT></bme:PRODUCT_DIMENSIONS></bme:PRODUCT_LOGISTIC_DETAILS>
</bme:PRODUCT>
<bme:PRODUCT_TO_CATALOGGROUP_MAP><bme:PROD_ID>D-18</bme:PROD_ID><bme:CATALOG_GROUP_ID>T</bme:CATALOG_GROUP_ID></bme:PRODUCT_TO_CATALOGGROUP_MAP>
<bme:CATALOG_GROUP_SYSTEM><bme:CATALOG_STRUCTURE type="leaf"><bme:GROUP_ID>T</bme:GROUP_ID><bme:GROUP_NAME lang="eng">Tools</bme:GROUP_NAME><bme:GROUP_NAME lang="deu">Werkzeug</bme:GROUP_NAME><bme:PARENT_ID>0</bme:PARENT_ID></bme:CATALOG_STRUCTURE></bme:CATALOG_GROUP_SYSTEM>
</bme:T_NEW_CATALOG></bme:BMECAT>`;

test('a catalog of 2005 has the same columns, in the language of the catalog or the one that is asked for', async (t) => {
  const tempDir = createTempDir(t);
  const { rows } = await readInEveryWay(bmecat, VERSION_2005, tempDir);
  assert.deepEqual(
    { ...rows[0]?.values },
    {
      mode: 'new',
      SUPPLIER_PID: 'D-18',
      DESCRIPTION_SHORT: 'Bohrer',
      DESCRIPTION_LONG: 'Only in English',
      EAN: '4006381333931',
      INTERNATIONAL_PID: '12',
      KEYWORD: ['a', 'b'],
      Spannung: ['18 V', '20 V'],
      EF000008: '30 mm',
      'PRICE.nrp': '238.00',
      images: ['bild.PNG'],
      CUSTOMS_NUMBER: '84713000',
      WEIGHT: '1.37',
      categories: ['Werkzeug'],
    },
  );
  const [english] = await readValues({ ...bmecat, language: 'ENG' }, VERSION_2005, { tempDir });
  assert.deepEqual(
    [english?.DESCRIPTION_SHORT, english?.Voltage, english?.categories, english?.KEYWORD],
    ['Drill', ['18 V', '20 V'], ['Tools'], ['c']],
  );
});

test('an update names what happens to each article', async () => {
  const text = `<BMECAT version="1.2"><HEADER/><T_UPDATE_PRODUCTS prev_version="13">
    <ARTICLE mode="update"><SUPPLIER_AID>1</SUPPLIER_AID></ARTICLE><ARTICLE mode="delete"><SUPPLIER_AID>2</SUPPLIER_AID></ARTICLE>
  </T_UPDATE_PRODUCTS></BMECAT>`;
  assert.deepEqual(await readValues(bmecat, text), [
    { mode: 'update', SUPPLIER_PID: '1' },
    { mode: 'delete', SUPPLIER_PID: '2' },
  ]);
});

const refused = [
  {
    name: 'entities of its own',
    text: '<!DOCTYPE BMECAT [<!ENTITY a "b">]><BMECAT><T_NEW_CATALOG/></BMECAT>',
    reason: 'refused',
  },
  {
    name: 'entities beside a DTD',
    text: '<!DOCTYPE BMECAT SYSTEM "x.dtd" [<!ENTITY a "b">]><BMECAT/>',
    reason: 'refused',
  },
  {
    name: 'an entity of the DTD',
    text: '<!DOCTYPE BMECAT SYSTEM "x.dtd"><BMECAT>&auml;</BMECAT>',
    reason: 'damaged',
  },
  { name: 'another document', text: '<catalog><product/></catalog>', reason: 'damaged' },
  { name: 'a file that ends in the middle', text: VERSION_12.slice(0, 3_000), reason: 'broken_off' },
  {
    name: 'a value of 10 MB',
    text: `<BMECAT><T_NEW_CATALOG><ARTICLE><SUPPLIER_AID>${'x'.repeat(10_000_000)}</SUPPLIER_AID></ARTICLE></T_NEW_CATALOG></BMECAT>`,
    reason: 'too_large',
  },
];
for (const { name, text, reason } of refused)
  test(`${name} is refused`, async (t) => {
    await assert.rejects(readAll(bmecat, text, { tempDir: createTempDir(t) }), { reason });
  });

test('a name of the DTD is never fetched and does no harm', async () => {
  const text =
    '<!DOCTYPE BMECAT SYSTEM "file:///etc/passwd"><BMECAT><T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>1</SUPPLIER_PID></PRODUCT></T_NEW_CATALOG></BMECAT>';
  assert.deepEqual(await readValues(bmecat, text), [{ SUPPLIER_PID: '1' }]);
});

const elementsOf = (xml: string) => {
  const elements = new XmlElements({ isWanted: (name) => BmecatIndex.isWanted(name) });
  return elements.push(xml);
};

test('groups that are their own parents end, and a path has at most 20 names', () => {
  const index = new BmecatIndex();
  const group = (id: number, parent: number) =>
    `<CATALOG_STRUCTURE><GROUP_ID>${id}</GROUP_ID><GROUP_NAME>n${id}</GROUP_NAME><PARENT_ID>${parent}</PARENT_ID></CATALOG_STRUCTURE>`;
  const chain = Array.from({ length: 50 }, (_, at) => group(at + 10, at + 9)).join('');
  const member = (product: string, id: number) =>
    `<ARTICLE_TO_CATALOGGROUP_MAP><ART_ID>${product}</ART_ID><CATALOG_GROUP_ID>${id}</CATALOG_GROUP_ID></ARTICLE_TO_CATALOGGROUP_MAP>`;
  const xml = `<a>${group(1, 2)}${group(2, 1)}${chain}${member('p', 1)}${member('q', 59)}</a>`;
  for (const element of elementsOf(xml)) index.take(element);
  assert.equal(index.pathsOf('p')[0]?.length, 20);
  assert.equal(index.pathsOf('q')[0]?.length, 20);
  assert.deepEqual(index.pathsOf('nobody'), []);
});

test('a product that is in endless groups keeps one more than a product may have', () => {
  const index = new BmecatIndex();
  const [group, member] = elementsOf(
    '<a><CATALOG_STRUCTURE><GROUP_ID>1</GROUP_ID><GROUP_NAME>n</GROUP_NAME></CATALOG_STRUCTURE><ARTICLE_TO_CATALOGGROUP_MAP><ART_ID>p</ART_ID><CATALOG_GROUP_ID>1</CATALOG_GROUP_ID></ARTICLE_TO_CATALOGGROUP_MAP></a>',
  );
  assert.ok(group && member);
  index.take(group);
  for (let count = 0; count < 1_000; count += 1) index.take(member);
  assert.equal(index.pathsOf('p').length, 101);
});

test('an index of endless groups or memberships is refused', () => {
  const index = new BmecatIndex();
  const [member] = elementsOf(
    '<a><ARTICLE_TO_CATALOGGROUP_MAP><ART_ID>p</ART_ID><CATALOG_GROUP_ID>1</CATALOG_GROUP_ID></ARTICLE_TO_CATALOGGROUP_MAP></a>',
  );
  assert.ok(member);
  assert.throws(
    () => {
      for (let count = 0; count <= 2_000_000; count += 1) index.take(member);
    },
    { reason: 'too_large' },
  );
});
