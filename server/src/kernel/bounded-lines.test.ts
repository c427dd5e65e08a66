// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundLines } from './bounded-lines.ts';

test('boundLines keeps the lines that fit and counts the omitted ones (§7.3 rule 7)', () => {
  const bounds = { most: 3, bytes: 40 };
  assert.deepEqual(boundLines(['a ', 'b', 'c'], bounds), ['a', 'b', 'c']);
  assert.deepEqual(boundLines(['a', 'b', 'c', 'd'], bounds), ['a', 'b', 'c', 'and 1 more']);
  assert.deepEqual(boundLines(['x'.repeat(20), 'y'.repeat(20)], bounds), ['x'.repeat(20), 'and 1 more']);
  assert.deepEqual(boundLines(['\0'.repeat(10)], bounds), ['and 1 more'], 'the limit counts bytes of JSON');
});

test('boundLines truncates a long line (§7.3 rule 7)', () => {
  assert.deepEqual(boundLines(['x'.repeat(5_000)], { most: 3, bytes: 9_999 }), ['x'.repeat(1_000)]);
  const pairs = `x${'😀'.repeat(2_000)}`;
  assert.deepEqual(
    boundLines([pairs], { most: 3, bytes: 9_999 }),
    [`x${'😀'.repeat(999)}`],
    'no surrogate pair is split',
  );
});

test('boundLines replaces a lone surrogate, which strict JSON parsers reject (§7.3 rule 7)', () => {
  assert.deepEqual(boundLines(['/a\ud800 must be b'], { most: 3, bytes: 99 }), ['/a\ufffd must be b']);
});
