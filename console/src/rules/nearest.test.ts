// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNearest } from './nearest.ts';

test('finds the nearest name with up to two wrong letters', () => {
  const names = ['Color', 'Colour code', 'Weight', 'Width'];
  assert.equal(findNearest('Colour', names), 'Color');
  assert.equal(findNearest('wieght', names), 'Weight');
  assert.equal(findNearest('Height', names), 'Weight');
  assert.equal(findNearest('Depth', names), undefined);
  assert.equal(findNearest('Wi', names), undefined);
});
