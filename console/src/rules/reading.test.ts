import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readingOf } from './reading.ts';

test('a number is told as it was understood where it was sent in another form (§11.3)', () => {
  const fact = { attributeId: 1, valueId: 1, type: 'NUMERIC_ATTRIBUTE' };
  assert.equal(readingOf('1.234,5 g', { ...fact, number: 1234.5, unit: 'g' }), '1234.5 g');
  assert.equal(readingOf('1.500', { ...fact, number: 1500 }), '1500');
  assert.equal(readingOf('2209.00 EUR', { ...fact, number: 2209, unit: 'EUR' }), undefined);
  assert.equal(readingOf('red', { ...fact, type: 'TEXT_ATTRIBUTE' }), undefined);
});
