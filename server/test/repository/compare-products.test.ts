// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSameProducts } from '../support/compare-products.ts';
import { streamDemoProducts } from '../support/demo-shop/demo-shop.ts';

const MEMORY_KB = 150 * 1024;

const product = (identifier: string, name: string) => ({ identifier, name });
const message = (pattern: RegExp) => ({ name: 'AssertionError', message: pattern });

test('comparing two catalogs that differ in every product names the first one and uses little memory', () => {
  const products = [...streamDemoProducts(25_000)];
  const turned = products.map((product) => ({ ...product, images: product.images.toReversed() }));
  const first = products[0]?.identifier;
  assert.ok(first);
  // On a busy machine, the catalogs alone took up to 400 MB before a collection.
  const { maxRSS: before } = process.resourceUsage();
  assert.throws(() => assertSameProducts(turned, products), message(new RegExp(`product 1, ${first}, `)));
  const { maxRSS } = process.resourceUsage();
  assert.ok(maxRSS - before < MEMORY_KB, `${Math.round((maxRSS - before) / 1024)} MB`);
});

test('a missing, additional or different product is named with its content', () => {
  const [a, b, c] = [product('A', 'one'), product('B', 'two'), product('C', 'three')];
  assertSameProducts([a, b], [{ ...a }, { name: 'two', identifier: 'B' }]);
  assert.throws(() => assertSameProducts([a], [a, b]), message(/product 2, B, /));
  assert.throws(() => assertSameProducts([a, b, c], [a, b]), message(/the product C is one too many/));
  assert.throws(
    () => assertSameProducts([a, product('B', 'other')], [a, b]),
    message(/product 2, B, .*'other'/s),
  );
});
