// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createTempDir,
  readAll,
  readInEveryWay,
  readValues,
} from '../../../test/support/formats/format-reading.ts';
import { XmlElements } from '../xml/xml-elements.ts';
import { BmecatIndex } from './bmecat-index.ts';

const bmecat = { type: 'bmecat' } as const;

const GROUPS = `<CATALOG_GROUP_SYSTEM><GROUP_SYSTEM_ID>1</GROUP_SYSTEM_ID>
  <CATALOG_STRUCTURE type="root"><GROUP_ID>1</GROUP_ID><GROUP_NAME>Katalog</GROUP_NAME><PARENT_ID>0</PARENT_ID></CATALOG_STRUCTURE>
  <CATALOG_STRUCTURE type="leaf"><GROUP_ID>3</GROUP_ID><GROUP_NAME>Bohrer > 5 mm</GROUP_NAME><PARENT_ID>2</PARENT_ID></CATALOG_STRUCTURE>
  <CATALOG_STRUCTURE type="node"><GROUP_ID>2</GROUP_ID><GROUP_NAME>Werkzeug</GROUP_NAME><PARENT_ID>1</PARENT_ID></CATALOG_STRUCTURE>
  <CATALOG_STRUCTURE type="leaf"><GROUP_ID>9</GROUP_ID><GROUP_NAME>Kreis</GROUP_NAME><PARENT_ID>9</PARENT_ID></CATALOG_STRUCTURE>
</CATALOG_GROUP_SYSTEM>`;

/** A new catalog in BMEcat 1.2: groups first, then articles, then the articles of each group. */
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

test('a catalog of 1.2 is read with features, prices, pictures, and the groups from its end', async (t) => {
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
        ['REFERENCE_FEATURE_SYSTEM_NAME', 'ECLASS-5.1'],
        ['REFERENCE_FEATURE_GROUP_ID', '21010101'],
        ['Durchmesser', '8 mm'],
        ['Netzspannung', ['110 V', '220 V']],
        ['Farbe', ['rot', 'schwarz']],
        ['FEATURE.EAN', 'x'],
        ['__proto__', 'y'],
        ['ORDER_UNIT', 'C62'],
        ['NO_CU_PER_OU', '1'],
        ['PRICE.net_list', '19.90 CHF'],
        ['TAX', '0.19'],
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

/** BMEcat 2005: products, several languages, features of a classification. Groups may follow the products. */
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

test("a catalog of 2005 has the same columns, in the catalog's language or in the requested one", async (t) => {
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
      REFERENCE_FEATURE_SYSTEM_NAME: 'ETIM-8.0',
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

test('an update has a column with the mode of each article', async () => {
  const text = `<BMECAT version="1.2"><HEADER/><T_UPDATE_PRODUCTS prev_version="13">
    <ARTICLE mode="update"><SUPPLIER_AID>1</SUPPLIER_AID></ARTICLE><ARTICLE mode="delete"><SUPPLIER_AID>2</SUPPLIER_AID></ARTICLE>
  </T_UPDATE_PRODUCTS></BMECAT>`;
  assert.deepEqual(await readValues(bmecat, text), [
    { mode: 'update', SUPPLIER_PID: '1' },
    { mode: 'delete', SUPPLIER_PID: '2' },
  ]);
});

/** A catalog of one product with this number, and the declarations of its DOCTYPE. */
const withDtd = (declarations: string, number: string) =>
  `<!DOCTYPE BMECAT SYSTEM "bmecat_new_catalog_1_2.dtd" [${declarations}]><BMECAT><T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>${number}</SUPPLIER_PID></PRODUCT></T_NEW_CATALOG></BMECAT>`;
const LAUGHS = Array.from(
  { length: 9 },
  (_, index) => `<!ENTITY e${index + 1} "${`&e${index};`.repeat(10)}">`,
).join('');

const refused = [
  {
    name: 'an entity that is defined in another file',
    text: withDtd('<!ENTITY a SYSTEM "file:///etc/passwd">', '&a;'),
    reason: 'refused',
  },
  { name: 'an entity that contains elements', text: withDtd('<!ENTITY a "<b/>">', '&a;'), reason: 'refused' },
  {
    name: 'an entity that contains itself',
    text: withDtd('<!ENTITY a "&b;"><!ENTITY b "&a;">', '&a;'),
    reason: 'too_large',
  },
  {
    name: 'an entity that grows without bound',
    text: withDtd(`<!ENTITY e0 "0123456789">${LAUGHS}`, '&e9;'),
    reason: 'too_large',
  },
  {
    name: 'an entity that is used endlessly',
    text: withDtd(
      `<!ENTITY a "${'x'.repeat(50_000)}">`,
      '&a;</SUPPLIER_PID></PRODUCT><PRODUCT><SUPPLIER_PID>'.repeat(200),
    ),
    reason: 'too_large',
  },
  {
    name: 'an entity that only the DTD defines',
    text: '<!DOCTYPE BMECAT SYSTEM "x.dtd"><BMECAT>&auml;</BMECAT>',
    reason: 'damaged',
  },
  { name: 'a document of another kind', text: '<catalog><product/></catalog>', reason: 'damaged' },
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

test('a DTD that is named by address is never fetched, and the catalog is read', async () => {
  const text =
    '<!DOCTYPE BMECAT SYSTEM "file:///etc/passwd"><BMECAT><T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>1</SUPPLIER_PID></PRODUCT></T_NEW_CATALOG></BMECAT>';
  assert.deepEqual(await readValues(bmecat, text), [{ SUPPLIER_PID: '1' }]);
});

test('a DTD in the file that declares user-defined extensions is read, and its entities are replaced by texts', async () => {
  const declarations = `
    <!-- Don't take "quotes" of a comment, <!ENTITY firma "nobody"> -->
    <?editor keep ">?>
    <!ENTITY % UDX.ARTICLE "(UDX.SHOP.COLOUR?, UDX.SHOP.NOTE*)">
    <!ENTITY % more SYSTEM "file:///etc/passwd"> %more;
    <!ELEMENT USER_DEFINED_EXTENSIONS %UDX.ARTICLE;>
    <!ELEMENT UDX.SHOP.COLOUR (#PCDATA)>
    <!ATTLIST UDX.SHOP.COLOUR tone CDATA "a > b">
    <!ENTITY uuml "&#252;"><!ENTITY firma 'M&uuml;ller &amp; S&#xF6;hne'><!ENTITY firma "second">
    <!ENTITY unused SYSTEM "http://127.0.0.1/">`;
  for (const version of ['1.01', '1.2']) {
    const text = `<?xml version="1.0"?><!DOCTYPE BMECAT SYSTEM "bmecat_new_catalog.dtd" [${declarations}]>
      <BMECAT version="${version}"><HEADER/><T_NEW_CATALOG><ARTICLE><SUPPLIER_AID>1</SUPPLIER_AID>
      <ARTICLE_DETAILS><DESCRIPTION_SHORT>T&uuml;r von &firma;</DESCRIPTION_SHORT></ARTICLE_DETAILS>
      <USER_DEFINED_EXTENSIONS><UDX.SHOP.COLOUR tone="&firma;">blau</UDX.SHOP.COLOUR></USER_DEFINED_EXTENSIONS></ARTICLE></T_NEW_CATALOG></BMECAT>`;
    const { rows } = await readInEveryWay(bmecat, text);
    assert.deepEqual(
      { ...rows[0]?.values },
      { SUPPLIER_PID: '1', DESCRIPTION_SHORT: 'Tür von Müller & Söhne', 'UDX.SHOP.COLOUR': 'blau' },
    );
  }
});

/** Features as in ECLASS Advanced: described by a template in the feature, or by number in the classification. */
const ADVANCED = `<BMECAT version="2005"><HEADER><CATALOG><LANGUAGE default="true">deu</LANGUAGE><LANGUAGE>eng</LANGUAGE></CATALOG></HEADER><T_NEW_CATALOG>
<CLASSIFICATION_SYSTEM><CLASSIFICATION_SYSTEM_NAME>ECLASS-12.0</CLASSIFICATION_SYSTEM_NAME>
  <ALLOWED_VALUES><ALLOWED_VALUE><ALLOWED_VALUE_ID>0173-1#07-AAA1#001</ALLOWED_VALUE_ID><ALLOWED_VALUE_NAME lang="deu">rot</ALLOWED_VALUE_NAME><ALLOWED_VALUE_NAME lang="eng">red</ALLOWED_VALUE_NAME></ALLOWED_VALUE></ALLOWED_VALUES>
  <CLASSIFICATION_SYSTEM_FEATURE_TEMPLATES><CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE><FT_ID>0173-1#02-BBB2#002</FT_ID><FT_NAME>Länge</FT_NAME><FEATURE_CONTENT><FT_UNIT>mm</FT_UNIT></FEATURE_CONTENT></CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE></CLASSIFICATION_SYSTEM_FEATURE_TEMPLATES>
  <CLASSIFICATION_GROUPS>
    <CLASSIFICATION_GROUP type="leaf" level="2"><CLASSIFICATION_GROUP_ID>27-01</CLASSIFICATION_GROUP_ID><CLASSIFICATION_GROUP_NAME lang="eng">Motor</CLASSIFICATION_GROUP_NAME><CLASSIFICATION_GROUP_NAME lang="deu">Elektromotor</CLASSIFICATION_GROUP_NAME><CLASSIFICATION_GROUP_PARENT_ID>27</CLASSIFICATION_GROUP_PARENT_ID></CLASSIFICATION_GROUP>
    <CLASSIFICATION_GROUP type="node" level="1"><CLASSIFICATION_GROUP_ID>27</CLASSIFICATION_GROUP_ID><CLASSIFICATION_GROUP_NAME>Elektrotechnik</CLASSIFICATION_GROUP_NAME></CLASSIFICATION_GROUP>
  </CLASSIFICATION_GROUPS></CLASSIFICATION_SYSTEM>
<CLASSIFICATION_SYSTEM><CLASSIFICATION_SYSTEM_NAME>udf_shop</CLASSIFICATION_SYSTEM_NAME><CLASSIFICATION_GROUPS>
  <CLASSIFICATION_GROUP><CLASSIFICATION_GROUP_ID>27</CLASSIFICATION_GROUP_ID><CLASSIFICATION_GROUP_NAME>Angebote</CLASSIFICATION_GROUP_NAME></CLASSIFICATION_GROUP></CLASSIFICATION_GROUPS></CLASSIFICATION_SYSTEM>
<PRODUCT mode="new"><SUPPLIER_PID>M1</SUPPLIER_PID><PRODUCT_DETAILS><MANUFACTURER_NAME>Acme</MANUFACTURER_NAME></PRODUCT_DETAILS>
<PRODUCT_FEATURES><REFERENCE_FEATURE_SYSTEM_NAME>ECLASS-12.0</REFERENCE_FEATURE_SYSTEM_NAME><REFERENCE_FEATURE_GROUP_ID>27-01</REFERENCE_FEATURE_GROUP_ID>
  <FEATURE><FTEMPLATE><FT_ID>0173-1#02-AAA1#001</FT_ID><FT_NAME lang="eng">Width</FT_NAME><FT_NAME lang="deu">Breite</FT_NAME><FEATURE_CONTENT><FT_UNIT>mm</FT_UNIT></FEATURE_CONTENT></FTEMPLATE><FVALUE>48.5</FVALUE></FEATURE>
  <FEATURE><FTEMPLATE><FT_ID>0173-1#02-CCC3#001</FT_ID></FTEMPLATE><FVALUE>3</FVALUE></FEATURE>
  <FEATURE><FT_IDREF>0173-1#02-BBB2#002</FT_IDREF><FVALUE>120</FVALUE></FEATURE>
  <FEATURE><FNAME>Farbe</FNAME><VALUE_IDREF>0173-1#07-AAA1#001</VALUE_IDREF><VALUE_IDREF>0173-1#07-ZZZ9#001</VALUE_IDREF></FEATURE>
  <FEATURE><FVALUE>ohne Namen</FVALUE></FEATURE>
</PRODUCT_FEATURES>
<PRODUCT_FEATURES><REFERENCE_FEATURE_SYSTEM_NAME>udf_shop</REFERENCE_FEATURE_SYSTEM_NAME><REFERENCE_FEATURE_GROUP_ID>27</REFERENCE_FEATURE_GROUP_ID></PRODUCT_FEATURES>
</PRODUCT></T_NEW_CATALOG></BMECAT>`;

test('features have the names of their templates, and products the groups of their classifications', async () => {
  const { rows, found } = await readInEveryWay(bmecat, ADVANCED);
  assert.deepEqual(
    { ...rows[0]?.values },
    {
      mode: 'new',
      SUPPLIER_PID: 'M1',
      MANUFACTURER_NAME: 'Acme',
      REFERENCE_FEATURE_SYSTEM_NAME: ['ECLASS-12.0', 'udf_shop'],
      REFERENCE_FEATURE_GROUP_ID: ['27-01', '27'],
      Breite: '48.5 mm',
      '0173-1#02-CCC3#001': '3',
      Länge: '120 mm',
      Farbe: ['rot', '0173-1#07-ZZZ9#001'],
      FEATURE: 'ohne Namen',
      categories: ['Elektrotechnik > Elektromotor', 'Angebote'],
    },
  );
  assert.equal(found.language, 'deu, eng');
});

test('a language may be written in any of its codes, and a language that the catalog lacks is refused', async () => {
  for (const language of ['en', 'ENG', 'en-GB']) {
    const { rows, found } = await readAll({ ...bmecat, language }, ADVANCED);
    assert.equal(rows[0]?.values.Width, '48.5 mm', language);
    assert.equal(found.language, 'eng, deu');
  }
  await assert.rejects(readAll({ ...bmecat, language: 'fra' }, ADVANCED), {
    reason: 'not_found',
    message: 'The catalog has no texts in the language fra; it has deu, eng',
  });
});

test('languages of the header are listed before those of products, whatever the chunks of the file (§13.7)', async () => {
  const catalog = `<BMECAT><HEADER><CATALOG><LANGUAGE>deu</LANGUAGE><LANGUAGE>eng</LANGUAGE></CATALOG></HEADER>
<T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>1</SUPPLIER_PID><PRODUCT_DETAILS>
<DESCRIPTION_SHORT lang="fra">un</DESCRIPTION_SHORT><DESCRIPTION_SHORT lang="eng">one</DESCRIPTION_SHORT><DESCRIPTION_SHORT lang="deu">eins</DESCRIPTION_SHORT>
</PRODUCT_DETAILS></PRODUCT></T_NEW_CATALOG></BMECAT>`;
  const { rows, found } = await readInEveryWay(bmecat, catalog);
  assert.equal(found.language, 'deu, eng, fra');
  assert.equal(rows[0]?.values.DESCRIPTION_SHORT, 'eins');
  for (const chunkBytes of [1, 64, 1_000_000])
    await assert.rejects(readAll({ ...bmecat, language: 'ita' }, catalog, { chunkBytes }), {
      message: 'The catalog has no texts in the language ita; it has deu, eng, fra',
    });
});

test('the language of the header is read, however many other languages its products have', async () => {
  const texts = Array.from(
    { length: 1_100 },
    (_, index) => `<DESCRIPTION_SHORT lang="x${index}">${index}</DESCRIPTION_SHORT>`,
  );
  const catalog = `<BMECAT><HEADER><CATALOG><LANGUAGE>deu</LANGUAGE></CATALOG></HEADER><T_NEW_CATALOG>
<PRODUCT><SUPPLIER_PID>1</SUPPLIER_PID><PRODUCT_DETAILS>${texts.join('')}<DESCRIPTION_SHORT lang="deu">eins</DESCRIPTION_SHORT></PRODUCT_DETAILS></PRODUCT></T_NEW_CATALOG></BMECAT>`;
  for (const chunkBytes of [7, 1_000_000]) {
    const { rows, found } = await readAll(bmecat, catalog, { chunkBytes });
    assert.equal(found.language?.split(', ')[0], 'deu', `${chunkBytes}`);
    assert.equal(rows[0]?.values.DESCRIPTION_SHORT, 'eins', `${chunkBytes}`);
  }
});

test('a product of 60,000 small elements is read, and a product of endless elements is refused', async () => {
  const features = (count: number) =>
    Array.from(
      { length: count },
      (_, index) => `<FEATURE><FNAME>f${index % 50}</FNAME><FVALUE>${index % 90}</FVALUE></FEATURE>\n`,
    );
  const catalog = (count: number) =>
    `<BMECAT><T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>1</SUPPLIER_PID><PRODUCT_FEATURES>${features(count).join('')}</PRODUCT_FEATURES></PRODUCT></T_NEW_CATALOG></BMECAT>`;
  const { rows } = await readAll(bmecat, catalog(20_000));
  assert.equal(Object.keys(rows[0]?.values ?? {}).length, 51);
  await assert.rejects(readAll(bmecat, catalog(90_000)), { reason: 'too_large' });
});

const elementsOf = (xml: string) => {
  const wanted = new BmecatIndex();
  const elements = new XmlElements({ isChosen: (...element) => wanted.isChosen(...element) });
  return elements.push(xml);
};

test('a cycle of groups ends, and a path has at most 20 names', () => {
  const index = new BmecatIndex();
  const group = (id: number, parent: number) =>
    `<CATALOG_STRUCTURE><GROUP_ID>${id}</GROUP_ID><GROUP_NAME>n${id}</GROUP_NAME><PARENT_ID>${parent}</PARENT_ID></CATALOG_STRUCTURE>`;
  const chain = Array.from({ length: 50 }, (_, index) => group(index + 10, index + 9)).join('');
  const member = (product: string, id: number) =>
    `<ARTICLE_TO_CATALOGGROUP_MAP><ART_ID>${product}</ART_ID><CATALOG_GROUP_ID>${id}</CATALOG_GROUP_ID></ARTICLE_TO_CATALOGGROUP_MAP>`;
  const xml = `<a>${group(1, 2)}${group(2, 1)}${chain}${member('p', 1)}${member('q', 59)}</a>`;
  for (const element of elementsOf(xml)) index.take(element);
  assert.equal(index.pathsOf('p')[0]?.length, 20);
  assert.equal(index.pathsOf('q')[0]?.length, 20);
  assert.deepEqual(index.pathsOf('nobody'), []);
});

test('a product in endless groups keeps one group more than the limit', () => {
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

const GROUPED = `<BMECAT version="2005"><HEADER><CATALOG><LANGUAGE default="true">deu</LANGUAGE></CATALOG></HEADER>
<T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>W-1</SUPPLIER_PID>
  <PRODUCT_FEATURES>
    <FEATURE_GROUP><FEATURE_GROUP_ID>1</FEATURE_GROUP_ID><FEATURE_GROUP_NAME>Technik</FEATURE_GROUP_NAME>
      <FEATURE><FNAME>Breite</FNAME><FVALUE>5.1</FVALUE><FUNIT>mm</FUNIT><FORDER>1</FORDER></FEATURE>
      <FEATURE><FNAME>Einbauform</FNAME><VALUE_IDREF>0173-1#07-BAA194#001</VALUE_IDREF><FVALUE_DETAILS>Aufbau</FVALUE_DETAILS></FEATURE>
    </FEATURE_GROUP>
    <FEATURE><FNAME>Schutzart</FNAME><FVALUE>EV006403</FVALUE><FVALUE_DETAILS>IP20</FVALUE_DETAILS></FEATURE>
    <FEATURE><FNAME>Strom</FNAME><FVALUE>24</FVALUE><FUNIT>A</FUNIT><FVALUE_DETAILS>bei 40 °C</FVALUE_DETAILS></FEATURE>
  </PRODUCT_FEATURES>
  <PRODUCT_PRICE_DETAILS><PRODUCT_PRICE price_type="net_list"><PRICE_AMOUNT>1.5</PRICE_AMOUNT><TAX>0.19</TAX><PRICE_BASE>9</PRICE_BASE></PRODUCT_PRICE></PRODUCT_PRICE_DETAILS>
</PRODUCT><IPP_DEFINITIONS><IPP_ID>7</IPP_ID></IPP_DEFINITIONS></T_NEW_CATALOG></BMECAT>`;

test('reads features in a FEATURE_GROUP, the texts of numbered values and TAX, and counts unread elements (§13.7)', async () => {
  const { rows, unread } = await readAll(bmecat, GROUPED);
  assert.deepEqual(
    { ...rows[0]?.values },
    {
      SUPPLIER_PID: 'W-1',
      Breite: '5.1 mm',
      Einbauform: 'Aufbau',
      Schutzart: 'IP20',
      Strom: '24 A',
      'PRICE.net_list': '1.5',
      TAX: '0.19',
    },
  );
  assert.deepEqual(
    [...unread],
    [
      ['BMECAT/T_NEW_CATALOG/IPP_DEFINITIONS/IPP_ID', 1],
      ['PRODUCT/PRODUCT_FEATURES/FEATURE/FVALUE_DETAILS', 1],
      ['PRODUCT/PRODUCT_PRICE_DETAILS/PRODUCT_PRICE/PRICE_BASE', 1],
    ],
  );
});
