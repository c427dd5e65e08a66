// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeExtent, estimate, formatCounted, formatShare } from './sampled.ts';

const SAMPLE = { looked: 50_000, of: 66_778 };
const ALL = { looked: 66_778, of: 66_778 };

test('shows a count of a sample as an estimate for all products, with two digits and ≈', () => {
  assert.equal(formatCounted(630, SAMPLE), '≈ 840');
  assert.equal(estimate(50_000, SAMPLE), 67_000);
  assert.equal(formatCounted(0, SAMPLE), '≈ 0');
  assert.match(formatShare(0.47, SAMPLE), /^≈ 47\s?%$/);
  assert.equal(describeExtent(SAMPLE), '≈ from 50,000 of 66,778 products');
});

test('shows a count of all products without a mark', () => {
  assert.equal(formatCounted(779, ALL), '779');
  assert.match(formatShare(0.47, ALL), /^47\s?%$/);
  assert.equal(describeExtent(ALL), '');
  assert.equal(estimate(3, { looked: 0, of: 0 }), 3);
});
