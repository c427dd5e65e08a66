// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Browser, PASSWORD } from '../support/browser.ts';
import { byUpload, createPipelineProject } from '../support/pipelines/pipeline-project.ts';
import { createCatalog, shareService } from '../support/shared-service.ts';
import { testedStore } from '../support/test-store.ts';

/** Slow bodies, during which the checks made at their beginning become outdated: docs/interface §7.2. */

const service = shareService();
/** The time for which the result of a check is valid. */
const HOLDS_MS = 1_000;
const BODY = JSON.stringify({ name: 'Back door', scope: { type: 'account' } });

async function addOwner(email: string) {
  const [account] = await service().app.projects.findAccounts();
  const token = await service().app.access.makeOwnerLink(account?.id ?? 0, 'test');
  const browser = new Browser(service().address);
  const given = { token, email, name: 'Ada', password: PASSWORD };
  return { browser, id: (await browser.succeed('POST', '/management/owner', given)).user.id as number };
}

/** Sends the head of a request and a part of its body. By default the request creates an account key. */
async function begin(t: TestContext, credentials: string[], path = '/management/api-keys'): Promise<Socket> {
  const socket = connect(Number(new URL(service().address).port), '127.0.0.1').setEncoding('utf8');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Content-Length: ${BODY.length}`, ...credentials];
  socket.write(`${head.join('\r\n')}\r\n\r\n${BODY.slice(0, 9)}`);
  return socket;
}

const withSession = ({ cookie, csrfToken }: Browser) => [`Cookie: ${cookie}`, `X-CSRF-Token: ${csrfToken}`];
const withKey = (key: string) => [`Authorization: Bearer ${key}`];

async function end(socket: Socket): Promise<string> {
  socket.write(BODY.slice(9));
  const [answer] = await once(socket, 'data');
  return String(answer).split(' ')[1] ?? '';
}

test('a caller that loses its access during a slow body is refused (§7.2 rule 1, §5.6 rule 6)', async (t) => {
  const [owner, user] = [await addOwner('ada@shop.example'), await addOwner('eve@shop.example')];
  const key = await owner.browser.succeed('POST', '/management/api-keys', JSON.parse(BODY));
  const held = [await begin(t, withSession(user.browser)), await begin(t, withKey(key.key))];
  const allowed = await begin(t, withKey(service().key));
  await delay(HOLDS_MS + 100);
  await owner.browser.succeed('DELETE', `/management/users/${user.id}`);
  await owner.browser.succeed('DELETE', `/management/api-keys/${key.id}`);
  assert.deepEqual(await Promise.all(held.map(end)), ['401', '401']);
  assert.equal(await end(allowed), '201', 'a caller that keeps its access is served');
});

test('an uploaded file whose caller has lost its access by the end starts no run (§7.2 rule 1, §13.1)', async (t) => {
  const [owner, user] = [await addOwner('adb@shop.example'), await addOwner('evf@shop.example')];
  const project = await createPipelineProject(service());
  const files = await project.create(byUpload());
  const path = `/management/projects/${project.projectId}/pipelines/${files.id}/upload`;
  const held = await begin(t, withSession(user.browser), path);
  await delay(HOLDS_MS + 100);
  await owner.browser.succeed('PATCH', `/management/users/${user.id}`, { role: 'viewer' });
  assert.equal(await end(held), '403');
  assert.equal((await project.read(files)).lastRun, null);
  assert.deepEqual(await service().store.listBodies(), []);
});

test('an upload in progress ends when its key is deleted (§7.2 rule 9)', async (t) => {
  const owner = await addOwner('adc@shop.example');
  const project = await createPipelineProject(service());
  const files = await project.create(byUpload());
  const { browser } = owner;
  const key = await browser.succeed('POST', '/management/api-keys', JSON.parse(BODY));
  const upload = `/management/projects/${project.projectId}/pipelines/${files.id}/upload`;
  const paths = ['/management/api-keys', `/products?projectId=${project.projectId}`, upload];
  const held = await Promise.all(paths.map((path) => begin(t, withKey(key.key), path)));
  await browser.succeed('DELETE', `/management/api-keys/${key.id}`);
  const answers = await Promise.all(held.map((socket) => once(socket, 'data')));
  assert.deepEqual(
    answers.map(([text]) => String(text).split(' ')[1]),
    ['401', '401', '401'],
  );
  assert.equal((await project.read(files)).lastRun, null);
});

const MIB = 1024 * 1024;
/** Products of 60 KB, enough that their body is stored while it arrives. */
const listLarge = (first = 'A 0') =>
  Array.from({ length: 160 }, (_, index) => ({
    identifier: index === 0 ? first : `A ${index}`,
    name: 'A',
    attributes: [{ key: 'Text', value: String(index).padEnd(60_000, 'x') }],
  }));

/** Waits until the store has this many bodies, which are written and removed in parallel to requests. */
async function waitForBodies(count: number): Promise<void> {
  for (;;) {
    const { length } = await service().store.listBodies();
    if (length === count) return;
    await delay(10);
  }
}

test('a body is written while it arrives, and leaves nothing if it breaks off or is refused (§4.3)', async (t) => {
  const catalog = await createCatalog(service());
  await catalog.post('/products/batch/initiate');
  const { projectId } = catalog;
  for (const path of ['/products', '/products/batch/upload']) {
    const socket = connect(Number(new URL(service().address).port), '127.0.0.1');
    t.after(() => socket.destroy());
    const head = [`POST ${path}?projectId=${projectId} HTTP/1.1`, 'Host: x', ...withKey(service().key)];
    socket.write(`${head.join('\r\n')}\r\nContent-Length: ${12 * MIB}\r\n\r\n[${' '.repeat(9 * MIB)}`);
    // PostgreSQL compresses the body during the upload and writes the rows in one statement.
    if (testedStore === 'embedded') await waitForBodies(1);
    socket.destroy();
    await waitForBodies(0);
  }
  const upload = (first: string) => catalog.post('/products', { products: listLarge(first) });
  assert.equal((await upload('')).status, 400);
  await waitForBodies(0);
  await catalog.done(await upload('A 0'));
  assert.equal((await catalog.list()).length, 160);
  await waitForBodies(0);
});

test('a large body that is repeated is stored once (§7.5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.post('/products/batch/initiate');
  const products = listLarge();
  const upload = () => catalog.post('/products/batch/upload', { products }, { 'idempotency-key': 'once' });
  assert.deepEqual((await upload()).body, (await upload()).body);
  await waitForBodies(1);
  await catalog.done(await catalog.post('/products/batch/start'));
  await waitForBodies(0);
});
