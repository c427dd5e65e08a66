// runs: test, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestStore, testedStore } from '../../../test/support/test-store.ts';
import { createRateLimits } from './rate-limit.ts';

const shared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };

test('several processes together allow n requests of a key with a limit of n', shared, async (t) => {
  const store = await createTestStore(t);
  const processes = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const storage = await store.open();
      store.onRemove(() => storage.close());
      return createRateLimits(storage.postgres);
    }),
  );
  const states = await Promise.all(
    Array.from({ length: 60 }, (_, index) => processes[index % 3]?.count(1, 50) ?? assert.fail()),
  );
  assert.equal(states.filter(({ remaining }) => remaining >= 0).length, 50);
  const remaining = states.map((state) => state.remaining).filter((left) => left >= 0);
  assert.deepEqual(new Set(remaining), new Set(Array.from({ length: 50 }, (_, index) => index)));
  assert.ok(
    states.every(({ limit, resetSeconds }) => limit === 50 && resetSeconds > 50 && resetSeconds <= 60),
  );
  const [first, second] = processes;
  assert.equal((await second?.count(2, 50))?.remaining, 49, 'each key has its own count');
  assert.equal((await first?.count(1, 100))?.remaining, 39, 'a changed limit applies immediately');

  await first?.dropEnded();
  assert.equal((await second?.count(1, 100))?.remaining, 38, 'a window that has not ended is not dropped');
  await store.change('update rate_window set expire = expire - 60000');
  const next = await second?.count(1, 50);
  assert.deepEqual([next?.remaining, next?.resetSeconds], [49, 60]);
  await first?.dropEnded();
  assert.equal((await first?.count(2, 50))?.remaining, 49);
  assert.equal((await first?.count(1, 50))?.remaining, 48);
});
