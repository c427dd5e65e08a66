// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createShortCache } from './projects.ts';

function counting() {
  const clock = { time: 10_000, now: () => clock.time };
  const reads: string[] = [];
  const read = (key: string) => async () => {
    reads.push(key);
    return key;
  };
  return { clock, reads, read };
}

test('a cached value is used for less than a second and not after a drop', async () => {
  const { clock, reads, read } = counting();
  const cache = createShortCache<string, string>(clock, 10);
  await cache.get('a', read('a'));
  clock.time += 999;
  await cache.get('a', read('a'));
  assert.equal(reads.length, 1);
  clock.time += 1;
  await cache.get('a', read('a'));
  assert.equal(reads.length, 2);
  cache.drop();
  await cache.get('a', read('a'));
  assert.equal(reads.length, 3);
  clock.time -= 5_000;
  await cache.get('a', read('a'));
  assert.equal(reads.length, 4, 'a clock that was set back does not extend the age');
});

test('the cache bounds its entries and does not store misses', async () => {
  const { clock, reads, read } = counting();
  const cache = createShortCache<string, string>(clock, 2);
  for (const key of ['a', 'b', 'c']) await cache.get(key, read(key));
  for (const key of ['absent', 'missing'])
    assert.equal(await cache.get(key, async () => undefined), undefined);
  await cache.get('c', read('c'));
  await cache.get('b', read('b'));
  assert.deepEqual(reads, ['a', 'b', 'c']);
  await cache.get('a', read('a'));
  assert.deepEqual(reads, ['a', 'b', 'c', 'a']);
});

test('a value that was read while a write ended is not cached', async () => {
  const { clock, reads, read } = counting();
  const cache = createShortCache<string, string>(clock, 2);
  const { promise, resolve } = Promise.withResolvers<string>();
  const reading = cache.get('a', () => promise);
  cache.drop();
  resolve('old');
  assert.equal(await reading, 'old');
  assert.equal(await cache.get('a', read('a')), 'a');
  assert.deepEqual(reads, ['a']);
});
