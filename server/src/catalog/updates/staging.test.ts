// runs: test
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEmbeddedCatalog } from '../../../test/support/catalogs/catalog-under-test.ts';
import { createPayloadFiles } from '../../storage/payloads/payloads.ts';
import { BufferPool, createThreadPool } from '../../storage/threads/threads.ts';
import { Ingest } from '../ingest/ingest.ts';
import { Staging } from './staging.ts';

const MIB = 1024 * 1024;

test('the memory of a batch returns to the pool if its session cannot be opened', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const buffers = new BufferPool();
  // The serving thread checks a body of this size, so no other thread starts.
  const threads = createThreadPool(new URL('file:///nonexistent'), { size: 1, workerData: {} });
  const ingest = new Ingest({ threads, payloads: createPayloadFiles(folder), maxMib: 1, buffers });
  const logged: string[] = [];
  const parts = {
    getLocale: () => Promise.reject(new Error('the database is away')),
    database: { isShared: false },
    store: openEmbeddedCatalog(1).store,
    ingest,
    logger: {
      debug() {},
      info() {},
      warn() {},
      error: (_: unknown, message: string) => void logged.push(message),
    },
  };
  const staging = new Staging(parts, () => {});
  const loan = buffers.take(MIB);
  const { buffer } = loan.bytes;
  const length = Buffer.from(loan.bytes.buffer).write('{"products":[{"identifier":"A","name":"A"}]}');
  const body = { bytes: loan.bytes.subarray(0, length), encoding: 'identity' as const, loan };
  const { source } = await ingest.accept({ projectId: 1, body, form: 'products' });

  await staging.add(1, 1, { batch: 1, source });
  assert.deepEqual(logged, ['staging a batch failed; the commit stages it again']);
  assert.equal(buffers.take(MIB).bytes.buffer, buffer);
});
