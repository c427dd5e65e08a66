// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ColumnValue, createColumns } from '../../formats/input/source-row.ts';
import { compileMapping, type Mapping, type PipelineMode } from './mapping.ts';

const base = { identifier: 'sku', name: 'name' } as const;

function map(mapping: Mapping, cells: Record<string, ColumnValue>, mode: PipelineMode = 'full') {
  const values = Object.assign(createColumns<ColumnValue>(), { sku: 'A1', name: 'Hoodie', ...cells });
  return compileMapping(mapping, mode).mapRow({ number: 2, values, source: values });
}

function attributesOf(mapping: Mapping, cells: Record<string, ColumnValue>, mode?: PipelineMode) {
  const outcome = map(mapping, cells, mode);
  assert.ok('product' in outcome, JSON.stringify(outcome));
  return outcome.product.attributes?.map(({ key, value }) => [key, value]);
}

test('a cell of keys and values becomes attributes, and a value may contain the separator (§13.8 rule 10)', () => {
  const keyValues = [{ column: 'additional', split: '|' }];
  const additional = 'color=Black|Grey,material=Fleece, brushed,size=M,note=a=b,__proto__=x,empty=';
  assert.deepEqual(attributesOf({ ...base, keyValues, attributes: '*' }, { additional, price: '5' }), [
    ...[
      ['color', 'Black'],
      ['color', 'Grey'],
    ],
    ...[
      ['material', 'Fleece, brushed'],
      ['size', 'M'],
      ['note', 'a=b'],
      ['__proto__', 'x'],
      ['price', '5'],
    ],
  ]);
  assert.equal(attributesOf({ ...base, keyValues }, { additional: '' }), undefined);
});

test('keys and values may have other separators (§13.8 rule 10)', () => {
  const keyValues = [{ column: 'more', separator: ';', assign: ':' }];
  assert.deepEqual(attributesOf({ ...base, keyValues }, { more: 'Farbe: rot; Maß: 5 x 3' }), [
    ['Farbe', 'rot'],
    ['Maß', '5 x 3'],
  ]);
});

test('in mode partial, an empty value removes its attribute if the mapping says so (§13.8 rule 5)', () => {
  const keyValues = [{ column: 'more' }];
  const cells = { more: 'a=1,b=' };
  assert.deepEqual(attributesOf({ ...base, keyValues }, cells, 'partial'), [['a', '1']]);
  assert.deepEqual(attributesOf({ ...base, keyValues, emptyCells: 'remove' }, cells, 'partial'), [
    ['a', '1'],
    ['b', null],
  ]);
});

test('a cell without a key rejects its row (§13.2 rule 7)', () => {
  const outcome = map({ ...base, keyValues: [{ column: 'more' }] }, { more: 'just words' });
  assert.deepEqual('problems' in outcome && outcome.problems, [
    { field: 'keyValues', column: 'more', reason: '"just words" does not begin with a key' },
  ]);
});

test('categories come from several columns, and several from one cell (§13.8 rule 9)', () => {
  const categories = [
    { from: { column: 'paths', split: ',', trim: true }, separator: '/' },
    { from: 'type' },
  ];
  const outcome = map({ ...base, categories }, { paths: 'Men/Tops, Sale', type: 'Sale' });
  assert.deepEqual('product' in outcome && outcome.product.categories, [
    { path: ['Men', 'Tops'] },
    { path: ['Sale'] },
  ]);
  const many = Array.from({ length: 60 }, (_, index) => `c${index}`).join(',');
  const types = Array.from({ length: 60 }, (_, index) => `d${index}`);
  assert.ok('problems' in map({ ...base, categories }, { paths: many, type: types }));
});

test('a column is required unless every use of it is marked as optional (§13.8 rule 8)', () => {
  const optional = { column: 'a', optional: true };
  const columnsOf = (mapping: Mapping) => compileMapping(mapping, 'full').columns;
  assert.deepEqual(columnsOf({ ...base, attributes: { A: optional } }), ['sku', 'name']);
  assert.deepEqual(columnsOf({ ...base, attributes: { A: optional, B: 'a' } }), ['sku', 'name', 'a']);
});
