import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mapping } from '@relata/client';
import { guessFormat, readAttributes, withColumn, writeAttributes } from './pipeline-draft.ts';

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
