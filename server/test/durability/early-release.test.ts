// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CatalogStore } from '../../src/catalog/catalog.ts';
import { BufferPool, type Loan } from '../../src/storage/threads/threads.ts';
import { startTestService } from '../support/test-service.ts';

/** The typical fault of pooled memory: it is released while still in use (docs/decisions/0006). */

const COUNT = 2_000;
const TEXT = 'x'.repeat(1_000);
const WRITTEN = /shared memory was written to while it was in use/;

/** Releases the next loan immediately, or the one after, and overwrites it like the next body would. */
class EarlyPool extends BufferPool {
  /** The loan before the one that is released too early. */
  planted: 'nothing' | 'body' | undefined;
  private taken = 0;

  override take(bytes: number): Loan {
    const loan = super.take(bytes);
    this.taken += 1;
    if (this.planted === 'nothing' || (this.planted === 'body' && this.taken === 2)) {
      this.planted = undefined;
      loan.giveBack();
    }
    return loan;
  }

  plant(before: 'nothing' | 'body'): void {
    this.planted = before;
    this.taken = 0;
  }

  /** Takes and overwrites the free buffers like the next bodies would. */
  overwrite(bytes: number): void {
    for (const loan of [super.take(bytes), super.take(bytes)]) loan.bytes.fill(0x20);
  }
}

const makeProducts = (version: string) =>
  Array.from({ length: COUNT }, (_, index) => ({
    identifier: `P${index}`,
    name: `${version} ${index}`,
    attributes: [{ key: 'Text', value: TEXT }],
  }));

test('a memory buffer that is returned too early is detected before its content is stored', async (t) => {
  const pool = new EarlyPool();
  let overwrites = false;
  const store = (real: CatalogStore): CatalogStore => ({
    ...real,
    stageBatch(projectId, staged) {
      if (overwrites) pool.overwrite(staged.packed.bytes.buffer.byteLength);
      overwrites = false;
      return real.stageBatch(projectId, staged);
    },
  });
  const service = await startTestService(t, { replace: { buffers: pool, store } });
  const listFaults = () => service.log.filter((line) => WRITTEN.test(line));
  async function assertStored(version: string) {
    const identifiers = ['P0', 'P700', `P${COUNT - 1}`];
    const products = await service.lookUp(identifiers);
    const names = identifiers.map((identifier) => `${version} ${identifier.slice(1)}`);
    assert.deepEqual(
      products.map(({ name }) => name),
      names,
    );
  }
  await service.loadCatalog(makeProducts('first'));
  assert.deepEqual(listFaults(), []);

  await t.test(
    'a batch whose body buffer is returned before extraction is staged again from its payload',
    async () => {
      pool.plant('nothing');
      const task = await service.loadCatalog(makeProducts('second'));
      assert.equal(task.taskStatus, 'FINISHED');
      assert.deepEqual([listFaults().length, pool.planted], [1, undefined]);
      assert.match(listFaults()[0] ?? '', /the commit stages it again/);
      await assertStored('second');
    },
  );

  await t.test('a batch whose packed products are returned before staging is staged again', async () => {
    pool.plant('body');
    overwrites = true;
    const task = await service.loadCatalog(makeProducts('third'));
    assert.equal(task.taskStatus, 'FINISHED');
    assert.deepEqual([listFaults().length, pool.planted, overwrites], [2, undefined, false]);
    await assertStored('third');
  });

  await t.test('an update whose buffer is returned early fails, and nothing of it is stored', async () => {
    pool.plant('nothing');
    const path = `/products?projectId=${service.projectId}`;
    const { body } = await service.call('POST', path, { body: makeProducts('fourth') });
    const task = await service.ended(body.task.id);
    assert.equal(task.taskStatus, 'FAILED');
    await assertStored('third');
  });
});
