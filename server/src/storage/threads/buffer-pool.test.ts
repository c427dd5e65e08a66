// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import { BufferPool, type Loan } from './threads.ts';

const MIB = 1024 * 1024;
const isSame = (a: Loan, b: Loan) => a.bytes.buffer === b.bytes.buffer;

test('the pool reuses a buffer that was given back for a request of similar size', () => {
  const pool = new BufferPool();
  const first = pool.take(15_000_000);
  const second = pool.take(15_000_000);
  assert.ok(!isSame(first, second));
  first.giveBack();
  const small = pool.take(MIB);
  assert.deepEqual([first.bytes.length, small.bytes.length], [16 * MIB, MIB]);
  assert.ok(isSame(pool.take(16_000_000), first));
});

test('a loan ends once, and a former owner cannot give it back', () => {
  const pool = new BufferPool();
  const former = pool.take(MIB);
  const present = former.move();
  former.giveBack();
  assert.ok(!isSame(pool.take(MIB), present), 'the new owner still uses the buffer');
  present.giveBack();
  present.giveBack();
  const again = pool.take(MIB);
  assert.ok(isSame(again, present));
  present.giveBack();
  assert.ok(!isSame(pool.take(MIB), again), 'the pool has the buffer only once');
});

test('a loan ends when its thread has answered or refused, but not when the thread failed or died', async () => {
  const pool = new BufferPool();
  const { promise, resolve } = Promise.withResolvers<string>();
  const [answered, refused, died] = [pool.take(MIB), pool.take(MIB), pool.take(MIB)];
  const done = answered.until(promise);
  assert.ok(!isSame(pool.take(MIB), answered), 'the buffer is in use');
  resolve('done');
  assert.equal(await done, 'done');
  assert.ok(isSame(pool.take(MIB), answered));
  await assert.rejects(died.until(Promise.reject(new Error('a worker thread ended'))), /ended/);
  died.giveBack();
  const refusal = new ServiceError('body_not_json');
  await assert.rejects(refused.unlessFailed(Promise.reject(refusal)), refusal);
  assert.ok(isSame(pool.take(MIB), refused));
  assert.ok(!isSame(pool.take(MIB), died), 'the buffer is left to the collector');
});

test('the pool limits the bytes and the number of idle buffers, and drops small ones', () => {
  const pool = new BufferPool();
  const countKept = (bytes: number, count: number) => {
    const returned = Array.from({ length: count }, () => pool.take(bytes));
    for (const loan of returned) loan.giveBack();
    const again = Array.from({ length: count }, () => pool.take(bytes));
    return again.filter((loan) => returned.some((former) => isSame(former, loan))).length;
  };
  assert.equal(countKept(MIB / 2, 2), 0);
  assert.equal(countKept(MIB, 30), 24);
  assert.equal(countKept(32 * MIB, 4), 3);
  assert.equal(countKept(128 * MIB, 1), 0);
});

test('the pool reuses the buffer that was given back last, even when buffers of other sizes are idle', () => {
  const pool = new BufferPool();
  for (const loan of [40, 40, 10].map((mib) => pool.take(mib * MIB))) loan.giveBack();
  const loan = pool.take(32 * MIB);
  loan.giveBack();
  assert.ok(isSame(pool.take(32 * MIB), loan));
});
