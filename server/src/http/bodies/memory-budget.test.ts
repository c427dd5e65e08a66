// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBudget } from './memory-budget.ts';

const ada = { caller: 'key 1', accountId: 1 };
const eve = { caller: 'key 2', accountId: 1 };
const bob = { caller: 'key 3', accountId: 2 };

test('a caller may hold half of the memory and an account three quarters (§7.2 rule 8)', () => {
  const budget = new MemoryBudget(100);
  const [first, second, third] = [ada, ada, ada].map((holder) => budget.open(holder));
  assert.deepEqual([first?.grow(30), second?.grow(20), third?.grow(1)], [true, true, false]);
  const [fourth, fifth] = [eve, eve].map((holder) => budget.open(holder));
  assert.deepEqual([fourth?.grow(25), fifth?.grow(1)], [true, false], 'the account is at its limit');
  const [sixth, seventh] = [bob, bob].map((holder) => budget.open(holder));
  assert.deepEqual([sixth?.grow(5), seventh?.grow(20), seventh?.grow(21)], [true, true, false]);
});

test('the oldest holding of an account may exceed every limit, so that no two wait for each other', async () => {
  const budget = new MemoryBudget(100);
  const first = budget.open(ada);
  const second = budget.open(ada);
  assert.ok(first.grow(25) && second.grow(25));
  assert.equal(second.grow(26), false);
  assert.equal(first.grow(1_000), true);
  const waiting = second.waitFor(60);
  first.release();
  await waiting;
  assert.equal(second.grow(2_000), true, 'the second holding is the oldest now');
});

test('waiting holdings are granted smallest first, and a second release has no effect', async () => {
  const budget = new MemoryBudget(100);
  const first = budget.open(ada);
  assert.ok(first.grow(80));
  const granted: number[] = [];
  const others = [40, 5, 30].map((bytes) => {
    const memory = budget.open(ada);
    void memory.waitFor(bytes).then(() => granted.push(bytes));
    return memory;
  });
  await new Promise(setImmediate);
  assert.deepEqual(granted, []);
  first.release();
  first.release();
  await new Promise(setImmediate);
  // The last 40 bytes go to the oldest holding, which needs no free space.
  assert.deepEqual(granted, [5, 30, 40]);
  for (const memory of others) memory.release();
  assert.equal(first.grow(1_000), true, 'nothing is held after a release');
  const [smaller, larger] = [bob, bob].map((holder) => budget.open(holder));
  assert.ok(smaller?.grow(1) && larger?.grow(49));
});

test('every waiting holding is granted in the end, in random series of requests', async () => {
  const holders = fc.constantFrom(ada, eve, bob);
  const sizes = fc.array(fc.tuple(holders, fc.array(fc.nat(60), { minLength: 1, maxLength: 5 })), {
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(sizes, async (bodies) => {
      const budget = new MemoryBudget(100);
      const ended = bodies.map(async ([holder, steps]) => {
        const memory = budget.open(holder);
        let bytes = 0;
        for (const step of steps) {
          bytes += step;
          if (!memory.grow(bytes)) await memory.waitFor(bytes);
          await new Promise(setImmediate);
        }
        memory.release();
      });
      await Promise.all(ended);
      const [first, second] = [bob, bob].map((holder) => budget.open(holder));
      assert.ok(first?.grow(1) && second?.grow(49), 'all memory is free again');
    }),
    { numRuns: 100 },
  );
});
