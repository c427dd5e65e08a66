// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listProblems, readAll, readInEveryWay } from '../../../test/support/formats/format-reading.ts';

const native = { type: 'native' } as const;

const PRODUCTS = [
  {
    identifier: 'A1',
    name: 'Cordless drill 18 V',
    categories: [{ path: ['Tools', 'Drills'], priority: 1 }],
    images: [{ url: 'https://shop.example/i/a1.jpg', type: 'LARGE' }],
    attributes: [
      { key: 'Length', value: '12.5 in' },
      { key: 'Price', value: '99.00', userGroups: ['trade'] },
    ],
    settings: null,
  },
  { identifier: 'A2', name: 'Saw', attributes: { Weight: null, Colour: ['red'] } },
];

const shapes = [
  { name: 'an upload', text: JSON.stringify({ products: PRODUCTS }) },
  {
    name: 'an indented upload',
    text: `\n ${JSON.stringify({ products: PRODUCTS }, undefined, 2)}\n`,
  },
  { name: 'a list', text: JSON.stringify(PRODUCTS, undefined, 1) },
  {
    name: 'one product per line',
    text: PRODUCTS.map((product) => `${JSON.stringify(product)}\r\n`).join(''),
  },
];
for (const { name, text } of shapes)
  test(`reads products unchanged from ${name}`, async () => {
    const { rows } = await readInEveryWay(native, text);
    assert.deepEqual(JSON.parse(JSON.stringify(rows.map(({ source }) => source))), PRODUCTS);
    assert.deepEqual(listProblems(rows), []);
    assert.equal(rows[0]?.values.identifier, 'A1');
    assert.deepEqual(rows[0]?.values['attributes.value'], ['12.5 in', '99.00']);
  });

test('only the list products of an object is read as products', async () => {
  const { rows } = await readAll(native, '{"items":[{"identifier":"A1"}]}');
  assert.deepEqual(
    Object.keys(rows[0]?.values ?? {}),
    ['items.identifier'],
    'the object itself is read as a product',
  );
  await assert.rejects(readAll(native, '{"products":{}}'), { reason: 'not_found' });
  await assert.rejects(readAll(native, '{"products":[{"identifier":"A1"}'), { reason: 'broken_off' });
});

test('a file without products has no rows', async () => {
  for (const text of ['{"products":[]}', '[]', '', '\n'])
    assert.deepEqual((await readAll(native, text)).rows, []);
});
