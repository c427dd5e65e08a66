// runs: deep, postgres deep, citus long, waits
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  aimAt,
  Caller,
  checkStore,
  createProject,
  waitUntilTidy,
} from '../support/catalogs/catalog-caller.ts';
import { createRandom, readProduct } from '../support/catalogs/catalog-model.ts';
import { endLeases } from '../support/killed-process.ts';
import { startProcess } from '../support/service-process.ts';
import { createTestStore, embeddedOnly, testedStore } from '../support/test-store.ts';

/**
 * The service is killed at random moments while it writes, and restarted on the same data. Afterwards everything that
 * was answered is stored, in the order of its acceptance, and nothing is stored by half (docs/interface §3.3, §4 rule
 * 7). RELATA_TEST_KILLS sets the number of kills, and RELATA_TEST_SEED repeats a run.
 */

/** Each kill takes 2 s of processor time. chaos.test.ts kills processes on PostgreSQL as well. */
const KILLS = Number(process.env.RELATA_TEST_KILLS ?? (testedStore === 'embedded' ? 6 : 4));
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const LONGEST_BURST_MS = 400;

test(`nothing that was answered is lost in ${KILLS} crashes (seed ${SEED})`, async (t) => {
  const store = await createTestStore(t);
  let service = await startProcess(store);
  const random = createRandom(SEED);
  const caller = new Caller(service, { projectId: await createProject(service), random });

  for (let kill = 1; kill <= KILLS; kill += 1) {
    const target = aimAt(random());
    const moment = Promise.withResolvers<void>();
    const timer = setTimeout(
      moment.resolve,
      random() * LONGEST_BURST_MS + (target === undefined ? 0 : 2_000),
    );
    const burst = caller.burst((answered) => {
      if (answered === target) moment.resolve();
    });
    await Promise.race([moment.promise, burst]);
    clearTimeout(timer);
    await service.kill();
    await endLeases(store);
    await burst;
    try {
      caller.history.push(`killed ${kill}`);
      service = await startProcess(store);
      await caller.recover(service);
    } catch (error) {
      throw new Error(`after kill ${kill} of ${KILLS}, RELATA_TEST_SEED=${SEED}`, { cause: error });
    }
  }
  await caller.finish();
  if (store.kind === 'postgres') {
    // The body of an interrupted request stays for a day, because another process may be about to accept it.
    assert.equal(await service.stop(), 0);
    await store.change('update payload set created_at = 0');
    service = await startProcess(store);
  }
  await waitUntilTidy(store, caller.projectId);
  assert.equal(await service.stop(), 0);
  await checkStore(store, caller.projectId);
  t.diagnostic(JSON.stringify(caller.counts));
});

/** A full update whose commit has just ended. */
const endCommit = (status: string) => (projectId: number) =>
  `
  insert into task (id, project_id, project_name, kind, name, origin, increment_type, status, is_ordered,
    request_time, start_time, finish_time, payload)
    select 'c0ffee${projectId}', project_id, '', 'catalog.commit', '', 'LIVE-API', 'STEP_BASED', '${status}', 1, 0, 0, 1, '{}'
    from full_update where project_id = ${projectId};
  update full_update set state = 'committing', commit_task_id = 'c0ffee${projectId}' where project_id = ${projectId}`;

/** A full update is closed soon after its commit, so the test makes the states of a crash in between by hand. */
const HALF_CLOSED = [
  {
    left: 'another was begun',
    sql: (projectId: number) => `update full_update set state = 'discarded' where project_id = ${projectId}`,
    status: 'CANCELLED',
  },
  { left: 'its commit was cancelled', sql: endCommit('CANCELLED'), status: 'CANCELLED' },
  { left: 'its commit failed', sql: endCommit('FAILED'), status: 'CANCELLED' },
  { left: 'its commit took effect', sql: endCommit('FINISHED'), status: 'FINISHED' },
];

test('a start finishes closing full updates that a crash left half closed', async (t) => {
  const store = await createTestStore(t);
  let service = await startProcess(store);
  const states: string[] = [];
  const cut: { path: (step: string) => string; task: string; left: string; status: string }[] = [];
  for (const { left, sql, status } of HALF_CLOSED) {
    const projectId = await createProject(service);
    const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
    await service.call('POST', path('initiate'));
    const products = [{ identifier: 'A', name: 'A' }];
    const upload = await service.call('POST', path('upload'), { body: { products } });
    cut.push({ path, task: upload.body.task.id, left, status });
    states.push(sql(projectId));
  }
  await service.kill();
  await endLeases(store);
  for (const state of states) await store.change(state);

  service = await startProcess(store);
  for (const { task, left, status } of cut) {
    const { body } = await service.call('GET', `/tasks/${task}`);
    assert.equal(body.task.taskStatus, status, left);
  }
  assert.deepEqual(await store.listBodies(), [], 'their bodies are gone');
  for (const { path, left } of cut) {
    assert.equal((await service.call('POST', path('start'))).status, 400, left);
    assert.equal((await service.call('POST', path('initiate'))).status, 200, left);
  }
});

test(
  'after a loss of power the commit stages lost batches again, because staging is not synced',
  embeddedOnly('PostgreSQL decides itself what it has written when it crashes'),
  async (t) => {
    const store = await createTestStore(t);
    let service = await startProcess(store);
    const projectId = await createProject(service);
    const post = async (step: string, body?: object) => {
      const query = `projectId=${projectId}${step === 'start' ? '&batches=2' : ''}`;
      const answer = await service.call('POST', `/products/batch/${step}?${query}`, { body });
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const commit = async () => {
      const { id } = (await post('start')).data.task;
      const { body } = await service.call('GET', `/tasks/${id}?wait=60`);
      assert.equal(body.task.taskStatus, 'FINISHED');
    };
    const batch = (identifier: string, key: string) =>
      post('upload', { products: [{ identifier, name: identifier, attributes: [{ key, value: 'red' }] }] });
    await post('initiate');
    await batch('A', 'Colour');
    await batch('B', 'Colour');
    await commit();
    assert.equal(await service.stop(), 0);

    service = await startProcess(store);
    await post('initiate');
    await batch('A', 'Colour');
    await batch('C', 'Shade');
    const countStaged = () =>
      store.readCatalog<{ count: number }>(projectId, 'select count(*) as count from staged_batch');
    while ((await countStaged())[0]?.count !== 2) await delay(20);
    await service.kill();
    for (const suffix of ['-wal', '-shm'])
      await rm(join(store.dataDir, 'catalogs', `${projectId}.db${suffix}`), { force: true });
    assert.deepEqual((await countStaged())[0]?.count, 0, 'what was not synced is gone');

    service = await startProcess(store);
    await commit();
    const path = `/management/projects/${projectId}/products?format=ndjson`;
    const lines = (await service.call('GET', path)).text.trimEnd().split('\n');
    const stored = lines.map((line) => readProduct(JSON.parse(line)).identifier);
    assert.deepEqual(stored.sort(), ['A', 'C']);
  },
);
