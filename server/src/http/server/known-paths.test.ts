// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownPaths, LONGEST_PATH, UNKNOWN_PATH } from './known-paths.ts';

const paths = new KnownPaths();
for (const [method, url] of [
  ['GET', '/products'],
  ['GET', '/projects/:id/products/:identifier'],
  ['GET', '/console/*'],
] as const)
  paths.add({ method, url, schema: { querystring: {} }, handler: async () => undefined });
paths.add({ method: 'GET', url: '/health', handler: async () => undefined });

const LONG = 80_000;
const shorten = (url: string, method = 'GET') => paths.shorten({ url, method });

test('an address keeps a long query only if a route reads it (§7.2 rules 2 and 3)', () => {
  const query = `?${'+'.repeat(LONG)}`;
  const products = '/projects/1/products/A%20%C3%A9';
  for (const path of ['/products', '/%70roducts', products])
    assert.equal(shorten(`${path}${query}`), `${path}${query}`);
  for (const path of ['/nowhere', '/console/x', '/products/', '/%zz', '/health'])
    assert.equal(shorten(`${path}${query}`), path);
  assert.equal(shorten(`/products${query}`, 'POST'), '/products');
  assert.equal(shorten('/nowhere?a=1'), '/nowhere?a=1');
});

test('an address keeps the longest path of a route, and a long path without a route never reaches the router (§7.2 rule 2)', () => {
  const longest = `/projects/1/products/${'%E2%82%AC'.repeat(255)}`;
  assert.equal(shorten(`${longest}?${'a&'.repeat(LONG)}`).length, longest.length + 1 + 2 * LONG);
  assert.equal(shorten(longest, 'POST'), longest, 'the answer is 405');
  for (const part of ['%25/', '/', 'x'])
    for (const length of [LONGEST_PATH / 2, LONGEST_PATH, LONG])
      assert.equal(
        shorten(`/${part.repeat(length / part.length)}?a=1`),
        UNKNOWN_PATH,
        `${length} of ${part}`,
      );
  assert.equal(shorten(`/nowhere/${'x'.repeat(100)}`), `/nowhere/${'x'.repeat(100)}`);
});
