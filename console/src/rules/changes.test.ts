// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePart, listChanged, mergeChanges } from './changes.ts';

test('parts differ by what they say, not by the order of their members', () => {
  const names = { name: 'Name', trigger: 'Start' };
  const before = { name: 'Nightly', trigger: { type: 'schedule', cron: '0 3 * * *' }, lastRunAt: 1 };
  const same = { name: 'Nightly', trigger: { cron: '0 3 * * *', type: 'schedule' }, lastRunAt: 2 };
  assert.deepEqual(listChanged(names, before, same), []);
  const other = { ...same, name: 'Daily', trigger: { type: 'schedule', cron: '0 4 * * *' } };
  assert.deepEqual(listChanged(names, before, other), ['name', 'trigger']);
});

test('a part is shown as it would be typed, and one that is left out by a word', () => {
  assert.deepEqual([describePart('a'), describePart(false), describePart('')], ['a', 'false', 'nothing']);
  assert.equal(describePart({ type: 'manual' }), '{\n "type": "manual"\n}');
});

test('what only one of two people has changed is merged, and what both have changed differently is a conflict', () => {
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
