// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withOption } from './choices.ts';

test('leaves out an option without a value', () => {
  assert.deepEqual(withOption({ type: 'csv', delimiter: ';' }, 'delimiter', ''), { type: 'csv' });
  assert.deepEqual(withOption({ type: 'csv' }, 'headerRow', 0), { type: 'csv', headerRow: 0 });
});
