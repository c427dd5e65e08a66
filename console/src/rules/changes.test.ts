// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePart, listChanged, mergeChanges } from './changes.ts';

test('two parts with the same members in another order are equal', () => {
  const names = { name: 'Name', trigger: 'Start' };
  const before = { name: 'Nightly', trigger: { type: 'schedule', cron: '0 3 * * *' }, lastRunAt: 1 };
  const same = { name: 'Nightly', trigger: { cron: '0 3 * * *', type: 'schedule' }, lastRunAt: 2 };
  assert.deepEqual(listChanged(names, before, same), []);
  const other = { ...same, name: 'Daily', trigger: { type: 'schedule', cron: '0 4 * * *' } };
  assert.deepEqual(listChanged(names, before, other), ['name', 'trigger']);
});

test('shows a part as the user would type it, and a missing part as a word', () => {
  assert.deepEqual([describePart('a'), describePart(false), describePart('')], ['a', 'false', 'nothing']);
  assert.equal(describePart({ type: 'manual' }), '{\n "type": "manual"\n}');
});

test('merges a part that only one user has changed, and reports a part that both have changed differently', () => {
  const base = { name: 'Socket', type: 'text', synonyms: ['a', 'b'], unit: '', match: [{ target: 'A' }] };
  const mine = { ...base, type: 'number', synonyms: ['a', 'b', 'mine'], unit: 'mm', match: [] };
  const theirs = { ...base, name: 'CPU socket', synonyms: ['b', 'theirs'], unit: 'cm', match: [] };
  assert.deepEqual(mergeChanges({ base, mine, theirs }), {
    merged: { name: 'CPU socket', type: 'number', synonyms: ['b', 'theirs', 'mine'], unit: 'mm', match: [] },
    conflicts: ['unit'],
  });
  const without: { name: string; unit?: string } = { name: 'A' };
  assert.deepEqual(mergeChanges({ base: without, mine: without, theirs: { name: 'A', unit: 'mm' } }).merged, {
    ...without,
    unit: 'mm',
  });
});
