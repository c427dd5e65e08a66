import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mistakeAt } from './mistakes.ts';

test('a mistake is shown at its place and above', () => {
  const details = ['/trigger/cron: must have five fields', '/source/headers/X-A: must be text'];
  assert.equal(mistakeAt(details, '/trigger/cron'), 'must have five fields');
  assert.equal(mistakeAt(details, '/source/headers'), 'must be text');
  assert.equal(mistakeAt(details, '/trigger/c'), undefined);
});
