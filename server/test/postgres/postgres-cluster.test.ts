// runs: postgres deep, citus long, alone
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DISTRIBUTED } from '../../src/storage/postgres/distribution.ts';
import { createProject } from '../support/catalogs/catalog-caller.ts';
import { countProducts, loadBatches, PRODUCTS_OF_BATCH } from '../support/catalogs/whole-loads.ts';
import { findWorker, killWorker } from '../support/postgres/cluster.ts';
import { query } from '../support/postgres/postgres-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { runRelataWith } from '../support/relata-command.ts';
import { startProcess } from '../support/service-process.ts';
import { createTestStore, embeddedStoreAt, findServer, makeTestStore } from '../support/test-store.ts';

/** Projects on the workers of Citus (docs/operating/postgresql.md, "Sharding"). RELATA_TEST_CITUS names a running coordinator. */

const coordinator = process.env.RELATA_TEST_CITUS;
const isClustered = coordinator !== undefined && process.env.RELATA_TEST_DATABASE_URL === coordinator;
const onCluster = {
  skip: !isClustered && 'RELATA_TEST_CITUS names no coordinator, or this pass uses another server',
};

/** Used in place of a project in `storage/postgres/trial-writes.ts`. */
const TRIAL_PROJECT = -1;
const BATCHES = 12;
const LOADS = 3;
/** The time between kills: a commit that takes longer than this would never end. */
const KILLS = 8;

test('without Citus relata distribute names what is missing and changes nothing', {
  skip: isClustered,
}, async (t) => {
  const store = await createTestStore(t);
  if (store.kind === 'embedded') return t.skip('of PostgreSQL');
  const { code, output } = await distribute(store.settings.RELATA_DATABASE_URL ?? '', store.dataDir);
  assert.equal(code, 1);
  assert.match(output, /has no Citus: run create extension citus on it and on each worker first$/);
});

test(
  'relata distribute spreads a new store by project, announces its steps first, and does them once',
  onCluster,
  async (t) => {
    const { url, drop } = await createDatabase(await findServer(), { isEmpty: true });
    t.after(drop);
    const dataDir = await makeFolder(t);
    const dry = await distribute(url, dataDir, '--shards', '4', '--dry-run');
    assert.equal(dry.code, 0, dry.output);
    for (const table of DISTRIBUTED)
      assert.match(dry.output, new RegExp(`create_distributed_table\\('${table}', 'project_id'`));
    assert.deepEqual(await listDistributed(url), []);

    const done = await distribute(url, dataDir, '--shards', '4');
    assert.match(done.output, /^the projects are now in 4 shards on \d+ workers$/m);
    assert.deepEqual(await listDistributed(url), [...DISTRIBUTED].sort());
    const again = await distribute(url, dataDir);
    assert.match(again.output, /^the projects are already in 4 shards/m);
  },
);

test('a store that was moved from files is distributed with all its content', onCluster, async (t) => {
  const from = await mkdtemp(join(tmpdir(), 'relata-test-'));
  t.after(() => rm(from, { recursive: true, force: true }));
  const { url, drop } = await createDatabase(await findServer(), { isEmpty: true });
  t.after(drop);
  const embedded = embeddedStoreAt(from);
  const before = await startProcess(embedded);
  const projectId = await createProject(before);
  await loadBatches(before, { projectId, batches: 1 });
  assert.equal(await before.stop(), 0);
  const moved = await runRelataWith({}, from, 'migrate-store', '--from', from, '--to', url);
  assert.equal(moved.code, 0, moved.output);
  const done = await distribute(url, from, '--shards', '4');
  assert.equal(done.code, 0, done.output);

  const service = await startProcess({
    ...embedded,
    settings: { ...embedded.settings, RELATA_DATABASE_URL: url },
  });
  try {
    assert.deepEqual(await countProducts(url, projectId), [PRODUCTS_OF_BATCH, PRODUCTS_OF_BATCH]);
    await loadBatches(service, { projectId, batches: 2 });
    assert.deepEqual(await countProducts(url, projectId), [2 * PRODUCTS_OF_BATCH, 2 * PRODUCTS_OF_BATCH]);
  } finally {
    await service.stop();
  }
});

test(
  'a worker that is killed and restarted during uploads loses nothing that was accepted (§3.3)',
  onCluster,
  async (t) => {
    const store = await createTestStore(t);
    const url = store.settings.RELATA_DATABASE_URL ?? '';
    const service = await startProcess(store);
    store.onRemove(() => service.stop());
    const projectId = await createProject(service);
    const worker = await findWorker(url, projectId);
    let kills = 0;
    for (let times = 0; times < LOADS; times += 1) {
      let isLoading = true;
      const killing = (async () => {
        for (let count = 0; isLoading && count < KILLS; count += 1, kills += 1) {
          await delay(700);
          const restart = await killWorker(worker);
          await delay(500);
          await restart();
        }
      })();
      try {
        await loadBatches(service, { projectId, batches: BATCHES });
      } catch (error) {
        // An error of the database that is not yet recognised as an outage is only in the log.
        t.diagnostic(
          service
            .log()
            .split('\n')
            .filter((line) => line.includes('"level":50'))
            .join('\n'),
        );
        throw error;
      } finally {
        isLoading = false;
        await killing;
      }
    }
    assert.ok(kills > 0);
    t.diagnostic(`${kills} kills`);
    const products = BATCHES * PRODUCTS_OF_BATCH;
    assert.deepEqual(await countProducts(url, projectId), [products, products]);
  },
);

test(
  'a start during the absence of a worker serves the projects of the others and logs the reason in one line',
  onCluster,
  async (t) => {
    const store = await createTestStore(t);
    const url = store.settings.RELATA_DATABASE_URL ?? '';
    const before = await startProcess(store);
    // The start makes its trial writes on this worker.
    const worker = await findWorker(url, TRIAL_PROJECT);
    const createOn = async (isOnIt: boolean): Promise<number> => {
      const projectId = await createProject(before);
      return ((await findWorker(url, projectId)) === worker) === isOnIt ? projectId : createOn(isOnIt);
    };
    const [served, away] = [await createOn(false), await createOn(true)];
    for (const projectId of [served, away]) await loadBatches(before, { projectId, batches: 1 });
    assert.equal(await before.stop(), 0);

    const restart = await killWorker(worker);
    let isAway = true;
    // This also runs if the test fails, because other tests use the worker.
    store.onRemove(async () => isAway && (await restart()));
    const service = await startProcess(store);
    store.onRemove(() => service.stop());
    const listOf = async (projectId: number) =>
      (await service.call('GET', `/management/projects/${projectId}/products?limit=1`)).status;
    assert.deepEqual([await listOf(served), await listOf(away)], [200, 503]);
    await loadBatches(service, { projectId: served, batches: 2 });
    const lines = service
      .log()
      .split('\n')
      .filter((line) => line.includes('a worker of Citus'));
    assert.equal(lines.length, 1, service.log());
    const { reason } = JSON.parse(lines[0] ?? '') as { reason: string };
    assert.notEqual(reason, '');
    await restart();
    isAway = false;
    await loadBatches(service, { projectId: away, batches: 2 });
    assert.deepEqual([await listOf(served), await listOf(away)], [200, 200]);
  },
);

const distribute = (url: string, dataDir: string, ...flags: string[]) =>
  runRelataWith({ RELATA_DATABASE_URL: url }, dataDir, 'distribute', ...flags);

async function listDistributed(url: string): Promise<string[]> {
  const rows = await query<{ name: string }>(
    url,
    "select logicalrelid::text as name from pg_dist_partition where partmethod = 'h' order by 1",
  );
  return rows.map(({ name }) => name).sort();
}

async function makeFolder(t: { after(work: () => Promise<void>): void }): Promise<string> {
  const store = await makeTestStore();
  t.after(store.remove);
  return store.dataDir;
}
