// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  listProblems,
  readAll,
  readCutAnywhere,
  readInEveryWay,
  readValues,
} from '../../../test/support/formats/format-reading.ts';
import { writePlainNumber } from '../input/plain-number.ts';

const json = { type: 'json' } as const;
const ndjson = { type: 'ndjson' } as const;

const FEED = `{
  "meta": { "tags": ["a", "b"], "none": [], "matrix": [[1]] },
  "data": { "products": [
    { "id": 1, "price": { "value": 19.90, "currency": "EUR" }, "images": [{ "url": "a" }, { "url": "b" }] },
    { "id": 2, "tags": ["x"], "empty": "", "none": null, "sold": true, "name": "M\\u00fctze \\ud83d\\ude00 \\"q\\"" }
  ] },
  "more": [{ "id": 3 }]
}`;

test('the first list of objects is read, and nested values get dotted names', async () => {
  const { rows, columns, found } = await readCutAnywhere(json, FEED);
  assert.equal(found.path, 'data.products');
  assert.deepEqual(
    rows.map(({ number, values }) => ({ number, ...values })),
    [
      { number: 1, id: '1', 'price.value': '19.90', 'price.currency': 'EUR', 'images.url': ['a', 'b'] },
      { number: 2, id: '2', tags: ['x'], empty: '', sold: 'true', name: 'Mütze 😀 "q"' },
    ],
  );
  assert.deepEqual(columns, [
    'id',
    'price.value',
    'price.currency',
    'images.url',
    'tags',
    'empty',
    'sold',
    'name',
  ]);
  assert.deepEqual(
    JSON.parse(JSON.stringify(rows.map(({ source }) => source))),
    JSON.parse(FEED).data.products,
  );
});

test('a path chooses the list of the rows', async () => {
  assert.deepEqual(await readValues({ ...json, path: 'more' }, FEED), [{ id: '3' }]);
  assert.deepEqual(await readValues({ ...json, path: '$' }, '[{"id":1}]'), [{ id: '1' }]);
  for (const path of ['nowhere', 'data', 'meta.tags.0', '$'])
    await assert.rejects(readAll({ ...json, path }, FEED), { reason: 'not_found' });
  const { rows } = await readAll({ ...json, path: 'meta.tags' }, FEED);
  assert.deepEqual(listProblems(rows), [
    '1 no_object this element is not an object',
    '2 no_object this element is not an object',
  ]);
});

test('the list may be the root or empty, and a missing list is reported', async () => {
  assert.deepEqual(await readValues(json, '[{"id":1}]'), [{ id: '1' }]);
  assert.deepEqual(await readValues(json, '[]'), []);
  assert.deepEqual(await readValues(json, '{"products":[]}'), []);
  for (const text of ['{}', '"text"', '7', '{"list":[1,2]}', '{"a":{"b":1}}'])
    await assert.rejects(readAll(json, text), { reason: 'not_found' }, text);
});

test('numbers keep every digit and lose their exponent', async () => {
  const text = '[{"a":12345678901234567890,"b":1.10,"c":1.5e-7,"d":-2E+3,"e":0,"f":-0.0,"g":1e999999999}]';
  const [row] = (await readInEveryWay(json, text)).rows;
  assert.deepEqual(
    { ...row?.values },
    {
      a: '12345678901234567890',
      b: '1.10',
      c: '0.00000015',
      d: '-2000',
      e: '0',
      f: '-0.0',
      g: '1e999999999',
    },
  );
});

test('a plain decimal is the same number as the written one', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = writePlainNumber(value.toExponential());
      assert.match(text, /^-?\d+(\.\d+)?$/);
      assert.ok(Object.is(Number(text), value) || value === 0);
    }),
  );
});

test('a name from a file never becomes a prototype', async () => {
  const text = '[{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}},"hasOwnProperty":"c"}]';
  const [row] = (await readInEveryWay(json, text)).rows;
  assert.deepEqual(Object.entries(row?.values ?? {}), [
    ['__proto__.a', '1'],
    ['constructor.prototype.b', '2'],
    ['hasOwnProperty', 'c'],
  ]);
  assert.deepEqual(Object.keys(row?.source as object), ['__proto__', 'constructor', 'hasOwnProperty']);
  assert.equal(Reflect.get(Object(row?.source), 'a'), undefined);
  assert.equal(({} as { a?: unknown; b?: unknown }).a, undefined);
});

test('an element that is not an object is an error of its row', async () => {
  const { rows } = await readInEveryWay(json, '[{"id":1},"text",[{"id":2}],null,{"id":3}]');
  assert.deepEqual(
    listProblems(rows),
    [2, 3, 4].map((number) => `${number} no_object this element is not an object`),
  );
  assert.equal(rows[4]?.values.id, '3');
});

test('a document that ends in the middle yields its complete rows, then fails with broken_off', async () => {
  const text = '{"products":[{"id":1},{"id":2.5,"ok":true}]}';
  for (let length = 0; length < text.length; length += 1)
    await assert.rejects(
      readAll(json, text.slice(0, length)),
      { name: 'FormatProblem', reason: 'broken_off' },
      `${length}`,
    );
});

const broken = [
  '[{"a":1}{"a":2}]',
  '[{"a":1},]',
  '[{"a" 1}]',
  "[{'a':1}]",
  '[{"a":01}]',
  '[{"a":NaN}]',
  '[{"a":"\n"}, {"b":1}]',
  '[] []',
  '[{"a":"\\x"}, {"b":1}]',
  'id,name',
];
for (const text of broken)
  test(`${JSON.stringify(text)} is not JSON`, async () => {
    await assert.rejects(readAll(json, text), {
      reason: 'damaged',
      message: /not JSON.* \(near the beginning\)$/,
    });
    await assert.rejects(readAll(json, text, { chunkBytes: 1 }), { name: 'FormatProblem' });
  });

const nested = (levels: number) => `${'{"a":['.repeat(levels)}1${']}'.repeat(levels)}`;

test('too deep nesting is refused within a row, around the list and in skipped parts', async () => {
  await assert.rejects(readAll(json, `[${nested(30)}]`), { reason: 'too_large' });
  await assert.rejects(readAll(json, '['.repeat(1_000_000)), { reason: 'too_large' });
  await assert.rejects(readAll(json, '{"a":'.repeat(1_000_000)), { reason: 'too_large' });
  await assert.rejects(readAll({ ...json, path: 'b' }, `{"a":${nested(100_000)},"b":[]}`), {
    reason: 'too_large',
  });
  assert.equal((await readAll(json, `[${nested(15)}]`)).rows.length, 1);
  const { rows } = await readAll(ndjson, `${nested(100_000)}\n{"id":1}`);
  assert.match(listProblems(rows).join(), /^1 too_large /);
  assert.equal(rows[1]?.values.id, '1');
});

test('a value of 10 MB, a row of many values and endless space are refused', async () => {
  await assert.rejects(readAll(json, `[{"a":"${'x'.repeat(10_000_000)}"}]`), { reason: 'too_large' });
  await assert.rejects(readAll(json, `[{"${'x'.repeat(10_000_000)}":1}]`), { reason: 'too_large' });
  await assert.rejects(readAll(json, `[{"a":${'1'.repeat(10_000_000)}}]`), { reason: 'too_large' });
  await assert.rejects(readAll(json, `[{"a":[${'1,'.repeat(1_000_000)}1]}]`), { reason: 'too_large' });
  await assert.rejects(
    readAll(json, `[{"a":{${Array.from({ length: 10_001 }, (_, index) => `"${index}":1`).join()}}}]`),
    { reason: 'too_large' },
  );
  await assert.rejects(readAll(json, `[${' '.repeat(10_000_000)}{"a":1}]`), { reason: 'too_large' });
});

test('ndjson reads a row per line, and an invalid line affects no other line', async () => {
  const lines = [
    '{"id":1}',
    '',
    '  ',
    '{"id":2',
    '{"id":3}\r',
    '[1]',
    'null',
    '{"id":4}{"id":5}',
    '{"id":6,"a":{"b":["c"]}}',
  ];
  const { rows, columns } = await readInEveryWay(ndjson, `\uFEFF${lines.join('\n')}`);
  assert.deepEqual(listProblems(rows), [
    '4 not_json The JSON ends in the middle',
    '6 no_object the line does not contain an object',
    '7 no_object the line does not contain an object',
    '8 not_json The text is not JSON: unexpected characters',
  ]);
  assert.deepEqual(
    rows.filter(({ problems }) => problems === undefined).map(({ number, values }) => [number, values.id]),
    [
      [1, '1'],
      [5, '3'],
      [9, '6'],
    ],
  );
  assert.deepEqual(columns, ['id', 'a.b']);
  assert.deepEqual({ ...rows.at(-1)?.values }, { id: '6', 'a.b': ['c'] });
});

test('an ndjson line that is too long is an error of that line and takes no memory', async () => {
  const long = `{"a":"${'x'.repeat(10_000_000)}"}`;
  const { rows } = await readAll(ndjson, `{"id":1}\n${long}\n{"id":2}\n${long}`, { chunkBytes: 100_000 });
  assert.deepEqual(listProblems(rows), [
    '2 too_large the line is too long',
    '4 too_large the line is too long',
  ]);
  assert.deepEqual(
    rows.map(({ values }) => values.id),
    ['1', undefined, '2', undefined],
  );
});

const jsonValue = fc.jsonValue({ maxDepth: 3 });

test('every list of objects that JSON can write is read back, as json and as ndjson', async () => {
  const lists = fc.array(fc.dictionary(fc.string(), jsonValue), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(lists, fc.integer({ min: 1, max: 50 }), async (list, chunkBytes) => {
      const asIs = (value: unknown) => JSON.parse(JSON.stringify(value));
      const sourcesOf = async (format: typeof json | typeof ndjson, text: string) =>
        asIs((await readAll(format, text, { chunkBytes })).rows.map(({ source }) => source));
      assert.deepEqual(await sourcesOf(json, JSON.stringify({ products: list })), asIs(list));
      assert.deepEqual(
        await sourcesOf(ndjson, list.map((row) => JSON.stringify(row)).join('\n')),
        asIs(list),
      );
    }),
    { numRuns: 60 },
  );
});

const XCHANGE = `{ "CatalogueName": [{ "Language": "en-GB", "CatalogueName": "A" }, { "Language": "nl-NL", "CatalogueName": "B" }],
  "Supplier": [
    { "SupplierName": "S", "SupplierIdGln": "1", "Product": [{ "ProductIdentification": { "ManufacturerProductNumber": "1", "ProductName": "a" },
      "Details": [{ "Language": "en", "FullProductDescription": "x" }] }] },
    { "SupplierName": "T", "Product": [{ "ProductIdentification": { "ManufacturerProductNumber": "2", "ProductName": "b" } }] }
  ] }`;

test('chooses the list whose elements look most like products, also within lists (§13.7)', async () => {
  const { rows, found, unread } = await readCutAnywhere(json, XCHANGE);
  assert.equal(found.path, 'Supplier.Product');
  assert.deepEqual(
    rows.map(({ values }) => values['ProductIdentification.ManufacturerProductNumber']),
    ['1', '2'],
  );
  assert.deepEqual(
    [...unread],
    [
      ['CatalogueName.Language', 2],
      ['CatalogueName.CatalogueName', 2],
      ['Supplier.SupplierName', 2],
      ['Supplier.SupplierIdGln', 1],
    ],
  );
});

const found = [
  { text: '{"brands":[{"id":1,"name":"a"}],"products":[{"id":1,"name":"b","price":2}]}', path: 'products' },
  { text: '{"products":[{"id":1,"variants":[{"sku":"a","name":"b","price":1}]}]}', path: 'products' },
  { text: '{"data":[{"id":1,"name":"a","offers":[{"sku":"b","title":"c","price":1}]}]}', path: 'data' },
  { text: '{"facets":[{"value":"a"}],"hits":[{"sku":"a","title":"b"}]}', path: 'hits' },
  {
    text: '{"suppliers":[{"id":1,"name":"a","products":[{"sku":"b","title":"c"}]}]}',
    path: 'suppliers.products',
  },
];
for (const { text, path } of found)
  test(`finds the products of ${text} in ${path} (§13.7)`, async () => {
    assert.equal((await readAll(json, text)).found.path, path);
  });

test('values in a list of objects have the number of their object as their row (§13.7)', async () => {
  const text =
    '[{"id":1,"slots":[{"size":"2280","key":"M"},{"size":"2242","keys":["B","M"]}],"fans":[{"rpm":9}],"tags":["x"]}]';
  for (const format of [json, ndjson]) {
    const [row] = (await readInEveryWay(format, format === json ? text : text.slice(1, -1))).rows;
    assert.deepEqual(
      { ...row?.rows },
      { 'slots.size': [1, 2], 'slots.key': [1], 'slots.keys': [2, 2], 'fans.rpm': [3] },
    );
  }
});
