// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAll } from '../../../test/support/formats/format-reading.ts';
import { compileMapping, type Mapping } from './mapping.ts';

const SLOTS = `{"products":[{"sku":"A1","name":"Board","slots":[{"size":"2280 ","key":"M"},{"size":"2242","key":"B"}],"tags":["x","y"]}]}`;

async function mapFirst(mapping: Mapping, text: string, type: 'json' | 'csv' = 'json') {
  const { rows } = await readAll({ type }, text);
  const outcome = compileMapping(mapping, 'full').mapRow(rows[0] as (typeof rows)[number]);
  assert.ok('product' in outcome, JSON.stringify(outcome));
  return outcome.product.attributes;
}

test('lists of objects become rows, and keep their path as name (§13.8 rule 12)', async () => {
  const rows = [
    { key: 'slots.size', value: '2280 ', row: 1 },
    { key: 'slots.size', value: '2242', row: 2 },
    { key: 'slots.key', value: 'M', row: 1 },
    { key: 'slots.key', value: 'B', row: 2 },
    { key: 'tags', value: 'x' },
    { key: 'tags', value: 'y' },
  ];
  assert.deepEqual(
    (await mapFirst({ identifier: 'sku', name: 'name', attributes: '*' }, SLOTS))?.toSorted((a, b) =>
      a.key < b.key ? 1 : -1,
    ),
    rows.toSorted((a, b) => (a.key < b.key ? 1 : -1)),
  );
  const named = { Size: { column: 'slots.size', trim: true, unit: 'mm' } };
  assert.deepEqual(await mapFirst({ identifier: 'sku', name: 'name', attributes: named }, SLOTS), [
    { key: 'Size', value: '2280 mm', row: 1 },
    { key: 'Size', value: '2242 mm', row: 2 },
  ]);
});

test('targets without a quantity are read as one list, whose gaps get no default (§13.9)', async () => {
  const text =
    '{"products":[{"sku":"A1","parts":[{"sku":"B1"},{"sku":""}]},{"sku":"A2","parts":[{"sku":""}]}]}';
  const { rows } = await readAll({ type: 'json' }, text);
  const mapping: Mapping = { source: 'sku', targets: { column: 'parts.sku', default: 'NONE' } };
  const targets = rows.map((row) => {
    const outcome = compileMapping(mapping, 'links').mapRow(row);
    return 'product' in outcome && outcome.product.targets;
  });
  assert.deepEqual(targets, [['B1'], ['NONE']]);
});

test('a key after the sign | begins a new row of keys and values (§13.8 rule 12)', async () => {
  const mapping: Mapping = { identifier: 'sku', name: 'sku', keyValues: [{ column: 'kv' }] };
  assert.deepEqual(await mapFirst(mapping, 'sku,kv\nA1,"a=1,b=2|a=3,b=4"\n', 'csv'), [
    { key: 'a', value: '1', row: 1 },
    { key: 'b', value: '2', row: 1 },
    { key: 'a', value: '3', row: 2 },
    { key: 'b', value: '4', row: 2 },
  ]);
  const split: Mapping = { ...mapping, keyValues: [{ column: 'kv', split: '|' }] };
  for (const refusedMapping of [mapping, split])
    assert.ok(
      (await mapFirst(refusedMapping, 'sku,kv\nA1,"color=red|blue,size=M"\n', 'csv'))?.every(
        ({ row }) => row === undefined,
      ),
    );
});
