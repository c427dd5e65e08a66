// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cleanEntries,
  type Entry,
  listChangedKeys,
  mergeEntries,
  readEntries,
  toPartial,
} from './attribute-edits.ts';

const BASE: readonly Entry[] = [
  { key: 'Colour', value: 'red' },
  { key: 'Colour', value: 'black', userGroups: ['trade'] },
  { key: 'Price', value: '10 EUR' },
  { key: 'Weight', value: '2 kg' },
];
const with_ = (key: string, value: string) =>
  BASE.map((entry) => (entry.key === key ? { ...entry, value } : entry));

test('a partial update contains only changed attributes, each with all of its values (§2.3 rules 3 and 12)', () => {
  assert.deepEqual(toPartial('A1', BASE, BASE), { identifier: 'A1', attributes: [] });
  const rows = [
    ...BASE.filter(({ key }) => key !== 'Weight').map((entry) =>
      entry.value === 'red' ? { ...entry, value: 'blue' } : entry,
    ),
    { key: ' Length ', value: '3 m', isNew: true },
    { key: '', value: 'lost', isNew: true },
  ];
  const draft = cleanEntries(rows, BASE);
  assert.deepEqual(toPartial('A1', BASE, draft), {
    identifier: 'A1',
    attributes: [
      { key: 'Colour', value: 'blue' },
      { key: 'Colour', value: 'black', userGroups: ['trade'] },
      { key: 'Weight', value: null },
      { key: 'Length', value: '3 m' },
    ],
  });
  assert.deepEqual(
    readEntries({
      attributes: [
        { key: 'A', value: '1' },
        { key: 'B', value: null },
      ],
    }),
    [{ key: 'A', value: '1' }],
  );
});

test('an attribute with spaces or without a value does not count as changed until the user edits it', () => {
  const odd: readonly Entry[] = [
    { key: ' Padded ', value: '1' },
    { key: 'Empty', value: '' },
  ];
  assert.deepEqual(listChangedKeys(odd, cleanEntries(odd, odd)), []);
  const changed = cleanEntries(
    [
      { key: ' Padded ', value: '2' },
      { key: 'Empty', value: '' },
    ],
    odd,
  );
  assert.deepEqual(toPartial('A1', odd, changed).attributes, [
    { key: ' Padded ', value: '2' },
    { key: 'Empty', value: null },
  ]);
});

test('an attribute is in conflict only if two users have changed it to different values', () => {
  const draft = with_('Price', '12 EUR');
  const merge = (now: readonly Entry[]) => mergeEntries({ base: BASE, draft, now });
  assert.deepEqual(merge(with_('Weight', '3 kg')).conflicts, []);
  assert.deepEqual(merge(with_('Price', '12 EUR')).conflicts, []);
  assert.deepEqual(merge(with_('Price', '9 EUR')).conflicts, ['Price']);
  const { merged } = merge(with_('Weight', '3 kg'));
  assert.deepEqual(toPartial('A1', with_('Weight', '3 kg'), merged).attributes, [
    { key: 'Price', value: '12 EUR' },
  ]);
});
