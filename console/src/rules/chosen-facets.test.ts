// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Facet } from '@relata/client';
import {
  type ChosenFacet,
  describeChosen,
  listUseful,
  readChosen,
  toFilter,
  toggle,
  withRange,
  writeChosen,
} from './chosen-facets.ts';

const CHOSEN: readonly ChosenFacet[] = [
  { attribute: 'Brand', in: ['Bosch', 'Makita'] },
  { attribute: 'Price', between: [10, 20.5] },
  { attribute: 'Weight', between: [null, 3] },
  { attribute: 'Length', between: [1, null] },
  { attribute: 'Socket', lacks: true },
];

test('reads chosen facets from an address and skips invalid ones', () => {
  assert.deepEqual(readChosen(writeChosen(CHOSEN)), CHOSEN);
  assert.equal(writeChosen([]), '');
  for (const broken of [
    '',
    'x',
    '{}',
    '[null, 1, {}]',
    '[{"attribute":"A","in":[]}]',
    '[{"attribute":"A","between":[1]}]',
  ])
    assert.deepEqual(readChosen(broken), [], broken);
  assert.deepEqual(readChosen('[{"attribute":"A","between":[null,null]}]'), []);
});

test('converts chosen facets to the filter of a search (§12.2)', () => {
  assert.equal(toFilter([]), undefined);
  assert.deepEqual(JSON.parse(toFilter(CHOSEN) ?? ''), {
    all: [
      { attribute: 'Brand', operator: 'in', value: ['Bosch', 'Makita'] },
      { attribute: 'Price', operator: 'between', value: [10, 20.5] },
      { attribute: 'Weight', operator: 'lessOrEqual', value: 3 },
      { attribute: 'Length', operator: 'greaterOrEqual', value: 1 },
      { not: { attribute: 'Socket', operator: 'exists' } },
    ],
  });
  assert.deepEqual(
    CHOSEN.map((facet) => describeChosen(facet, 'in' in facet || 'lacks' in facet ? '' : 'kg')),
    [
      'Brand: Bosch, Makita',
      'Price: 10 to 20.5 kg',
      'Weight: up to 3 kg',
      'Length: from 1 kg',
      'Socket: missing',
    ],
  );
});

test('an attribute keeps its position while its values change, and is removed with its last value', () => {
  const more = toggle(CHOSEN, 'Brand', 'Metabo');
  assert.deepEqual(more[0], { attribute: 'Brand', in: ['Bosch', 'Makita', 'Metabo'] });
  const none = ['Bosch', 'Makita', 'Metabo'].reduce((list, value) => toggle(list, 'Brand', value), more);
  assert.deepEqual(none, CHOSEN.slice(1));
  assert.deepEqual(withRange(CHOSEN, 'Price', [null, null]), CHOSEN.toSpliced(1, 1));
  assert.deepEqual(withRange([], 'Price', [1, null]), [{ attribute: 'Price', between: [1, null] }]);
});

test('leaves out attributes that cannot narrow the products', () => {
  const facet = (attribute: string, counts: readonly number[], more: Partial<Facet> = {}): Facet => ({
    attribute,
    type: 'TEXT_ATTRIBUTE',
    count: 5,
    values: counts.map((count, index) => ({ value: `v${index}`, count })),
    ...more,
  });
  const facets = [
    facet('Colour', [3, 2]),
    facet('Serial number', [1, 1, 1]),
    facet('Brand', [5]),
    facet('Price', [1, 1], { type: 'NUMERIC_ATTRIBUTE', min: 1, max: 9 }),
    facet('Volume', [5], { type: 'NUMERIC_ATTRIBUTE', min: 1, max: 1 }),
  ];
  const names = (chosen: readonly ChosenFacet[]) =>
    listUseful(facets, chosen).map(({ attribute }) => attribute);
  assert.deepEqual(names([]), ['Colour', 'Price']);
  assert.deepEqual(names([{ attribute: 'Brand', in: ['v0'] }]), ['Colour', 'Brand', 'Price']);
});
