import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { normaliseProduct, type SentProduct } from './product.ts';
import { createUploadReader } from './upload-reader.ts';

/** With what ends a string, a member or a list of JSON, and what stands before it in a stored upload. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 5 }),
      fc.constantFrom(
        '"',
        '\\',
        '\\"',
        ']}',
        ',"categories":[',
        '","value":"',
        '{"key":"',
        'ä',
        '\u{1f6e0}',
        '\n',
      ),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join('').toWellFormed());
const KEYS = ['Brand', 'Colour', 'odd "key" \\', 'Größe'];
const value = fc.record(
  {
    key: fc.oneof(fc.constantFrom(...KEYS), text),
    value: text,
    userGroups: fc.array(text, { maxLength: 3 }),
  },
  { requiredKeys: ['key', 'value'] },
);
const product = fc.record(
  {
    identifier: text,
    groupIdentifier: text,
    name: text,
    productUrl: text,
    images: fc.array(fc.record({ url: text, type: fc.constantFrom('SMALL' as const, 'LARGE' as const) }), {
      maxLength: 2,
    }),
    categories: fc.array(fc.record({ path: fc.array(text, { maxLength: 3 }), priority: fc.nat() }), {
      maxLength: 2,
    }),
    attributes: fc.array(value, { maxLength: 6 }),
    settings: fc.record({ includeUserGroups: fc.array(text, { maxLength: 2 }) }),
  },
  { requiredKeys: ['identifier'] },
);

test('a stored upload is read as JSON.parse reads it, without attributes that nobody wants', () => {
  const wanted = new Set(KEYS);
  const read = createUploadReader(wanted);
  fc.assert(
    fc.property(product, (sent) => {
      const stored = normaliseProduct(sent as SentProduct);
      const { identifier, groupIdentifier, name, productUrl, images, categories, attributes, settings } =
        read(JSON.stringify(stored));
      const front = { identifier, groupIdentifier, name, productUrl, images, categories, settings };
      assert.deepEqual(
        { ...front, attributes: attributes.filter(({ key }) => wanted.has(key)) },
        {
          ...{ settings: undefined, ...stored },
          attributes: stored.attributes.filter(({ key }) => wanted.has(key)),
        },
      );
    }),
    { numRuns: 2_000 },
  );
});

test('values that nobody wants are left out', () => {
  const attributes = KEYS.map((key) => ({ key, value: key }));
  const raw = JSON.stringify(normaliseProduct({ identifier: 'A', attributes }));
  assert.deepEqual(createUploadReader(new Set(KEYS.slice(2)))(raw).attributes, attributes.slice(2));
});

test('an upload in another form of JSON is read as a whole', () => {
  const stored = normaliseProduct({ identifier: 'A', attributes: [{ key: 'Brand', value: 'x' }] });
  const read = createUploadReader(new Set(['Brand']));
  const { attributes, ...front } = stored;
  for (const raw of [JSON.stringify(stored, null, 1), JSON.stringify({ attributes, ...front })]) {
    assert.deepEqual(read(raw), stored);
  }
});
