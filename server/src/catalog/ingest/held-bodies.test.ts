// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool, type Loan } from '../../storage/threads/threads.ts';
import { HeldBodies } from './held-bodies.ts';

const MIB = 1024 * 1024;
const pool = new BufferPool();
const sourceOf = (handle: number) => ({
  handle,
  payloadName: 'a',
  maxMib: 1,
  encoding: 'identity' as const,
  form: 'products' as const,
});
/** @returns whether the pool lends the memory of this loan next */
const isNext = (loan: Loan) => pool.take(loan.bytes.length).bytes.buffer === loan.bytes.buffer;

test('the memory of a body returns to the pool after its extraction, and its handle becomes invalid', async () => {
  const bodies = new HeldBodies();
  const loan = pool.take(MIB);
  bodies.hold(5, loan);
  const use = () => bodies.use(sourceOf(5), async ({ handle }) => [handle, isNext(loan)]);
  assert.deepEqual(await use(), [5, false]);
  assert.ok(isNext(loan));
  assert.deepEqual(await use(), [-5, false]);
});

test('the memory of a released body returns to the pool, unless a thread uses it or ended while using it', async () => {
  const bodies = new HeldBodies();
  const [waiting, used, failed] = [pool.take(MIB), pool.take(MIB), pool.take(MIB)];
  for (const [index, loan] of [waiting, used, failed].entries()) bodies.hold(index + 1, loan);
  bodies.release(sourceOf(1));
  assert.ok(isNext(waiting));
  await bodies.use(sourceOf(2), async () => {
    bodies.release(sourceOf(2));
    assert.ok(!isNext(used));
  });
  const died = bodies.use(sourceOf(3), () => Promise.reject(new Error('a worker thread ended')));
  await assert.rejects(died, /ended/);
  bodies.release(sourceOf(3));
  assert.ok(!isNext(failed));
});

test('the memory of the oldest waiting bodies is abandoned when too many bodies wait', async () => {
  const bodies = new HeldBodies();
  const loans = Array.from({ length: 4 }, () => pool.take(32 * MIB));
  for (const [index, loan] of loans.entries()) bodies.hold(index + 1, loan);
  bodies.release(sourceOf(1));
  assert.ok(!loans.some(isNext));
  assert.deepEqual([bodies.sizeOf(sourceOf(1)), bodies.sizeOf(sourceOf(2))], [0, 32 * MIB]);
});
