import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSharedReads } from './shared-reads.ts';

/** Reads that end when the test says so. */
function startReads() {
  const flights: {
    keys: readonly number[];
    land(values: readonly [number, string][]): void;
    fail(): void;
  }[] = [];
  const read = createSharedReads<number, string>((keys) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<number, string>>();
    flights.push({
      keys,
      land: (values) => resolve(new Map(values)),
      fail: () => reject(new Error('away')),
    });
    return promise;
  });
  return { flights, read };
}

test('those who ask while a read is under way share the next one', async () => {
  const { flights, read } = startReads();
  const first = read(1);
  const others = [read(1), read(2), read(1)];
  assert.deepEqual(
    flights.map(({ keys }) => keys),
    [[1]],
  );
  flights[0]?.land([[1, 'old']]);
  assert.equal(await first, 'old');
  assert.deepEqual(flights[1]?.keys, [1, 2]);
  flights[1]?.land([[1, 'new']]);
  assert.deepEqual(await Promise.all(others), ['new', undefined, 'new']);
});

test('a read that fails fails those who shared it, and no other', async () => {
  const { flights, read } = startReads();
  const failing = read(1);
  const next = read(1);
  flights[0]?.fail();
  await assert.rejects(failing, /away/);
  flights[1]?.land([[1, 'back']]);
  assert.equal(await next, 'back');
  const last = read(2);
  flights[2]?.land([[2, 'later']]);
  assert.equal(await last, 'later');
});
