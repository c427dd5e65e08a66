// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAll, readInEveryWay, readValues } from '../../../test/support/formats/format-reading.ts';

const woocommerce = { type: 'woocommerce-csv' } as const;

/** An export of WooCommerce with fewer columns. */
const EXPORT = `ID,Type,SKU,Name,Categories,Images,Parent,"Attribute 1 name","Attribute 1 value(s)","Attribute 1 visible","Attribute 1 global"
10,variable,HOODIE,Hoodie,"Clothing, Clothing > Hoodies","https://s.example/a.jpg, https://s.example/b.jpg",,Colour,"Blue, Green",1,1
11,"variation, virtual",HOODIE-B,"Hoodie - Blue",,https://s.example/a.jpg,HOODIE,Colour,Blue,,1
12,simple,CAP,Cap,"Hats\\, caps > Wool",,,,,,
`;

test('a row is a product or a variation in the group of its parent, and attributes are columns (§13.7)', async () => {
  const [parent, variation, simple] = await readValues(woocommerce, EXPORT);
  assert.deepEqual(parent, {
    ID: '10',
    Type: 'variable',
    SKU: 'HOODIE',
    Name: 'Hoodie',
    Categories: ['Clothing', 'Clothing > Hoodies'],
    Images: ['https://s.example/a.jpg', 'https://s.example/b.jpg'],
    Parent: 'HOODIE',
    Colour: ['Blue', 'Green'],
  });
  assert.deepEqual([variation?.Parent, variation?.Colour], ['HOODIE', ['Blue']]);
  assert.deepEqual(
    [simple?.Parent, simple?.Categories, simple?.Images],
    ['', ['Hats, caps > Wool'], undefined],
  );
});

test('an attribute with the name of a column gets a separate column', async () => {
  const [row] = await readValues(
    woocommerce,
    'SKU,Name,Attribute 1 name,Attribute 1 value(s)\nA,Cap,Name,x\n',
  );
  assert.deepEqual(row, { SKU: 'A', Name: 'Cap', 'Attribute Name': ['x'] });
});

test('a parent without a SKU is identified by its ID, as its variations name it', async () => {
  const file = 'ID,Type,SKU,Parent\n7,variable,,\n8,variation,A,id:7\n';
  const rows = await readValues(woocommerce, file);
  assert.deepEqual(
    rows.map(({ Parent }) => Parent),
    ['id:7', 'id:7'],
  );
});

test('chunks of any size give the same rows, and the delimiter is detected', async () => {
  const { rows, found } = await readInEveryWay(woocommerce, EXPORT);
  assert.equal(rows.length, 3);
  assert.equal(found.delimiter, ',');
  const semicolons = await readAll(woocommerce, 'SKU;Name\nA;Cap\n');
  assert.deepEqual([semicolons.found.delimiter, semicolons.columns], [';', ['SKU', 'Name']]);
});

test('a row without SKU has its ID, and a file that customers pay for is never read (§13.7)', async () => {
  const text =
    'ID,Type,SKU,Name,Parent,Images,Download 1 name,Download 1 URL\n7,simple,,Song,,a.jpg,b.jpg,https://s.example/b.jpg\n8,simple,S8,Bag,,,,\n';
  const { rows, columns } = await readAll({ type: 'woocommerce-csv' }, text);
  assert.deepEqual(
    rows.map(({ values }) => [values.SKU, values.Images]),
    [
      ['id:7', ['a.jpg']],
      ['S8', undefined],
    ],
  );
  assert.ok(!columns.some((name) => name.startsWith('Download')));
});
