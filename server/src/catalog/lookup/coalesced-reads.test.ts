// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coalesceReads } from './coalesced-reads.ts';

/** Starts reads that the test ends. */
function startReads() {
  const batches: {
    keys: readonly number[];
    succeed(values: readonly [number, string][]): void;
    fail(): void;
  }[] = [];
  const read = coalesceReads<number, string>((keys) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<number, string>>();
    batches.push({
      keys,
      succeed: (values) => resolve(new Map(values)),
      fail: () => reject(new Error('away')),
    });
    return promise;
  });
  return { batches, read };
}

test('requests during a read share the next read', async () => {
  const { batches, read } = startReads();
  const first = read(1);
  const others = [read(1), read(2), read(1)];
  assert.deepEqual(
    batches.map(({ keys }) => keys),
    [[1]],
  );
  batches[0]?.succeed([[1, 'old']]);
  assert.equal(await first, 'old');
  assert.deepEqual(batches[1]?.keys, [1, 2]);
  batches[1]?.succeed([[1, 'new']]);
  assert.deepEqual(await Promise.all(others), ['new', undefined, 'new']);
});

test('a failed read fails only its own callers, and later reads succeed', async () => {
  const { batches, read } = startReads();
  const failing = read(1);
  const next = read(1);
  batches[0]?.fail();
  await assert.rejects(failing, /away/);
  batches[1]?.succeed([[1, 'back']]);
  assert.equal(await next, 'back');
  const last = read(2);
  batches[2]?.succeed([[2, 'later']]);
  assert.equal(await last, 'later');
});

test('a key that cannot be read fails alone, and its next read does not delay other keys', async () => {
  const batches: (readonly number[])[] = [];
  let hang: PromiseWithResolvers<never> | undefined;
  const read = coalesceReads<number, string>(async (keys) => {
    batches.push(keys);
    if (hang !== undefined && keys.includes(3)) return hang.promise;
    if (keys.includes(3)) throw new Error('worker away');
    return new Map(keys.map((key) => [key, `value ${key}`]));
  });
  const first = read(1);
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(read));
  await first;
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
    ['value 1', 'value 2', 'worker away', 'value 4'],
  );
  hang = Promise.withResolvers();
  const hanging = read(3);
  assert.equal(await read(4), 'value 4', 'a hanging worker delays no other project');
  assert.deepEqual(batches.slice(-2), [[3], [4]]);
  hang.reject(new Error('still away'));
  await assert.rejects(hanging, /still away/);
});
