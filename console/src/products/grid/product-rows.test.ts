// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bindPages, findMainImage, toRow, toValues } from './product-rows.ts';

const rowOf = (identifier: string) =>
  toRow({
    id: 1,
    identifier,
    groupId: 'g',
    name: 'n',
    image: 'large',
    thumbnail: '',
    category: ['a', 'b'],
    lastUpdateTs: 1,
  });
const page = (...identifiers: string[]) => ({ rows: identifiers.map(rowOf) });

test('reads pages of any length as one list', () => {
  const { count, getRow } = bindPages([page('a', 'b'), page(), page('c'), page('d', 'e'), page()]);
  assert.equal(count, 5);
  const read = [0, 1, 2, 3, 4, 5].map((index) => getRow(index)?.identifier);
  assert.deepEqual(read, ['a', 'b', 'c', 'd', 'e', undefined]);
  assert.equal(bindPages([]).getRow(0), undefined);
});

test('a row of a product without images has no picture', () => {
  assert.deepEqual(rowOf('a'), {
    identifier: 'a',
    name: 'n',
    group: 'g',
    category: 'a › b',
    image: undefined,
    lastUpdateTs: 1,
  });
});

test('a row shows the first LARGE image of a product, or else its first image (§12.5 rule 8)', () => {
  const small = { url: 'https://shop.example/small.jpg', type: 'SMALL' };
  const large = { url: 'https://shop.example/large.jpg', type: 'LARGE' };
  const other = { url: 'https://shop.example/other.jpg', type: 'LARGE' };
  assert.equal(findMainImage([small, large, other]), large.url);
  assert.equal(findMainImage([small]), small.url);
  assert.equal(findMainImage([]), undefined);
});

test('a cell shows all values of an attribute', () => {
  const fact = (attribute: string, value: string) => ({
    attributeId: 1,
    attribute,
    valueId: 1,
    value,
    type: 'TEXT_ATTRIBUTE' as const,
  });
  const values = toValues({ facts: [fact('Colour', 'red'), fact('Size', 'M'), fact('Colour', 'blue')] });
  assert.deepEqual({ ...values }, { Colour: 'red, blue', Size: 'M' });
  assert.equal(values.constructor, undefined, 'an attribute that the product does not have');
  assert.equal(toValues({ facts: [fact('constructor', 'Lego')] }).constructor, 'Lego');
});
