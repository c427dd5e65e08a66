import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeMarks } from './marks.ts';

test('marks keep their order and their distance on the axis of time', () => {
  assert.deepEqual(placeMarks([0, 50, 100], 0), [0, 0.5, 1]);
  assert.deepEqual(
    placeMarks([0, 1, 100], 0.1).map((at) => Math.round(at * 100)),
    [0, 11, 100],
  );
  assert.deepEqual(placeMarks([5], 0.1), [0]);
  assert.deepEqual(placeMarks([1, 2, 3], 0.9), [0, 0.5, 1]);
});
