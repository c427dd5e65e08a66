import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readingOf, sayValue } from './measures.ts';

const numeric = (number: number, unit?: string) => ({
  value: unit ? `${number} ${unit}` : String(number),
  fact: { type: 'NUMERIC_ATTRIBUTE', number, ...(unit && { unit }) } as never,
});

test('values are written as people write them, and nothing is guessed', () => {
  const said = [
    numeric(13_280, 'g'),
    numeric(60, 'mm'),
    numeric(2_000, 'GB'),
    numeric(2_209, 'EUR'),
    numeric(2_024),
    { value: 'TRUE', fact: { type: 'BOOLEAN_ATTRIBUTE' } as never },
    { value: 'false', fact: { type: 'BOOLEAN_ATTRIBUTE' } as never },
    { value: 'true', fact: null },
  ].map(sayValue);
  assert.deepEqual(said, ['13.28 kg', '60 mm', '2 TB', '€2,209.00', '2024', 'Yes', 'No', 'true']);
});

test('a number is told as it was understood where it was sent in another form (§11.3)', () => {
  const fact = { attributeId: 1, valueId: 1, type: 'NUMERIC_ATTRIBUTE' };
  assert.equal(readingOf('1.234,5 g', { ...fact, number: 1234.5, unit: 'g' }), '1234.5 g');
  assert.equal(readingOf('1.500', { ...fact, number: 1500 }), '1500');
  assert.equal(readingOf('2209.00 EUR', { ...fact, number: 2209, unit: 'EUR' }), undefined);
  assert.equal(readingOf('red', { ...fact, type: 'TEXT_ATTRIBUTE' }), undefined);
});
