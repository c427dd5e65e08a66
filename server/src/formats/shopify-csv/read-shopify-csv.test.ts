// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  listProblems,
  readAll,
  readInEveryWay,
  readValues,
} from '../../../test/support/formats/format-reading.ts';

const shopify = { type: 'shopify-csv' } as const;

const EXPORT = `Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Option3 Name,Option3 Value,Variant SKU,Variant Grams,Variant Price,Variant Barcode,Image Src,Image Position,Image Alt Text,Gift Card,Variant Image,Cost per item,Price / International,Status
shirt,Linen shirt,"<p>Soft,
cool</p>",Weave & Co,Apparel & Accessories > Clothing > Shirts,Shirts,"linen, summer",TRUE,Size,S,Colour,White,,,SH-S-W,200,49.00,4006381333931,https://cdn.example/2.jpg,2,Front,FALSE,https://cdn.example/w.jpg,20.00,55.00,active
shirt,,,,,,,,,M,,White,,,SH-M-W,210,49.00,,https://cdn.example/1.jpg,1,Back,,,21.00,,
shirt,,,,,,,,,M,,Blue,,,SH-M-B,210,52.00,,,,,,https://cdn.example/1.jpg,,,
shirt,,,,,,,,,,,,,,,,,,https://cdn.example/3.jpg,3,Detail,,,,,
mug,Mug,,Pott,,Cups,,TRUE,Title,Default Title,,,,,MUG,300,9.99,,,,,FALSE,,,,active
`;

test('each variant is a row with the fields of its product, its options by name, and all pictures with its own first', async () => {
  const { rows, columns } = await readInEveryWay(shopify, EXPORT);
  const product = {
    Handle: 'shirt',
    Title: 'Linen shirt',
    'Body (HTML)': '<p>Soft,\ncool</p>',
    Vendor: 'Weave & Co',
    'Product Category': 'Apparel & Accessories > Clothing > Shirts',
    Type: 'Shirts',
    Tags: ['linen', 'summer'],
    Published: 'TRUE',
    'Gift Card': 'FALSE',
    Status: 'active',
  };
  const image = (name: string) => `https://cdn.example/${name}.jpg`;
  assert.deepEqual(
    rows.map(({ number, values }) => ({ number, ...values })),
    [
      {
        number: 2,
        ...product,
        Size: 'S',
        Colour: 'White',
        'Variant SKU': 'SH-S-W',
        'Variant Grams': '200',
        'Variant Price': '49.00',
        'Variant Barcode': '4006381333931',
        'Cost per item': '20.00',
        'Price / International': '55.00',
        'Image Src': [image('w'), image('1'), image('2'), image('3')],
      },
      {
        number: 4,
        ...product,
        Size: 'M',
        Colour: 'White',
        'Variant SKU': 'SH-M-W',
        'Variant Grams': '210',
        'Variant Price': '49.00',
        'Variant Barcode': '',
        'Cost per item': '21.00',
        'Price / International': '',
        'Image Src': [image('1'), image('2'), image('3')],
      },
      {
        number: 5,
        ...product,
        Size: 'M',
        Colour: 'Blue',
        'Variant SKU': 'SH-M-B',
        'Variant Grams': '210',
        'Variant Price': '52.00',
        'Variant Barcode': '',
        'Cost per item': '',
        'Price / International': '',
        'Image Src': [image('1'), image('2'), image('3')],
      },
      {
        number: 7,
        Handle: 'mug',
        Title: 'Mug',
        'Body (HTML)': '',
        Vendor: 'Pott',
        'Product Category': '',
        Type: 'Cups',
        Tags: '',
        Published: 'TRUE',
        'Gift Card': 'FALSE',
        Status: 'active',
        'Variant SKU': 'MUG',
        'Variant Grams': '300',
        'Variant Price': '9.99',
        'Variant Barcode': '',
        'Cost per item': '',
        'Price / International': '',
      },
    ],
  );
  assert.ok(!columns.includes('Option1 Name') && columns.includes('Size'));
});

test("today's template has other names and gives the same columns", async () => {
  const text = `Title,URL handle,Description,Vendor,Product category,Published on online store,SKU,Barcode,Option1 name,Option1 value,Price,Compare-at price,Weight value (grams),Product image URL,Image position,Variant image URL,Color (product.metafields.shopify.color-pattern)
Shirt,shirt,Soft,Weave,Clothing > Shirts,TRUE,SH-S,400,Size,S,49.00,59.00,200,https://a/1.jpg,1,,white
,shirt,,,,,SH-M,401,,M,49.00,,210,,,,
`;
  assert.deepEqual(await readValues(shopify, text), [
    {
      Title: 'Shirt',
      Handle: 'shirt',
      'Body (HTML)': 'Soft',
      Vendor: 'Weave',
      'Product Category': 'Clothing > Shirts',
      Published: 'TRUE',
      'Variant SKU': 'SH-S',
      'Variant Barcode': '400',
      Size: 'S',
      'Variant Price': '49.00',
      'Variant Compare At Price': '59.00',
      'Variant Grams': '200',
      'Image Src': ['https://a/1.jpg'],
      'Color (product.metafields.shopify.color-pattern)': 'white',
    },
    {
      Title: 'Shirt',
      Handle: 'shirt',
      'Body (HTML)': 'Soft',
      Vendor: 'Weave',
      'Product Category': 'Clothing > Shirts',
      Published: 'TRUE',
      'Variant SKU': 'SH-M',
      'Variant Barcode': '401',
      Size: 'M',
      'Variant Price': '49.00',
      'Variant Compare At Price': '',
      'Variant Grams': '210',
      'Image Src': ['https://a/1.jpg'],
      'Color (product.metafields.shopify.color-pattern)': 'white',
    },
  ]);
});

test('an option with the name of a column does not replace that column', async () => {
  const text =
    'Handle,Title,Vendor,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Variant SKU\na,A,V,Vendor,x,,y,1\n';
  assert.deepEqual(await readValues(shopify, text), [
    { Handle: 'a', Title: 'A', Vendor: 'V', 'Option Vendor': 'x', Option2: 'y', 'Variant SKU': '1' },
  ]);
});

test('rows of one Handle that do not follow one another are reported', async () => {
  const text =
    'Handle,Title,Option1 Name,Option1 Value,Variant SKU\na,A,Size,S,1\nb,B,Size,S,2\na,,,M,3\n,C,,,4\n';
  const { rows } = await readInEveryWay(shopify, text);
  assert.deepEqual(listProblems(rows), [
    '4 group the Title is missing: rows of one Handle have to follow one another, and the row with the Title comes first',
  ]);
  assert.deepEqual(
    rows.map(({ values }) => values['Variant SKU']),
    ['1', '2', '3', '4'],
  );
});

test('a broken row is reported, and the other rows of its product are read', async () => {
  const text = 'Handle,Title,Option1 Name,Option1 Value,Variant SKU\na,A,Size,S,1\na,,,M\na,,,L,3\n';
  const { rows } = await readInEveryWay(shopify, text);
  assert.deepEqual(listProblems(rows), ['3 field_count 4 values for 5 columns']);
  assert.deepEqual(
    rows
      .filter(({ problems }) => problems === undefined)
      .map(({ values }) => [values['Variant SKU'], values.Size, values.Title]),
    [
      ['1', 'S', 'A'],
      ['3', 'L', 'A'],
    ],
  );
});

test('a product of endless rows is refused', async () => {
  const rows = Array.from({ length: 3_000 }, (_, index) => `a,,${index}`);
  await assert.rejects(readAll(shopify, `Handle,Title,Variant SKU\na,A,x\n${rows.join('\n')}`), {
    reason: 'too_large',
    line: 2_503,
  });
});

test('Handle and options identify variants without a SKU', async () => {
  const text = `Handle,Title,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Variant SKU,Variant Price
ring,Ring,Title,Default Title,,,,10
shirt,Shirt,Size,M,Color,red,,20
shirt,,,L,,red,,20
shirt,,,XL,,red,SH-XL,20
`;
  const rows = await readValues(shopify, text);
  assert.deepEqual(
    rows.map((row) => row['Variant SKU']),
    ['ring', 'shirt/M/red', 'shirt/L/red', 'SH-XL'],
  );
});
