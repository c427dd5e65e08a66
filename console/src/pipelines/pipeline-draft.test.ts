// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mapping } from '@relata/client';
import { guessFormat, readAttributes, splitList, withColumn, writeAttributes } from './pipeline-draft.ts';

test('attributes are read and written as they were, with and without all the rest (§13.8)', () => {
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

test('another column keeps what is done with it', () => {
  assert.deepEqual(withColumn({ column: 'a', trim: true }, 'b'), { column: 'b', trim: true });
  assert.equal(withColumn('a', 'b'), 'b');
  assert.equal(withColumn({ constant: 'x' }, 'b'), 'b');
  assert.equal(withColumn('a', ''), undefined);
});

test('the name of a file says what it is, packed or not', () => {
  const names = ['a.csv', 'A.XML', 'feed.jsonl.gz', 'feed.zip', 'feed'];
  assert.deepEqual(names.map(guessFormat), ['csv', 'xml', 'ndjson', undefined, undefined]);
});

test('a list in a cell is divided by one click, wherever the mapping has its column (§13.5 rule 11)', () => {
  const found = { column: 'a', separator: '|', values: 3, message: '' };
  const split = { column: 'a', split: '|', trim: true };
  const divide = (mapping: object, field: string) =>
    splitList({ identifier: 'sku', ...mapping }, { field, ...found });
  assert.deepEqual(divide({ attributes: '*' }, 'attributes.a').attributes, { a: split, '*': '*' });
  assert.deepEqual(divide({ attributes: { A: { column: 'a', case: 'upper' } } }, 'attributes.A').attributes, {
    A: { ...split, case: 'upper' },
  });
  assert.deepEqual(divide({ images: 'a' }, 'images').images, [split]);
  assert.deepEqual(divide({ categories: { from: 'a' } }, 'categories').categories, [{ from: split }]);
  assert.equal(divide({ source: 'sku', targets: 'a' }, 'targets').separator, '|');
});
