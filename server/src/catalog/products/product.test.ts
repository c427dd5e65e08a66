// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AttributeValue,
  mainCategory,
  mainImage,
  normaliseProduct,
  patchProduct,
  type UploadedProduct,
} from './product.ts';
import type { SentPatch, SentProduct } from './schemas/product-schemas.ts';

/** Only a few names, so that patches often change existing attributes. */
const key = fc.constantFrom('Colour', 'Length', 'Price', '__proto__', 'constructor');
const text = fc.string({ maxLength: 4 });
const groups = fc.option(fc.array(text, { maxLength: 2 }), { nil: undefined });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const attribute = fc.record(
  { key, value: maybe(text), userGroups: maybe(fc.array(text, { maxLength: 2 })) },
  { requiredKeys: ['key', 'value'], noNullPrototype: true },
);
const image = fc.record(
  { url: text, type: fc.constantFrom('SMALL' as const, 'THUMB' as const) },
  { noNullPrototype: true },
);
const category = fc.record(
  {
    path: fc.array(text, { minLength: 1, maxLength: 3 }),
    priority: maybe(fc.integer()),
    categoryId: maybe(fc.nat()),
  },
  { requiredKeys: ['path'], noNullPrototype: true },
);
const common = {
  name: maybe(text),
  groupIdentifier: maybe(text),
  productUrl: maybe(text),
  image: maybe(text),
  images: maybe(fc.array(image, { maxLength: 3 })),
  categories: maybe(fc.array(category, { maxLength: 3 })),
  settings: maybe(
    fc.record(
      { includeUserGroups: fc.array(text, { maxLength: 2 }) },
      { requiredKeys: [], noNullPrototype: true },
    ),
  ),
};
const identifier = fc.constant('A');
const product: fc.Arbitrary<SentProduct> = fc.record(
  { identifier, ...common, attributes: maybe(fc.array(attribute, { maxLength: 6 })) },
  { requiredKeys: ['identifier'], noNullPrototype: true },
);
const singleValue = fc.oneof(
  maybe(text),
  fc.record({ value: maybe(text), userGroups: groups }, { noNullPrototype: true }),
);
const values = fc.oneof(singleValue, fc.array(singleValue, { maxLength: 3 }));
type AttributeObject = Extract<SentPatch['attributes'], Record<string, unknown>>;
/** A property named `__proto__` is an own property, as in the result of JSON.parse. */
const attributeObject = fc
  .uniqueArray(fc.tuple(key, values), { selector: ([name]) => name, maxLength: 4 })
  .map((entries) => ownEntries(entries) as AttributeObject);
const patchOf = (attributes: fc.Arbitrary<SentPatch['attributes']>): fc.Arbitrary<SentPatch> =>
  fc.record(
    { identifier, ...common, attributes: maybe(attributes) },
    { requiredKeys: ['identifier'], noNullPrototype: true },
  );
const patch = patchOf(fc.oneof(attributeObject, fc.array(attribute, { maxLength: 5 })));

function ownEntries(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const target = {};
  for (const [name, value] of entries) {
    Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
  }
  return target;
}

const stored = product.map(normaliseProduct);

/**
 * The order of attributes is that of the first mention of their keys, so this compares only the values of each key.
 */
function byKey({ attributes }: UploadedProduct): Map<string, AttributeValue[]> {
  return Map.groupBy(attributes, (value) => value.key);
}

const sent = (value: unknown) => value !== null && value !== undefined;

/** @returns the combination of two patches, in which later fields replace earlier ones */
function mergePatches(first: SentPatch, second: SentPatch): SentPatch {
  const merged: Record<string, unknown> = { ...first };
  if (sent(second.image) || sent(second.images)) Object.assign(merged, { image: null, images: null });
  for (const [name, value] of Object.entries(second)) {
    if (sent(value) && name !== 'attributes') merged[name] = value;
  }
  const entries = [first, second].flatMap(({ attributes }) => Object.entries(attributes ?? {}));
  return { ...merged, attributes: ownEntries(entries) } as SentPatch;
}

test('two patches in turn have the effect of their merged patch (§2.3 rules 11 and 13)', () => {
  const objects = patchOf(attributeObject);
  fc.assert(
    fc.property(stored, objects, objects, (before, first, second) => {
      const stepwise = patchProduct(patchProduct(before, first), second);
      const atOnce = patchProduct(before, mergePatches(first, second));
      assert.deepEqual(byKey(stepwise), byKey(atOnce));
      assert.deepEqual({ ...stepwise, attributes: [] }, { ...atOnce, attributes: [] });
    }),
  );
});

test('a repeated patch changes nothing (§2.3 rule 11)', () => {
  fc.assert(
    fc.property(stored, patch, (before, change) => {
      const once = patchProduct(before, change);
      assert.deepEqual(patchProduct(once, change), once);
    }),
  );
});

test('a patch without fields, or with only null, changes nothing (§2.3 rules 6 and 13)', () => {
  const nulls = Object.fromEntries(Object.keys(common).map((name) => [name, null]));
  fc.assert(
    fc.property(stored, (before) => {
      assert.deepEqual(patchProduct(before, { identifier: 'A' }), before);
      assert.deepEqual(patchProduct(before, { identifier: 'A', ...nulls, attributes: null }), before);
      assert.deepEqual(patchProduct(before, { identifier: 'A', attributes: {} }), before);
    }),
  );
});

test('a patch keeps attributes that it does not name, in their order (§2.3 rules 11 and 12)', () => {
  fc.assert(
    fc.property(stored, patch, (before, change) => {
      const list = change.attributes ?? {};
      const named = new Set(Array.isArray(list) ? list.map((value) => value.key) : Object.keys(list));
      const others = (value: UploadedProduct) => value.attributes.filter((each) => !named.has(each.key));
      assert.deepEqual(others(patchProduct(before, change)), others(before));
    }),
  );
});

test('a patch has the same effect in list form and in object form (§2.3 rule 12)', () => {
  fc.assert(
    fc.property(stored, fc.array(attribute, { minLength: 1, maxLength: 5 }), (before, list) => {
      const entries = [...Map.groupBy(list, (value) => value.key)];
      const object = ownEntries(
        entries.map(([name, all]) => [name, all.map(({ value, userGroups }) => ({ value, userGroups }))]),
      ) as AttributeObject;
      const byList = patchProduct(before, { identifier: 'A', attributes: list });
      assert.deepEqual(patchProduct(before, { identifier: 'A', attributes: object }), byList);
    }),
  );
});

test('a patch with a whole upload results in that upload (§2.3 rule 13)', () => {
  fc.assert(
    fc.property(stored, stored, (before, after) => {
      const cleared = before.attributes.map((value) => ({ key: value.key, value: null }));
      const patched = patchProduct(before, {
        ...after,
        settings: after.settings ?? {},
        attributes: [...cleared, ...after.attributes],
      });
      assert.deepEqual(byKey(patched), byKey(after));
      assert.deepEqual({ ...patched, attributes: [] }, { ...after, attributes: [] });
    }),
  );
});

test('a normalised upload does not change when it is normalised again or written as JSON (§2.3)', () => {
  fc.assert(
    fc.property(product, (given) => {
      const once = normaliseProduct(given);
      assert.deepEqual(normaliseProduct(once), once);
      assert.deepEqual(JSON.parse(JSON.stringify(once)), once);
      assert.equal(once.groupIdentifier, given.groupIdentifier ?? given.identifier);
      assert.ok(once.attributes.every(({ value }) => value !== null));
    }),
  );
});

test('uploads are equal with fields in another order, or with null for an absent field (§2.3 rule 6)', () => {
  fc.assert(
    fc.property(product, (given) => {
      const turned = Object.fromEntries(
        Object.entries(given).reverse(),
      ) as Partial<SentProduct> as SentProduct;
      const without = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
      const text = JSON.stringify(normaliseProduct(given));
      assert.equal(JSON.stringify(normaliseProduct(turned)), text);
      assert.equal(JSON.stringify(normaliseProduct(without as Partial<SentProduct> as SentProduct)), text);
    }),
  );
});

test('patching modifies neither its product nor its patch', () => {
  fc.assert(
    fc.property(stored, patch, (before, change) => {
      const copies = [structuredClone(before), JSON.stringify(change)];
      patchProduct(before, change);
      assert.deepEqual([before, JSON.stringify(change)], copies);
    }),
  );
});

test('the field image becomes the first image, with the type LARGE (§2.3)', () => {
  const images = [{ url: 'a', type: 'LARGE' as const }];
  const { images: placed } = normaliseProduct({ identifier: 'A', image: 'b', images });
  assert.deepEqual(placed, [{ url: 'b', type: 'LARGE' }, ...images]);
});

test('the main category has the smallest priority; without priorities it is the first (§12.5 rule 7)', () => {
  const [a, b, c] = [{ path: ['a'] }, { path: ['b'], priority: 2 }, { path: ['c'], priority: -1 }];
  assert.equal(mainCategory([a, b, c]), c);
  assert.equal(mainCategory([a, b]), b);
  assert.equal(mainCategory([b, { ...b }]), b);
  assert.equal(mainCategory([a, { path: ['d'] }]), a);
  assert.equal(mainCategory([]), undefined);
});

test('the main image is the first LARGE image, otherwise the first image (§12.5 rule 8)', () => {
  const image = (url: string, type: 'LARGE' | 'THUMB') => ({ url, type });
  assert.equal(mainImage([image('a', 'THUMB'), image('b', 'LARGE'), image('c', 'LARGE')])?.url, 'b');
  assert.equal(mainImage([image('a', 'THUMB'), image('b', 'THUMB')])?.url, 'a');
  assert.equal(mainImage([]), undefined);
});
