// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { readAll } from '../../../../test/support/formats/format-reading.ts';
import { type ColumnValue, createColumns, type SourceRow } from '../../../formats/input/source-row.ts';
import { DEFAULT_MAPPINGS, findDefaultMapping } from '../../../formats/input-formats.ts';
import { compileMapping, type Mapping, MappingSchema } from '../mapping.ts';
import { suggestFormat, suggestMapping } from './mapping-suggestions.ts';

function makeRows(columns: readonly string[], rows: readonly (readonly ColumnValue[])[]): SourceRow[] {
  return rows.map((cells, index) => {
    const values = createColumns<ColumnValue>();
    for (const [position, value] of cells.entries()) values[columns[position] ?? ''] = value;
    return { number: index + 2, values, source: values };
  });
}

/** Values of a column, with a number for each row. */
const numbered = (values: readonly ColumnValue[]) => values.map((value, index) => [String(index), value]);

const suggest = (columns: readonly string[], rows: readonly (readonly ColumnValue[])[] = []) =>
  suggestMapping(columns, makeRows(columns, rows)).mapping;

test('the columns of an English export are recognised by their names', () => {
  const columns = [
    'SKU',
    'Parent SKU',
    'Title',
    'Product URL',
    'Image URL',
    'Image URL 2',
    'Category',
    'Price',
  ];
  assert.deepEqual(suggest(columns), {
    identifier: 'SKU',
    groupIdentifier: 'Parent SKU',
    name: 'Title',
    productUrl: 'Product URL',
    images: ['Image URL', 'Image URL 2'],
    categories: { from: 'Category' },
    attributes: '*',
  });
});

test('default columns of a format are recognised in files of other formats', () => {
  for (const mapping of DEFAULT_MAPPINGS) {
    const { attributes: _, images = [], categories, ...columns } = mapping;
    const names = [
      ...Object.values(columns),
      ...images,
      ...[categories ?? []].flat().map(({ from }) => from),
    ];
    const suggested = suggest(names);
    assert.deepEqual(
      { ...suggested, categories: undefined },
      { ...columns, images, attributes: '*', categories: undefined },
    );
    const [path] = [suggested.categories ?? []].flat();
    assert.equal(path?.from, [categories ?? []].flat()[0]?.from);
  }
});

test('for a CSV with the columns of Magento, the format magento-csv is suggested (§13.5)', async () => {
  const file = `sku,product_type,categories,name,base_image,additional_images,additional_attributes,configurable_variations
MH01-XS-Gray,simple,"Default Category/Men,Default Category/New",Hoodie XS,/m/h.jpg,"/a.jpg,/b.jpg","color=Gray,size=XS,climate=Cool|Mild,note=wash, then dry",
`;
  const { columns } = await readAll({ type: 'csv' }, file);
  assert.equal(suggestFormat('csv', columns)?.type, 'magento-csv');
});

test('the columns of a German export are recognised by their names and values', () => {
  const columns = [
    'Artikel-Nr.',
    'Vaterartikel',
    'Bezeichnung',
    'Link',
    'Bild',
    'Warengruppe',
    'Preis',
    'Länge',
    'EAN',
  ];
  const link = (name: string) => `https://shop.example/${name}`;
  const mapping = suggest(columns, [
    [
      'A1',
      'A',
      'Bohrmaschine 18 V',
      link('a1'),
      link('1.jpg'),
      'Werkzeug > Bohren',
      '1.299,00',
      '12',
      '4006381333931',
    ],
    [
      'A2',
      'A',
      'Bohrmaschine 12 V',
      link('a2'),
      link('2.jpg'),
      'Werkzeug > Bohren',
      '99,90',
      '9',
      '4006381333948',
    ],
  ]);
  assert.deepEqual(mapping, {
    identifier: 'Artikel-Nr.',
    groupIdentifier: 'Vaterartikel',
    name: 'Bezeichnung',
    productUrl: 'Link',
    images: ['Bild'],
    categories: { from: 'Warengruppe', separator: ' > ' },
    attributes: { Preis: { column: 'Preis', number: { decimal: 'comma' } }, '*': '*' },
  });
});

const headers: [string, keyof Mapping][] = [
  ...[
    'sku',
    'SKU',
    'Artikelnummer',
    'ArtNr',
    'art_no',
    'article number',
    'Item No.',
    'g:id',
    'EAN',
    'product/sku',
  ].map((name): [string, keyof Mapping] => [name, 'identifier']),
  ...['item_group_id', 'parent', 'Handle', 'master-id', 'Gruppe'].map((name): [string, keyof Mapping] => [
    name,
    'groupIdentifier',
  ]),
  ...['title', 'Produktname', 'g:title', 'DESCRIPTION_SHORT', 'Artikelbezeichnung'].map(
    (name): [string, keyof Mapping] => [name, 'name'],
  ),
  ...['url', 'deeplink', 'productUrl', 'Produkt-Link'].map((name): [string, keyof Mapping] => [
    name,
    'productUrl',
  ]),
  ...['Kategorie', 'product_type', 'Breadcrumb', 'categoryPath'].map((name): [string, keyof Mapping] => [
    name,
    'categories',
  ]),
  ...['Bild', 'image_link', 'Image Src', 'bild 1', 'additional_image_link'].map(
    (name): [string, keyof Mapping] => [name, 'images'],
  ),
];
for (const [column, field] of headers) {
  test(`a column named ${column} is suggested for ${field}`, () => {
    assert.ok(JSON.stringify(suggest([column])[field] ?? '').includes(JSON.stringify(column)));
  });
}

test('without meaningful names, the values decide', () => {
  const columns = ['a', 'b', 'c', 'd', 'e', 'f'];
  const mapping = suggest(columns, [
    ['x', 'P-1', 'Cordless drill', 'https://s.example/p/1', 'https://s.example/1.PNG?w=1', 'Tools > Drills'],
    ['x', 'P-2', 'Cordless saw', 'https://s.example/p/2', 'https://s.example/2.png', 'Tools > Saws'],
  ]);
  const rest = {
    productUrl: 'd',
    images: ['e'],
    categories: { from: 'f', separator: ' > ' },
    attributes: '*',
  };
  assert.deepEqual(mapping, { identifier: 'b', name: 'c', ...rest });
});

test('a column with repeated values is not the identifier if another column is unique', () => {
  const mapping = suggest(
    ['id', 'EAN'],
    [
      ['1', 'x'],
      ['1', 'y'],
    ],
  );
  assert.equal(mapping.identifier, 'EAN');
});

test('a column called image that contains words, or url that contains numbers, is an attribute', () => {
  const mapping = suggest(
    ['sku', 'Image', 'url'],
    [
      ['1', 'very nice picture', '17'],
      ['2', 'not so nice', '18'],
    ],
  );
  assert.equal(mapping.images, undefined);
  assert.equal(mapping.productUrl, undefined);
});

const paths: [ColumnValue[], object][] = [
  [['A > B > C', 'A > D'], { from: 'Kategorie', separator: ' > ' }],
  [['A>B', 'A > D'], { from: 'Kategorie', separator: '>' }],
  [['A/B/C', 'A/D'], { from: 'Kategorie', separator: '/' }],
  [['TV/HiFi / Audio', 'TV/HiFi / Video'], { from: 'Kategorie', separator: ' / ' }],
  [['A|B', 'A|C'], { from: 'Kategorie', separator: '|' }],
  [['A » B', 'C'], { from: 'Kategorie', separator: ' » ' }],
  [['Tools', 'Toys'], { from: 'Kategorie' }],
  [['A > B|A > C', 'A > D'], { from: { column: 'Kategorie', split: '|', trim: true }, separator: ' > ' }],
  [['A > B; A > C', 'A > D'], { from: { column: 'Kategorie', split: ';', trim: true }, separator: ' > ' }],
  [['A > Nuts, bolts', 'A > D'], { from: 'Kategorie', separator: ' > ' }],
  [[['A > B', 'C > D'], 'E > F'], { from: 'Kategorie', separator: ' > ' }],
];
for (const [values, categories] of paths) {
  test(`the categories ${JSON.stringify(values)} are read as ${JSON.stringify(categories)}`, () => {
    const mapping = suggest(
      ['sku', 'Kategorie'],
      values.map((value, index) => [String(index), value]),
    );
    assert.deepEqual(mapping.categories, categories);
  });
}

test('several images in a cell are split', () => {
  const mapping = suggest(
    ['sku', 'images'],
    [
      ['1', 'https://s.example/1,https://s.example/2'],
      ['2', 'https://s.example/3'],
    ],
  );
  assert.deepEqual(mapping.images, [{ column: 'images', split: ',', trim: true }]);
});

const numbers: [string[], object | undefined][] = [
  [['1.299,00', '5'], { decimal: 'comma' }],
  [['12,5', '7'], { decimal: 'comma' }],
  [['1,299.00', '5'], { decimal: 'point' }],
  [['12.5', '7'], undefined],
  [['1,299', '2,500'], undefined],
  [['12,5 cm', '7'], undefined],
  [['1,2,3', '4'], undefined],
  [['', ''], undefined],
];
for (const [values, number] of numbers) {
  test(`the numbers ${JSON.stringify(values)} ${number === undefined ? 'stay unchanged' : JSON.stringify(number)}`, () => {
    const { attributes } = suggest(
      ['sku', 'x'],
      values.map((value, index) => [String(index), value]),
    );
    assert.deepEqual(attributes, number === undefined ? '*' : { x: { column: 'x', number }, '*': '*' });
  });
}

test('a suggestion states why each column was chosen, and with which confidence', () => {
  const columns = ['sku', 'b'];
  const { reasons } = suggestMapping(
    columns,
    makeRows(columns, [
      ['1', 'Cordless drill'],
      ['2', 'Cordless saw'],
    ]),
  );
  assert.deepEqual(reasons, [
    {
      field: 'identifier',
      column: 'sku',
      by: 'name',
      confidence: 'high',
      reason: 'the column has this name, and no value is repeated',
    },
    {
      field: 'name',
      column: 'b',
      by: 'values',
      confidence: 'low',
      reason: 'it contains texts of several words',
    },
  ]);
});

test('categories are split at separators between paths, and not at the same characters within a name', () => {
  const magento = [
    'Default Category/Men/Tops/Hoodies & Sweatshirts,Default Category/Men,Default Category',
    'Default Category/Men/Tops/Hoodies &amp; Sweatshirts',
    'Default Category/Gear',
  ];
  const found = { from: { column: 'categories', split: ',', trim: true }, separator: '/' };
  assert.deepEqual(suggest(['sku', 'categories'], numbered(magento)).categories, found);
});

const unsure: [string[], object][] = [
  // A slash inside names, and no two paths begin with the same top.
  [['TV/HiFi', 'Computer', 'Books'], { from: 'Kategorie' }],
  [['A/B', 'C/D'], { from: 'Kategorie', separator: '/' }],
  // A comma between paths in one value, and inside a name in the other value.
  [['Shop/Men,Shop/Sale', 'Shop/Tops, Tees/Shirts'], { from: 'Kategorie', separator: '/' }],
];
for (const [values, categories] of unsure)
  test(`the categories ${JSON.stringify(values)} have low confidence`, () => {
    const columns = ['sku', 'Kategorie'];
    const { mapping, reasons } = suggestMapping(columns, makeRows(columns, numbered(values)));
    assert.deepEqual(mapping.categories, categories);
    assert.equal(reasons.find(({ field }) => field === 'categories')?.confidence, 'low');
  });

test('several pictures and words in one cell are split, with or without addresses', () => {
  const mapping = suggest(
    ['sku', 'additional_images', 'Tags', 'colours'],
    [
      ['1', '/m/b/a.jpg,/m/b/b.jpg', 'sale, summer', 'red'],
      ['2', 'c.png', 'new', 'green'],
    ],
  );
  assert.deepEqual(mapping.images, [{ column: 'additional_images', split: ',', trim: true }]);
  assert.deepEqual(mapping.attributes, { Tags: { column: 'Tags', split: ',', trim: true }, '*': '*' });
});

test('a SKU that a few rows repeat is still the identifier, and the reason states it', () => {
  const columns = ['sku', 'Price'];
  const rows = Array.from({ length: 20 }, (_, index) => [`A${index === 19 ? 0 : index}`, `${index}.95`]);
  const { mapping, reasons } = suggestMapping(columns, makeRows(columns, rows));
  assert.equal(mapping.identifier, 'sku');
  assert.equal(reasons[0]?.confidence, 'medium');
  assert.match(reasons[0]?.reason ?? '', /1 of 20 rows repeat a value: they are variants or updates/);
});

test('prices are neither identifiers nor names', () => {
  const mapping = suggest(
    ['a', 'PRICE.net_list', 'Name'],
    [
      ['x', '19.90 EUR', '5,00 EUR'],
      ['x', '20.90 EUR', '6,00 EUR'],
    ],
  );
  assert.deepEqual([mapping.identifier, mapping.name], [undefined, undefined]);
});

test('without a column called Brand, the manufacturer is the brand', () => {
  const rows = [['1', 'Bosch']];
  assert.deepEqual(suggest(['sku', 'Hersteller'], rows).attributes, { Brand: 'Hersteller', '*': '*' });
  assert.equal(suggest(['sku', 'brand', 'Hersteller'], [['1', 'Bosch', 'Bosch GmbH']]).attributes, '*');
});

test('default columns of the format come first, if the file has them', () => {
  const columns = ['SUPPLIER_PID', 'EAN', 'PRICE.net_list', 'MANUFACTURER_NAME', 'sku'];
  const rows = makeRows(columns, [['M1', '400', '19.90 EUR', 'Acme', 'x']]);
  const { mapping, reasons } = suggestMapping(columns, rows, findDefaultMapping('bmecat'));
  assert.deepEqual(mapping, {
    identifier: 'SUPPLIER_PID',
    attributes: { Brand: 'MANUFACTURER_NAME', '*': '*' },
  });
  assert.deepEqual(
    reasons.map(({ by }) => by),
    ['format', 'format'],
  );
});

test('every suggestion fits the schema and can be compiled, whatever the file contains', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 12 }),
    fc.constantFrom('sku', 'title', 'image', 'Preis', '__proto__', '*'),
  );
  const cell = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom('1.299,00', 'a > b', 'https://x.example/1.jpg', ''),
  );
  const file = fc.tuple(
    fc.uniqueArray(name, { maxLength: 8 }),
    fc.array(fc.array(cell, { maxLength: 8 }), { maxLength: 5 }),
  );
  fc.assert(
    fc.property(file, ([columns, rows]) => {
      const { mapping } = suggestMapping(columns, makeRows(columns, rows));
      const whole = { identifier: 'x', name: 'y', ...mapping };
      assert.deepEqual([...Value.Errors(MappingSchema, whole)], []);
      compileMapping(whole, 'full');
    }),
  );
});
