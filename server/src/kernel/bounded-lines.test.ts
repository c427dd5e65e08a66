// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundLines } from './bounded-lines.ts';

test('lines that fit are all told, of more as many as may be and how many are left (§7.3 rule 7)', () => {
  const bounds = { most: 3, bytes: 40 };
  assert.deepEqual(boundLines(['a ', 'b', 'c'], bounds), ['a', 'b', 'c']);
  assert.deepEqual(boundLines(['a', 'b', 'c', 'd'], bounds), ['a', 'b', 'c', 'and 1 more']);
  assert.deepEqual(boundLines(['x'.repeat(20), 'y'.repeat(20)], bounds), ['x'.repeat(20), 'and 1 more']);
  assert.deepEqual(boundLines(['\0'.repeat(10)], bounds), ['and 1 more'], 'bytes are those of JSON');
});

test('a long line is cut (§7.3 rule 7)', () => {
  assert.deepEqual(boundLines(['x'.repeat(5_000)], { most: 3, bytes: 9_999 }), ['x'.repeat(1_000)]);
  const pairs = `x${'😀'.repeat(2_000)}`;
  assert.deepEqual(
    boundLines([pairs], { most: 3, bytes: 9_999 }),
    [`x${'😀'.repeat(999)}`],
    'no pair is split',
  );
});

test('a line can be written as JSON that strict readers accept (§7.3 rule 7)', () => {
  assert.deepEqual(boundLines(['/a\ud800 must be b'], { most: 3, bytes: 99 }), ['/a\ufffd must be b']);
});
