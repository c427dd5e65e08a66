// runs: deep (not on postgres: requests that no route passes to a store)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readKept, sendHostile, sweepStored } from '../support/hostile/hostile-run.ts';
import { startTestService } from '../support/test-service.ts';
import { createTestStore } from '../support/test-store.ts';

/**
 * Malicious and broken requests of every operation of docs/openapi.json. RELATA_TEST_SEED repeats a run, and
 * RELATA_TEST_HOSTILE sets the number of requests. `npm run bench -- hostile` sends a million.
 */
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const REQUESTS = Number(process.env.RELATA_TEST_HOSTILE ?? 600);
const LOG_LEVELS = { RELATA_LOG_LEVEL: 'error', RELATA_RELATION_SECONDS: '20' };

test(`every random request is answered as documented and leaves nothing behind (§7.4, seed ${SEED})`, async (t) => {
  const store = await createTestStore(t);
  const service = await startTestService(t, { store, settings: LOG_LEVELS });
  const { faults, requests, accepted } = await sendHostile(service, { seed: SEED, requests: REQUESTS });
  assert.deepEqual(faults.slice(0, 5), []);
  const stored = await sweepStored(service);
  assert.deepEqual(service.log, [], 'no request caused a fault of the service');
  await service.stop();
  const again = await startTestService(t, { store, settings: LOG_LEVELS });
  assert.deepEqual(await readKept(again), stored, 'the data is the same after a restart');
  t.diagnostic(`${requests} requests, ${accepted.size} operations succeeded, ${stored.size} things kept`);
});
