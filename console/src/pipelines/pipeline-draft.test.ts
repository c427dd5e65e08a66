// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mapping } from '@relata/client';
import { guessFormat, readAttributes, splitList, withColumn, writeAttributes } from './pipeline-draft.ts';

test('attributes of a mapping stay the same when read and written, with and without all other columns (§13.8)', () => {
  const given: Mapping['attributes'][] = [
    undefined,
    '*',
    { A: 'a' },
    { A: { column: 'a', trim: true }, '*': '*' },
  ];
  for (const attributes of given) {
    const { chosen, hasRest } = readAttributes({ identifier: 'sku', ...(attributes && { attributes }) });
    assert.deepEqual(writeAttributes(chosen, hasRest), attributes);
  }
});

test('a field keeps its transformations when another column is chosen', () => {
  assert.deepEqual(withColumn({ column: 'a', trim: true }, 'b'), { column: 'b', trim: true });
  assert.equal(withColumn('a', 'b'), 'b');
  assert.equal(withColumn({ constant: 'x' }, 'b'), 'b');
  assert.equal(withColumn('a', ''), undefined);
});

test('a file name determines the format, also of a packed file', () => {
  const names = ['a.csv', 'A.XML', 'feed.jsonl.gz', 'feed.zip', 'feed'];
  assert.deepEqual(names.map(guessFormat), ['csv', 'xml', 'ndjson', undefined, undefined]);
});

test('splits a list in a cell wherever the mapping uses its column (§13.5 rule 11)', () => {
  const list = { column: 'a', separator: '|', values: 3, message: '' };
  const split = { column: 'a', split: '|', trim: true };
  const divide = (mapping: object, field: string) =>
    splitList({ identifier: 'sku', ...mapping }, { field, ...list });
  assert.deepEqual(divide({ attributes: '*' }, 'attributes.a').attributes, { a: split, '*': '*' });
  assert.deepEqual(divide({ attributes: { A: { column: 'a', case: 'upper' } } }, 'attributes.A').attributes, {
    A: { ...split, case: 'upper' },
  });
  assert.deepEqual(divide({ images: 'a' }, 'images').images, [split]);
  assert.deepEqual(divide({ categories: { from: 'a' } }, 'categories').categories, [{ from: split }]);
  assert.equal(divide({ source: 'sku', targets: 'a' }, 'targets').separator, '|');
});
