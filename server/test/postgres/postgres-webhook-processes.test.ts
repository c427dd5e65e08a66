// runs: postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ReceivedEvent,
  type Receiver,
  startReceiver,
  verify,
} from '../support/outbound/webhook-receiver.ts';
import { query } from '../support/postgres/postgres-server.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { createTestStore, testedStore } from '../support/test-store.ts';

/** Events on a database with several processes (docs/interface §6.2 rule 3, §6.3 rules 3 and 4). */

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };
const SETTINGS = { RELATA_FETCH_ALLOW: '127.0.0.1/32' };
const EVENTS = ['products.changed', 'task.finished', 'task.failed'];
/** Per project and half. */
const UPDATES = 8;

test(
  'several processes deliver in order and lose nothing, even if one is killed during a delivery (§6.3)',
  onlyShared,
  async (t) => {
    const store = await createTestStore(t);
    const victim = await startProcess(store, SETTINGS);
    const post = async (path: string, body: object) => (await victim.call('POST', path, { body })).body;
    const { id: projectGroupId } = await post('/management/project-groups', { name: 'Group' });
    const projects: number[] = [];
    for (const name of ['First', 'Second'])
      projects.push((await post('/management/projects', { name, projectGroupId, locale: 'de-DE' })).id);
    const receivers = [await startReceiver(t), await startReceiver(t)];
    const secrets: string[] = [];
    for (const { url } of receivers) {
      const wanted = { url, events: EVENTS, scope: { type: 'account' } };
      secrets.push((await post('/management/webhook-endpoints', wanted)).secret);
    }
    const { write, taskIds } = createWriter(projects);

    // This process delivers alone, and dies during a delivery in each lane.
    const killed = Promise.withResolvers<number>();
    for (const { answer } of receivers) answer(({ payload }) => (isOf(payload, 3) ? killed.promise : 204));
    await write([victim]);
    for (const { until } of receivers)
      await until((all) => all.filter(({ payload }) => isOf(payload, 3)).length === projects.length);
    const { RELATA_DATABASE_URL: url = '' } = store.settings;
    const held = await query(url, 'select leased_by from webhook_queue where leased_by is not null');
    assert.equal(held.length, projects.length * receivers.length);
    await victim.kill();
    killed.resolve(204);
    // Otherwise its leases would last up to 30 s.
    for (const table of ['task', 'webhook_queue'])
      await store.change(`update ${table} set lease_until = 0 where leased_by is not null`);

    // Slow enough that every process finds lanes leased by other processes.
    for (const { answer } of receivers) answer(() => delay(50, 204));
    const start = () => startTestService(t, { store, settings: SETTINGS });
    const others = await Promise.all([start(), start()]);
    await write(others);
    for (const id of taskIds) assert.equal((await others[0].ended(id)).taskStatus, 'FINISHED');
    for (const [index, receiver] of receivers.entries())
      await checkReceived(receiver, { secret: secrets[index] ?? '', projects, taskIds });
  },
);

/** Updates all projects in turn, each with its own product, through the services in turn. */
function createWriter(projects: readonly number[]) {
  let made = 0;
  const taskIds: string[] = [];
  const update = async (service: Pick<ServiceProcess, 'call'>, projectId: number) => {
    const body = { products: [{ identifier: `P${made++}`, name: 'new' }] };
    const answer = await service.call('POST', `/products?projectId=${projectId}`, { body });
    taskIds.push(answer.body.task.id);
  };
  async function write(services: readonly (ServiceProcess | TestService)[]): Promise<void> {
    for (let index = 0; index < UPDATES; index += 1)
      for (const projectId of projects)
        await update(services[index % services.length] as ServiceProcess, projectId);
  }
  return { write, taskIds };
}

interface Expected {
  readonly secret: string;
  readonly projects: readonly number[];
  readonly taskIds: readonly string[];
}

/** Waits until a receiver has every change and every end once. */
async function checkReceived(
  { until, received }: Receiver,
  { secret, projects, taskIds }: Expected,
): Promise<void> {
  const once = await until((all) => {
    const eventById = new Map(all.map((event) => [event.id, event]));
    return eventById.size >= 2 * taskIds.length && eventById;
  });
  const repeated = received.length - once.size;
  assert.ok(repeated <= projects.length, `only deliveries in progress are repeated, not ${repeated}`);
  checkBodies(received, secret);
  for (const projectId of projects) checkOrder([...firstOf(received)], projectId);
  const finished = [...once.values()].filter(({ payload }) => payload.type === 'task.finished');
  assert.deepEqual(finished.map(({ payload }) => payload.data.taskId).sort(), taskIds.toSorted());
}

function checkBodies(received: readonly ReceivedEvent[], secret: string): void {
  const bodies = new Map(received.map(({ id, body }) => [id, body]));
  for (const event of received) {
    verify(secret, event);
    assert.equal(event.body, bodies.get(event.id), 'a repetition has the same content');
  }
}

/** Whether the event is the change of the project's update with this number. */
const isOf = ({ type, data }: ReceivedEvent['payload'], round: number): boolean =>
  type === 'products.changed' && [2 * round, 2 * round + 1].includes(Number(data.identifiers[0].slice(1)));

/** @returns events in the order of their first arrival */
function firstOf(received: readonly ReceivedEvent[]): Iterable<AnyBody> {
  const first = new Map<string, AnyBody>();
  for (const { id, payload } of received) if (!first.has(id)) first.set(id, payload);
  return first.values();
}

/** Each update is announced once, its change before its end, and in the order of the updates. */
function checkOrder(payloads: readonly AnyBody[], projectId: number): void {
  const own = payloads.filter(({ data }) => data.projectId === projectId);
  const changes = own.filter(({ type }) => type === 'products.changed').map(({ data }) => data);
  const numbers = changes.flatMap(({ created }) => created.map((name: string) => Number(name.slice(1))));
  assert.equal(numbers.length, 2 * UPDATES);
  assert.deepEqual(
    numbers,
    numbers.toSorted((number: number, other: number) => number - other),
  );
  for (const { taskId } of changes) {
    const about = own.filter(({ data }) => data.taskId === taskId).map(({ type }) => type);
    assert.deepEqual(about, ['products.changed', 'task.finished']);
  }
}
