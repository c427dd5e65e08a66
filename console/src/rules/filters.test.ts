// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Filter, RelationDefinition } from '@relata/client';
import {
  asGroup,
  describeFilter,
  listAttributes,
  pruneFilter,
  readGroup,
  readValue,
  writeGroup,
} from './filters.ts';

test('groups keep their meaning when read and written (§12.2)', () => {
  const filters: Filter[] = [
    { all: [] },
    { any: [{ category: ['Tools'] }] },
    { not: { any: [{ identifiers: ['A'] }, { category: ['B'] }] } },
  ];
  for (const filter of filters) assert.deepEqual(writeGroup(asGroup(filter)), filter);
  const single: Filter = { attribute: 'Colour', operator: 'equals', value: 'red' };
  assert.equal(readGroup(single), undefined);
  assert.deepEqual(writeGroup(asGroup(single)), { all: [single] });
  assert.deepEqual(writeGroup(asGroup({ not: single })), { not: { any: [single] } });
});

test('reads a plain number for a numeric attribute as a number, and all other input as text (§12.2 rule 6)', () => {
  assert.equal(readValue('12.5', 'less', true), 12.5);
  assert.equal(readValue('12.5 in', 'less', true), '12.5 in');
  assert.equal(readValue('12.5', 'equals', false), '12.5');
  assert.deepEqual(readValue('1, 2', 'between', true), [1, 2]);
  assert.deepEqual(readValue('red, blue', 'in', false), ['red', 'blue']);
  assert.equal(readValue('anything', 'exists', false), undefined);
});

test('a preview leaves out incomplete rows of a filter', () => {
  const half: Filter = {
    all: [
      { attribute: '', operator: 'equals', value: '' },
      { attribute: 'Length', operator: 'between', value: [1] as number[] as [number, number] },
      { category: [] },
      { any: [{ attribute: 'Colour', operator: 'exists' }] },
    ],
  };
  assert.deepEqual(pruneFilter(half), { all: [{ any: [{ attribute: 'Colour', operator: 'exists' }] }] });
});

test('describes a filter in words', () => {
  const filter: Filter = {
    all: [{ category: ['Tools', 'Drills'] }, { not: { attribute: 'Voltage', operator: 'less', value: 12 } }],
  };
  assert.equal(describeFilter(filter), 'category Tools › Drills and not (Voltage is less than 12)');
  assert.equal(describeFilter({ all: [] }), 'every product');
});

test('lists the attributes in the sides, matches and sort order of a relation', () => {
  const relation: RelationDefinition = {
    name: 'Bits',
    tag: 'accessories',
    source: { not: { any: [{ attribute: 'Voltage', operator: 'exists' }, { category: ['Tools'] }] } },
    target: { all: [{ any: [{ attribute: 'Price', operator: 'less', value: 9 }] }, { identifiers: ['A1'] }] },
    match: [{ target: 'Shank', operator: 'equals', source: 'Chuck' }],
    sort: [{ attribute: 'Rank', direction: 'asc' }],
  };
  assert.deepEqual([...listAttributes(relation)].sort(), ['Chuck', 'Price', 'Rank', 'Shank', 'Voltage']);
  assert.deepEqual([...listAttributes({ name: '', tag: '', source: { all: [] }, target: { all: [] } })], []);
});
