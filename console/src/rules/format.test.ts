// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeBrowser, describeValue, formatAgo, formatDuration, readingOf, safeUrl } from './format.ts';

test('makes links only from http and https addresses (§14.5)', () => {
  assert.equal(safeUrl('https://shop.example/a'), 'https://shop.example/a');
  assert.equal(safeUrl('HTTP://shop.example'), 'http://shop.example/');
  for (const text of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    '//shop.example',
    'a',
    '',
    null,
  ])
    assert.equal(safeUrl(text), undefined, String(text));
});

test('formats instants and durations as people say them', () => {
  const now = Date.UTC(2026, 0, 2);
  assert.equal(formatAgo(now - 1_000, now), 'just now');
  assert.equal(formatAgo(now - 180_000, now), '3 minutes ago');
  assert.equal(formatAgo(now - 86_400_000, now), 'yesterday');
  assert.deepEqual([250, 1_400, 200_000].map(formatDuration), ['250 ms', '1.4 s', '3 min 20 s']);
});

test('names a session by its browser and its operating system', () => {
  const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)';
  assert.equal(describeBrowser(`${windows} Chrome/140.0.0.0 Safari/537.36`), 'Chrome on Windows');
  assert.equal(describeBrowser(`${windows} Chrome/140.0.0.0 Safari/537.36 Edg/140.0`), 'Edge on Windows');
  const phone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1';
  assert.equal(describeBrowser(phone), 'Safari on iPhone');
  assert.equal(describeBrowser('curl/8.5.0'), 'curl/8.5.0');
  assert.equal(describeBrowser(null), 'unknown browser');
});

const numeric = (number: number, unit?: string) => ({
  value: unit ? `${number} ${unit}` : String(number),
  fact: { type: 'NUMERIC_ATTRIBUTE' as const, number, ...(unit && { unit }) },
});

test('formats values as people write them, without guessing', () => {
  const formatted = [
    numeric(13_280, 'g'),
    numeric(60, 'mm'),
    numeric(2_000, 'GB'),
    numeric(2_209, 'EUR'),
    numeric(2_024),
    { value: 'TRUE', fact: { type: 'BOOLEAN_ATTRIBUTE' as const } },
    { value: 'false', fact: { type: 'BOOLEAN_ATTRIBUTE' as const } },
    { value: 'true', fact: null },
  ].map(describeValue);
  assert.deepEqual(formatted, ['13.28 kg', '60 mm', '2 TB', '€2,209.00', '2024', 'Yes', 'No', 'true']);
});

test('shows the number that was understood if it was sent in another form (§11.3)', () => {
  const fact = { attributeId: 1, valueId: 1, type: 'NUMERIC_ATTRIBUTE' };
  assert.equal(readingOf('1.234,5 g', { ...fact, number: 1234.5, unit: 'g' }), '1234.5 g');
  assert.equal(readingOf('1.500', { ...fact, number: 1500 }), '1500');
  assert.equal(readingOf('2209.00 EUR', { ...fact, number: 2209, unit: 'EUR' }), undefined);
  assert.equal(readingOf('red', { ...fact, type: 'TEXT_ATTRIBUTE' }), undefined);
});
