// runs: deep, postgres deep, waits
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../support/catalogs/catalog-model.ts';
import { endLeases } from '../support/killed-process.ts';
import { startReceiver } from '../support/outbound/webhook-receiver.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { createTestStore, testedStore } from '../support/test-store.ts';

/**
 * The service is killed at random moments while it writes and delivers, and restarted on the same data.
 * RELATA_TEST_KILLS sets the number of kills, and RELATA_TEST_SEED repeats a run.
 */
const KILLS = Number(process.env.RELATA_TEST_KILLS ?? (testedStore === 'embedded' ? 3 : 2));
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const LONGEST_BURST_MS = 1_500;
const SETTINGS = { RELATA_FETCH_ALLOW: '127.0.0.1/32' };
const EVENTS = ['products.changed', 'catalog.committed', 'task.finished', 'relation.changed'];

test('a process killed at any moment loses no event, and no event reports a change that did not happen (§6.3)', async (t) => {
  const store = await createTestStore(t);
  const receiver = await startReceiver(t);
  const random = createRandom(SEED);
  let service = await startProcess(store, SETTINGS);
  const post = async (path: string, body: object) => (await service.call('POST', path, { body })).body;
  const { id: projectGroupId } = await post('/management/project-groups', { name: 'Group' });
  const { id } = await post('/management/projects', { name: 'Project', projectGroupId, locale: 'de-DE' });
  const scope = { type: 'account' };
  await post('/management/webhook-endpoints', { url: receiver.url, events: EVENTS, scope });
  let made = 1;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const begun = Promise.withResolvers<void>();
    const burst = write(service, id, () => {
      if (made % 4 === 1) begun.resolve();
      return made++;
    });
    await Promise.race([begun.promise, burst]);
    await delay(random() * LONGEST_BURST_MS);
    await service.kill();
    await burst;
    await endLeases(store);
    service = await startProcess(store, SETTINGS);
  }
  await post(`/products?projectId=${id}`, { products: [{ identifier: 'last', name: 'last' }] });
  const listChanges = () => receiver.received.filter(({ payload }) => payload.type === 'products.changed');
  await receiver.until(() => listChanges().some(({ payload }) => payload.data.identifiers.includes('last')));
  await receiver.until(() => receiver.received.at(-1)?.payload.type === 'task.finished');

  const about = `seed ${SEED}, ${KILLS} kills, ${made} updates`;
  t.diagnostic(`${about}, ${receiver.received.length} requests`);
  // Each event arrives at least once. A repetition has the same id and content.
  const once = new Map(receiver.received.map(({ id: event, body }) => [event, body]));
  for (const { id: event, body } of receiver.received) assert.equal(body, once.get(event), about);
  const payloads = [...once.values()].map((body) => JSON.parse(body));
  const of = (type: string) => payloads.filter((payload) => payload.type === type).map(({ data }) => data);
  const changes = of('products.changed');
  const held = new Set<string>();
  for (const { identifiers, deleted } of changes) {
    for (const name of identifiers) held.add(name);
    for (const name of deleted) held.delete(name);
  }
  assert.deepEqual([...held].toSorted(), (await listProducts(service, id)).toSorted(), about);
  const created = changes.flatMap((data) => data.created as string[]);
  assert.equal(new Set(created).size, created.length, `each change is reported once: ${about}`);
  const order = created.filter((name) => name !== 'last').map((name) => Number(name.slice(1)));
  assert.deepEqual(
    order,
    order.toSorted((left, other) => left - other),
    about,
  );
  const tasks = await listTasks(service, id);
  const finished = tasks.filter((task) => task.taskStatus === 'FINISHED').map((task) => task.id);
  assert.deepEqual(
    of('task.finished')
      .map((data) => data.taskId)
      .toSorted(),
    finished.toSorted(),
    about,
  );
  const commits = tasks.filter(({ name, taskStatus }) => name === COMMIT && taskStatus === 'FINISHED');
  assert.deepEqual(
    of('catalog.committed')
      .map((data) => data.taskId)
      .toSorted(),
    commits.map((task) => task.id).toSorted(),
  );
  const { body } = await service.call('GET', `/management/projects/${id}/relations`);
  const relations = body.items.map((relation: { id: number }) => relation.id);
  const toldRelations = of('relation.changed')
    .filter(({ change }) => change === 'created')
    .map((data) => data.relationId);
  assert.deepEqual(toldRelations.toSorted(), relations.toSorted(), about);
});

const COMMIT = 'Api triggered full update';

/** Writes until the process ends: updates, a full update sometimes, and relations. */
async function write(service: ServiceProcess, projectId: number, next: () => number): Promise<void> {
  const post = async (path: string, body: object = {}) => {
    const answer = await service.call('POST', path, { body });
    assert.ok(answer.status < 300, `${path}: ${answer.text}`);
  };
  const query = `?projectId=${projectId}`;
  const all = { all: [] };
  const relation = { name: 'All', tag: 'all', source: all, target: all, match: [] };
  try {
    for (;;) {
      const number = next();
      const products = [{ identifier: `P${number}`, name: 'new' }];
      if (number % 7 === 6) {
        await post(`/products/batch/initiate${query}`);
        await post(`/products/batch/upload${query}`, { products });
        // Without the count, a dead process leaves the full update in doubt (docs/interface §3.1 rule 11).
        await post(`/products/batch/start${query}&batches=1`);
      } else await post(`/products${query}`, { products });
      if (number % 5 === 2) await post(`/management/projects/${projectId}/relations`, relation);
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
  }
}

async function listProducts(service: ServiceProcess, projectId: number): Promise<string[]> {
  const { body } = await service.call('GET', `/management/projects/${projectId}/products?limit=1000`);
  assert.equal(body.nextCursor, null);
  return body.items.map((item: { identifier: string }) => item.identifier);
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
async function listTasks(service: ServiceProcess, projectId: number): Promise<any[]> {
  const endpoints = [];
  let cursor = '';
  do {
    const path = `/tasks?projectId=${projectId}&limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const { body } = await service.call('GET', path);
    endpoints.push(...body.tasks);
    cursor = body.nextCursor ?? '';
  } while (cursor !== '');
  return endpoints;
}
