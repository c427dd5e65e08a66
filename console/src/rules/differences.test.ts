// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listDifferences } from './differences.ts';

test('compares two versions of a product field by field, and leaves out equal fields', () => {
  const before = {
    name: 'Drill',
    groupIdentifier: 'A',
    categories: [{ path: ['Tools', 'Drills'] }],
    attributes: [
      { key: 'name', value: 'of old' },
      { key: 'Colour', value: 'red' },
      { key: 'Colour', value: 'blue', userGroups: ['trade'] },
      { key: 'Weight', value: '1 kg' },
    ],
  };
  const after = {
    name: 'Drill 18 V',
    groupIdentifier: 'A',
    categories: [],
    attributes: [
      { key: 'Weight', value: '1 kg' },
      { key: 'Colour', value: 'red' },
      { key: 'Price', value: '9' },
    ],
  };
  assert.deepEqual(
    listDifferences(before, after).map(({ field, isAttribute, ...sides }) => [field, isAttribute, sides]),
    [
      ['name', false, { before: ['Drill'], after: ['Drill 18 V'] }],
      ['categories', false, { before: ['Tools › Drills'], after: [] }],
      ['name', true, { before: ['of old'], after: [] }],
      ['Colour', true, { before: ['red', 'blue (trade)'], after: ['red'] }],
      ['Price', true, { before: [], after: ['9'] }],
    ],
  );
  assert.deepEqual(listDifferences(before, before), []);
});

test('shows all fields of a created product as new', () => {
  assert.deepEqual(listDifferences(null, { name: 'Drill', images: [{ url: 'https://a', type: 'LARGE' }] }), [
    { field: 'name', isAttribute: false, before: [], after: ['Drill'] },
    { field: 'images', isAttribute: false, before: [], after: ['LARGE https://a'] },
  ]);
});
