// runs: postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type PostgresServer, query, startPostgres } from '../support/postgres/postgres-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { postgresStoreOn, testedStore } from '../support/test-store.ts';

/** A primary with a streaming replica: which server answers each read, and the effects of lag and promotion. */

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has no replicas' };
const MAX_DELAY_MS = 1_000;

/** The same database on another server. */
function onServer(url: string, { url: server }: PostgresServer): string {
  const { port } = new URL(server);
  return Object.assign(new URL(url), { port }).href;
}

const countReads = async (url: string): Promise<number> => {
  const [row] = await query<{ reads: string }>(
    url,
    "select coalesce(sum(idx_scan), 0) as reads from pg_stat_user_indexes where relname = 'product'",
  );
  return Number(row?.reads);
};

async function rename(service: TestService, name: string): Promise<void> {
  const body = { products: [{ identifier: 'A', name }] };
  const { body: answer } = await service.call('POST', `/products?projectId=${service.projectId}`, { body });
  assert.equal((await service.ended(answer.task.id)).taskStatus, 'FINISHED');
}

test(
  'replicas answer lookups, a lagging replica is skipped, and one can be promoted',
  onlyShared,
  async (t) => {
    const primary = await startPostgres({ isDurable: true });
    const { url } = await createDatabase(primary.url);
    const replica = await primary.startReplica();
    const replicaUrl = onServer(url, replica);
    const store = postgresStoreOn({ url, drop: async () => {} }, '/nonexistent');
    const settings = {
      RELATA_REPLICA_URLS: replicaUrl,
      RELATA_REPLICA_MAX_DELAY_MS: String(MAX_DELAY_MS),
      RELATA_CACHE_MIB: '0',
    };
    const first = await startTestService(t, { store, settings });
    const second = await startTestService(t, { store, settings });
    t.after(() => primary.stop());
    await first.loadCatalog([{ identifier: 'A' }, { identifier: 'B' }]);
    await untilReplayed(url, replicaUrl);

    await t.test('the replica answers lookups', async () => {
      const before = await countReads(replicaUrl);
      for (let index = 0; index < 20; index += 1) await second.lookUp(['A', 'B']);
      // PostgreSQL publishes its statistics with a delay.
      for (let attempt = 0; (await countReads(replicaUrl)) <= before; attempt += 1) {
        assert.ok(attempt < 600, 'the replica has read nothing');
        await delay(50);
      }
    });

    await t.test('once a task is shown as finished, every process shows its effect', async () => {
      for (let round = 1; round <= 20; round += 1) {
        await rename(first, `round ${round}`);
        const [product] = await second.lookUp(['A']);
        assert.equal(product.name, `round ${round}`);
      }
    });

    await t.test('the same holds while the replica does not advance', async () => {
      await query(onServer(primary.url, replica), 'select pg_wal_replay_pause()');
      for (let round = 1; round <= 3; round += 1) {
        await rename(second, `paused ${round}`);
        const answers = await Promise.all([first, second].map((service) => service.lookUp(['A'])));
        for (const [product] of answers) assert.equal(product.name, `paused ${round}`);
      }
      assert.ok((await readLag(second)) >= MAX_DELAY_MS / 1000, 'the metrics show how far it is behind');
      await query(onServer(primary.url, replica), 'select pg_wal_replay_resume()');
      await rename(second, 'resumed');
      assert.equal((await first.lookUp(['A']))[0].name, 'resumed');
    });

    await t.test('the same holds after the replica is removed', async () => {
      await replica.halt();
      await rename(first, 'without');
      for (const service of [first, second]) assert.equal((await service.lookUp(['A']))[0].name, 'without');
      await replica.start();
    });

    await t.test('a promoted replica continues with all data', async (step) => {
      await rename(first, 'last words');
      const { body: relation } = await first.call('GET', `/management/projects/${first.projectId}/relations`);
      assert.deepEqual(relation.items, []);
      await untilReplayed(url, replicaUrl);
      for (const service of [first, second]) await service.app.stop();
      await primary.halt('crash');
      await replica.promote();
      const promoted = postgresStoreOn({ url: replicaUrl, drop: async () => {} }, '/nonexistent');
      const service = await startTestService(step, { store: promoted });
      assert.equal((await service.lookUp(['A'], first.projectId))[0].name, 'last words');
      await rename(service, 'on the new primary');
      assert.equal((await service.lookUp(['A']))[0].name, 'on the new primary');
    });
  },
);

/** @returns the lag in the metrics, in seconds */
async function readLag(service: TestService): Promise<number> {
  const { body } = await service.call('GET', '/metrics');
  return Number(/^relata_replica_lag_seconds\{replica="1"\} (.+)$/m.exec(body)?.[1]);
}

async function untilReplayed(primary: string, replica: string): Promise<void> {
  const [sent] = await query<{ lsn: string }>(primary, 'select pg_current_wal_lsn()::text as lsn');
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const [row] = await query<{ done: boolean }>(
      replica,
      `select pg_last_wal_replay_lsn() >= '${sent?.lsn}'::pg_lsn as done`,
    );
    if (row?.done) return;
    await delay(50);
  }
  assert.fail('the replica did not catch up');
}
