// runs: deep, postgres long, waits
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { type ProcessAnswer, type ServiceProcess, startProcess } from '../support/service-process.ts';
import { shareService } from '../support/shared-service.ts';
import { startTestService } from '../support/test-service.ts';
import { createTestStore, postgresStoreOn, testedStore } from '../support/test-store.ts';

const shared = shareService();

/** The shared service of this file, with a separate project. */
async function open() {
  return { ...shared(), projectId: await shared().createProject('Full updates') };
}

test('a batch refused by the rate limit of its key is a failed batch, and the commit waits for it (§3.1, §5.3)', async () => {
  const { projectId, ...service } = await open();
  const made = await service.call('POST', '/management/api-keys', {
    body: { name: 'Slow', scope: { type: 'account' }, rateLimit: { requestsPerMinute: 2 } },
  });
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  const batch = (identifier: string) => ({
    body: { products: [{ identifier, name: identifier }] },
    key: made.body.key,
  });
  const begun = await service.call('POST', path('initiate'), { key: made.body.key });
  assert.equal(begun.status, 200);
  assert.equal((await service.call('POST', path('upload'), batch('A'))).status, 200);
  assert.equal((await service.call('POST', path('upload'), batch('B'))).status, 429);
  const named = `${path('start')}&fullUpdateId=${begun.body.fullUpdateId}`;
  const refused = await service.call('POST', named);
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /last batch of the full update failed/);
});

test('a refused batch of another key does not affect the open full update (§4.4 rule 33)', async () => {
  const { projectId, ...service } = await open();
  const made = await service.call('POST', '/management/api-keys', {
    body: { name: 'Slow', scope: { type: 'account' }, rateLimit: { requestsPerMinute: 1 } },
  });
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  const batch = { body: { products: [{ identifier: 'A', name: 'A' }] } };
  await service.call('POST', path('initiate'));
  assert.equal((await service.call('POST', path('upload'), batch)).status, 200);
  const { key } = made.body;
  assert.equal((await service.call('POST', path('upload'), { body: '{', key })).status, 400);
  assert.equal((await service.call('POST', path('upload'), { ...batch, key })).status, 429);
  assert.equal((await service.call('POST', path('start'))).status, 200);
});

test('a batch for another full update does not affect the open one (§4.4 rule 20)', async () => {
  const { projectId, ...service } = await open();
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  const { body } = await service.call('POST', path('initiate'));
  const products = [{ identifier: 'A', name: 'A' }];
  assert.equal((await service.call('POST', path('upload'), { body: { products } })).status, 200);
  const other = `${path('upload')}&fullUpdateId=${body.fullUpdateId + 1}`;
  assert.equal((await service.call('POST', other, { body: { products } })).status, 400);
  assert.equal((await service.call('POST', path('start'))).status, 200);
});

const batchOf = (...identifiers: string[]) => ({
  body: { products: identifiers.map((identifier) => ({ identifier, name: identifier })) },
});

test('a refused caller without access to the project does not add a failed batch (§3.1 rule 10)', async () => {
  const { projectId, ...service } = await open();
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  await service.call('POST', path('initiate'));
  assert.equal((await service.call('POST', path('upload'), batchOf('A'))).status, 200);
  for (const key of [null, 'a-key-that-nobody-has-been-given-here']) {
    assert.equal((await service.call('POST', path('upload'), { ...batchOf('B'), key })).status, 401);
  }
  assert.equal((await service.call('POST', path('start'))).status, 200);
});

test('a commit is refused if it has other batches or products than the caller counted (§4.4 rule 29)', async () => {
  const { projectId, ...service } = await open();
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  await service.call('POST', path('initiate'));
  assert.equal((await service.call('POST', path('upload'), batchOf('A', 'B'))).status, 200);
  assert.equal((await service.call('POST', path('upload'), batchOf('C'))).status, 200);
  for (const [said, text] of [
    ['batches=3', /has 2 batches, but the request states 3/],
    ['products=4', /has 3 products, but the request states 4/],
    ['batches=2&products=2', /has 3 products, but the request states 2/],
  ] as const) {
    const refused = await service.call('POST', `${path('start')}&${said}`);
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, text);
  }
  assert.equal((await service.call('POST', `${path('start')}&batches=2&products=3`)).status, 200);
});

test('a batch repeated with its Idempotency-Key neither breaks nor repairs a full update (§7.5)', async () => {
  const { projectId, ...service } = await open();
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  const headers = { 'idempotency-key': 'first' };
  await service.call('POST', path('initiate'));
  const repeat = () => service.call('POST', path('upload'), { ...batchOf('A'), headers });
  assert.equal((await repeat()).status, 200);
  assert.equal((await service.call('POST', path('upload'), { body: '{' })).status, 400);
  assert.equal((await repeat()).status, 200);
  assert.equal((await service.call('POST', path('start'))).status, 400, 'the other one failed');
  assert.equal((await service.call('POST', path('upload'), batchOf('B'))).status, 200);
  assert.equal((await repeat()).status, 200);
  assert.equal((await service.call('POST', path('start'))).status, 200);
});

type Caller = Pick<ServiceProcess, 'address' | 'key'> & {
  call(method: string, path: string): Promise<Pick<ProcessAnswer, 'status' | 'body'>>;
};

interface HalfSent {
  /** Sends the remaining half of the body. @returns the first line of the answer */
  finish(): Promise<string>;
  breakOff(): void;
}

/** Sends the head of an upload and half of its body. @returns once the service has `count` such uploads */
async function sendHalf(
  service: Caller,
  path: string,
  { identifiers = ['B'], count = 1 }: { identifiers?: readonly string[]; count?: number } = {},
): Promise<HalfSent> {
  const body = JSON.stringify(batchOf(...identifiers).body);
  const { hostname, port } = new URL(service.address);
  const socket = connect(Number(port), hostname).on('error', () => {});
  const head = `POST ${path} HTTP/1.1\r\nHost: relata\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n`;
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -9)}`);
  const open = path.replace('/upload', '');
  while ((await service.call('GET', open)).body.arriving !== count) await delay(20);
  return {
    async finish() {
      socket.write(body.slice(-9));
      let answer = '';
      for await (const text of socket.setEncoding('utf8')) answer += text;
      return answer.split('\r\n')[0] as string;
    },
    breakOff: () => void socket.destroy(),
  };
}

async function openSession(service: ServiceProcess) {
  const group = await service.call('POST', '/management/project-groups', { body: { name: 'Group' } });
  const project = { name: 'Project', projectGroupId: group.body.id, locale: 'de-DE' };
  const { id } = (await service.call('POST', '/management/projects', { body: project })).body;
  const path = (step: string) => `/products/batch/${step}?projectId=${id}`;
  assert.equal((await service.call('POST', path('initiate'))).status, 200);
  assert.equal((await service.call('POST', path('upload'), batchOf('A'))).status, 200);
  return path;
}

/** Retries while another process may become available again. */
async function startInTime(service: Caller, path: string): Promise<Pick<ProcessAnswer, 'status' | 'body'>> {
  for (;;) {
    const answer = await service.call('POST', path);
    if (answer.status !== 503) return answer;
    await delay(200);
  }
}

test('a batch whose process is killed during the upload is a failed batch (§3.1 rule 10)', async (t) => {
  const store = await createTestStore(t);
  const killed = await startProcess(store);
  const path = await openSession(killed);
  await sendHalf(killed, path('upload'));
  await killed.kill();

  const service = await startProcess(store);
  const refused = await startInTime(service, `${path('start')}&batches=1`);
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /last batch of the full update failed/);
  assert.equal((await service.call('POST', path('upload'), batchOf('B'))).status, 200);
  assert.equal((await service.call('POST', `${path('start')}&batches=2`)).status, 200);
});

const CATALOG = Array.from({ length: 100 }, (_, index) => `P${index}`);
const MOST = CATALOG.slice(0, 80);
const REST = CATALOG.slice(80);

/** A catalog of 100 products. A session has accepted 80 of them while a batch with the other 20 arrives. */
async function sendMost() {
  const { projectId, ...service } = await open();
  await service.loadCatalog(
    CATALOG.map((identifier) => ({ identifier })),
    projectId,
  );
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  const start = () => service.call('POST', path('start'));
  await service.call('POST', path('initiate'));
  const rest = await sendHalf(service, path('upload'), { identifiers: REST });
  assert.equal((await service.call('POST', path('upload'), batchOf(...MOST))).status, 200);
  const find = async () => (await service.lookUp(CATALOG, projectId)).length;
  return { service, path, start, rest, find };
}

test('a commit waits for a batch that is arriving and includes its products (§3.1 rule 10)', async () => {
  const { service, start, rest, find } = await sendMost();
  const starting = start();
  assert.match(await rest.finish(), /200 OK/);
  let started = await starting;
  // On a slow machine the batch takes longer than a commit waits.
  while (started.status === 503) started = await start();
  assert.equal(started.status, 200, JSON.stringify(started.body));
  await service.ended(started.body.data.task.id);
  assert.equal(await find(), 100);
});

test('a commit is refused while a batch is arriving: it names their number and deletes nothing (§3.1 rule 10)', async () => {
  const { service, path, start, rest, find } = await sendMost();
  const other = await sendHalf(service, path('upload'), { identifiers: ['Q'], count: 2 });
  const refused = await start();
  assert.equal(refused.status, 503, JSON.stringify(refused.body));
  assert.equal(refused.body.reason, 'full_update_arriving');
  assert.match(refused.body.message, /^2 batches .* still arriving/);
  assert.equal(refused.headers.get('retry-after'), '1');
  const counted = await service.call('POST', `${path('start')}&batches=1`);
  assert.match(counted.body.message, /^2 batches .* still arriving/, 'a count does not skip it');
  const shown = (await service.call('GET', path('').replace('/?', '?'))).body;
  assert.deepEqual([shown.batches, shown.arriving, shown.lastBatch], [1, 2, 'accepted']);

  assert.match(await other.finish(), /200 OK/);
  rest.breakOff();
  const failed = await startInTime(service, path('start'));
  assert.equal(failed.status, 400);
  assert.match(failed.body.message, /last batch of the full update failed/);
  assert.equal(await find(), 100);
  assert.equal((await service.call('POST', path('upload'), batchOf(...REST))).status, 200);
  assert.equal((await start()).status, 200);
});

test('a batch belongs to the full update in which it began, and a later one neither includes nor waits for it (§3.1 rule 10)', async () => {
  const { service, path, start, rest, find } = await sendMost();
  assert.equal((await service.call('POST', path('initiate'))).status, 200);
  assert.equal((await service.call('POST', path('upload'), batchOf(...MOST))).status, 200);
  assert.match(await rest.finish(), /400 Bad Request/);
  const started = await start();
  assert.equal(started.status, 200, JSON.stringify(started.body));
  await service.ended(started.body.data.task.id);
  assert.equal(await find(), 80);
});

test('a full update during which a process died needs a batch or a count (§3.1 rule 11)', async (t) => {
  const store = await createTestStore(t);
  const killed = await startProcess(store);
  const path = await openSession(killed);
  await killed.kill();

  const service = await startProcess(store);
  const refused = await startInTime(service, path('start'));
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /may not be recorded/);
  assert.equal((await service.call('POST', `${path('start')}&batches=1`)).status, 200);
});

test('a full update during which a process stopped normally is committed (§3.1 rule 11)', async (t) => {
  const store = await createTestStore(t);
  const stopped = await startProcess(store);
  const path = await openSession(stopped);
  assert.equal(await stopped.stop(), 0);
  const service = await startProcess(store);
  assert.equal((await service.call('POST', path('start'))).status, 200);
});

const onlyShared = {
  skip:
    testedStore !== 'postgres' &&
    'the embedded store has one process and no database that can be unreachable',
};

test('a commit counts a batch that arrives at another process (§3.1 rule 10)', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const first = await startTestService(t, { store });
  const second = await startTestService(t, { store });
  await first.loadCatalog(CATALOG.map((identifier) => ({ identifier })));
  const path = (step: string) => `/products/batch/${step}?projectId=${first.projectId}`;
  await first.call('POST', path('initiate'));
  const rest = await sendHalf(first, path('upload'), { identifiers: REST });
  assert.equal((await second.call('POST', path('upload'), batchOf(...MOST))).status, 200);
  const refused = await second.call('POST', path('start'));
  assert.equal(refused.status, 503);
  assert.match(refused.body.message, /^1 batch of the full update is still arriving/);
  assert.match(await rest.finish(), /200 OK/);
  const started = await startInTime(second, path('start'));
  assert.equal(started.status, 200, JSON.stringify(started.body));
  await second.ended(started.body.data.task.id);
  assert.equal((await second.lookUp(CATALOG)).length, 100);
});

test(
  'a batch that was sent again after its process was killed does not count as failed if the counts match (§3.1 rule 11)',
  onlyShared,
  async (t) => {
    const store = await createTestStore(t);
    const [killed, service] = await Promise.all([startProcess(store), startProcess(store)]);
    const path = await openSession(killed);
    await sendHalf(killed, path('upload'));
    await killed.kill();
    assert.equal((await service.call('POST', path('upload'), batchOf('B'))).status, 200);
    const early = await service.call('POST', `${path('start')}&batches=2`);
    assert.equal(early.body.reason, 'full_update_arriving', 'the end of the process is not visible yet');
    const uncounted = await startInTime(service, path('start'));
    assert.equal(uncounted.body.reason, 'full_update_in_doubt');
    const started = await startInTime(service, `${path('start')}&batches=2`);
    assert.equal(started.status, 200, JSON.stringify(started.body));
  },
);

test(
  'a batch refused while the database is unreachable blocks the commit (§3.1 rule 10)',
  onlyShared,
  async (t) => {
    const server = await startPostgres({ isDurable: true });
    const database = await createDatabase(server.url);
    const store = postgresStoreOn({ url: database.url, drop: () => server.stop() }, '/nonexistent');
    t.after(store.remove);
    const service = await startTestService(t, { store });
    const products = Array.from({ length: 30 }, (_, index) => ({ identifier: `P${index}` }));
    await service.loadCatalog(products);
    const path = (step: string) => `/products/batch/${step}?projectId=${service.projectId}`;
    const half = batchOf(...products.slice(0, 15).map(({ identifier }) => identifier));
    const rest = batchOf(...products.slice(15).map(({ identifier }) => identifier));
    const reach = async () => {
      while ((await service.call('GET', '/health/ready')).status !== 200) await delay(50);
    };
    /** @param forgets whether to wait until the process has to read the key from the database again */
    const refuse = async (forgets: boolean) => {
      await service.call('POST', path('initiate'));
      assert.equal((await service.call('POST', path('upload'), half)).status, 200);
      await server.halt();
      if (forgets) await delay(1_100);
      assert.equal((await service.call('POST', path('upload'), rest)).status, 503);
      await server.start();
      await reach();
      const refused = await startOnce();
      assert.match(
        refused.body.message,
        /last batch of the full update failed|refused batch of the full update may not be recorded/,
      );
    };
    const startOnce = async () => {
      for (;;) {
        const answer = await service.call('POST', path('start'));
        if (answer.status !== 503) return answer;
        await delay(50);
      }
    };
    await refuse(false);
    await refuse(true);
    const again = await service.call('POST', path('upload'), rest);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    const started = await startOnce();
    assert.equal(started.status, 200, JSON.stringify(started.body));
    await service.ended(started.body.data.task.id);
    assert.equal((await service.lookUp(products.map(({ identifier }) => identifier))).length, 30);
  },
);
