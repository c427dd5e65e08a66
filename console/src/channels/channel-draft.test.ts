// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ChannelMapping,
  describeCounts,
  EMPTY_CHANNEL,
  findFormat,
  listFields,
  listProblems,
  toTried,
  withFieldName,
  withSource,
} from './channel-draft.ts';

const FIELDS = [{ name: 'id', isRequired: true }, { name: 'title', isRequired: true }, { name: 'brand' }];
const mapping: ChannelMapping = { brand: { attribute: 'Brand' }, id: { field: 'identifier' } };

test('lists a required field without a mapping at its position in the format (§16.2)', () => {
  assert.deepEqual(listFields(mapping, FIELDS), ['brand', 'id', 'title']);
  assert.deepEqual(listFields({ brand: { attribute: 'Brand' } }, FIELDS), ['id', 'title', 'brand']);
  assert.deepEqual(
    listFields(mapping, undefined),
    ['brand', 'id'],
    'a format that accepts any field requires none',
  );
});

test('keeps the order of columns when a field is changed, added, renamed or removed', () => {
  const named = withSource(mapping, { name: 'title', source: { field: 'name' } }, FIELDS);
  assert.deepEqual(Object.keys(named), ['brand', 'id', 'title']);
  assert.deepEqual(withSource(named, { name: 'brand', source: undefined }, FIELDS), {
    id: { field: 'identifier' },
    title: { field: 'name' },
  });
  assert.deepEqual(Object.keys(withSource(mapping, { name: 'a', source: { constant: 'x' } }, undefined)), [
    ...['brand', 'id', 'a'],
  ]);
  assert.deepEqual(Object.entries(withFieldName(mapping, 'brand', 'maker'))[0], [
    'maker',
    { attribute: 'Brand' },
  ]);
  assert.equal(withFieldName(mapping, 'brand', 'id'), mapping, 'a name that is already used');
});

test('a preview leaves out incomplete entries, and without a mapping it uses the suggested one', () => {
  assert.equal('mapping' in toTried(EMPTY_CHANNEL), false);
  const draft = {
    ...EMPTY_CHANNEL,
    mapping: { id: { field: 'identifier' }, title: { attribute: '' } } as const,
    relations: [{ as: 'accessory' as const }, { as: 'substitute' as const, tag: 'same', limit: 3 }],
    filter: { all: [{ category: [] }] },
  };
  const { mapping: tried, relations, filter } = toTried(draft);
  assert.deepEqual(tried, { id: { field: 'identifier' } });
  assert.deepEqual(relations, [{ as: 'substitute', tag: 'same', limit: 3 }]);
  assert.deepEqual(filter, { all: [] });
});

test('lists each problem of a field once for each reason', () => {
  const wrong = { field: 'price', code: 'value_invalid', value: '19', message: 'price has no currency' };
  const row = { values: {}, related: [], problems: [wrong], isLeftOut: true };
  const missingLink = { field: 'link', message: 'lacks link, which google-merchant requires: no such field' };
  const problems = listProblems({
    missing: [{ ...missingLink, products: 7, identifiers: ['A', 'B', 'C', 'D', 'E', 'F'] }],
    rows: [
      { ...row, identifier: 'A' },
      { ...row, identifier: 'B' },
    ],
  });
  assert.deepEqual(problems, [
    {
      field: 'link',
      words: '7 products lack it: no such field',
      hasMore: true,
      identifiers: ['A', 'B', 'C', 'D', 'E'],
    },
    { field: 'price', words: 'has no currency (“19”)', identifiers: ['A', 'B'], hasMore: false },
  ]);
});

test('formats list their fields, and a summary of counts leaves out zeros', () => {
  const google = findFormat({ type: 'google-merchant' });
  assert.deepEqual(google?.variants, ['tsv', 'xml']);
  assert.ok(google?.fields?.some(({ name, isRequired }) => name === 'price' && isRequired));
  assert.equal(findFormat({ type: 'csv' })?.fields, undefined);
  const counts = {
    products: 9,
    filtered: 0,
    rows: 1,
    leftOut: 8,
    related: 0,
    relatedLeftOut: 0,
    files: 1,
    bytes: 10,
  };
  assert.equal(describeCounts(counts), '1 row, 8 left out');
});
