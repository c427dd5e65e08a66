// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { normaliseProduct, type UploadedProduct } from '../product.ts';
import type { SentProduct } from '../schemas/product-schemas.ts';
import { StoredUpload, StoredValues } from './stored-upload.ts';

/** Texts with characters that look like delimiters. */
const text = fc.oneof(
  fc.string({ maxLength: 6, unit: 'grapheme' }),
  fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '"}',
    '{"key":"',
    '","value":"',
    ',"attributes":[',
    ',"name":',
    ']}',
    '\n',
    'ß',
  ),
);
const key = fc.constantFrom('Colour', 'Length', 'A "b"', 'back\\', '__proto__', 'ü');
const attribute = fc.record(
  { key, value: text, userGroups: fc.array(text, { minLength: 1, maxLength: 1 }), row: fc.nat(3) },
  { requiredKeys: ['key', 'value'], noNullPrototype: true },
);
const product = fc.record(
  {
    identifier: text,
    name: text,
    groupIdentifier: text,
    productUrl: text,
    images: fc.array(
      fc.record({ url: text, type: fc.constant('SMALL' as const) }, { noNullPrototype: true }),
      { maxLength: 2 },
    ),
    categories: fc.array(
      fc.record(
        { path: fc.array(text, { minLength: 1, maxLength: 2 }), priority: fc.nat(9), categoryId: fc.nat() },
        { requiredKeys: ['path'], noNullPrototype: true },
      ),
      { maxLength: 2 },
    ),
    attributes: fc.array(fc.oneof({ weight: 8, arbitrary: fc.record({ key, value: text }) }, attribute), {
      maxLength: 6,
    }),
    settings: fc.record({ includeUserGroups: fc.array(text, { maxLength: 2 }) }),
  },
  { requiredKeys: ['identifier'], noNullPrototype: true },
);

const readAll = (upload: UploadedProduct): UploadedProduct => {
  const { identifier, groupIdentifier, name, productUrl, images, categories, attributes, settings } = upload;
  const fields = { identifier, groupIdentifier, name, productUrl, images, categories, attributes };
  return { ...fields, ...(settings && { settings }) };
};

const PLACES = new Map([
  ['Colour', 0],
  ['A "b"', 1],
  ['back\\', 0],
]);

test('the parts of a stored upload equal those of the parsed upload', () => {
  const values = new StoredValues((name) => PLACES.get(name));
  fc.assert(
    fc.property(product, (sent) => {
      const whole = normaliseProduct(sent as SentProduct);
      const raw = JSON.stringify(whole);
      assert.deepEqual(readAll(new StoredUpload(raw)), JSON.parse(raw));
      const upload = new StoredUpload(raw);
      const slots = values.read(upload);
      const isPlain = whole.attributes.every(
        ({ userGroups, row }) => userGroups === undefined && row === undefined,
      );
      if (!isPlain) return assert.equal(slots, undefined);
      const expected: string[][] = [];
      for (const { key: name, value } of whole.attributes) {
        const slot = PLACES.get(name);
        if (slot !== undefined) expected[slot] = [...(expected[slot] ?? []), value];
      }
      assert.deepEqual(slots, expected);
    }),
    { numRuns: 2_000 },
  );
});

test('an upload with parts in another order is parsed', () => {
  const raw = '{"name":"A","identifier":"1","attributes":[{"key":"Colour","value":"red"}]}';
  const upload = new StoredUpload(raw);
  assert.deepEqual([upload.identifier, upload.name, upload.attributes.length], ['1', 'A', 1]);
  assert.equal(new StoredValues(() => 0).read(upload), undefined);
});
