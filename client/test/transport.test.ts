// runs: test
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createRelata, UnreachableError } from '@relata/client';

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A service that behaves badly. */
async function startBad(t: TestContext, handle: Handler) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume();
    handle(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { requests, relata: createRelata({ url, key: 'k', retries: 3 }) };
}

const succeed = (response: ServerResponse, body: unknown) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

test('the client repeats a write after a temporary failure under one idempotency key (§7.5)', async (t) => {
  const { relata, requests } = await startBad(t, (_, response, count) => {
    if (count === 1) response.destroy();
    else if (count === 2) response.writeHead(503, { 'retry-after': '0' }).end();
    else succeed(response, { id: 1, name: 'Shop' });
  });
  assert.equal((await relata.projects.createGroup('Shop')).name, 'Shop');
  const keys = requests.map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/);
});

test('the client does not repeat a refusal, and also reports a refusal without a body', async (t) => {
  const { relata, requests } = await startBad(t, (_, response) => void response.writeHead(400).end('<html>'));
  await assert.rejects(relata.projects.createGroup('Shop'), { status: 400 });
  assert.equal(requests.length, 1);
});

test('an unreachable service throws UnreachableError, and an aborted call throws its reason', async (t) => {
  const { relata } = await startBad(t, (_, response) => void response.destroy());
  await assert.rejects(relata.projects.get(1), UnreachableError);
  const aborted = AbortSignal.abort(new Error('enough'));
  await assert.rejects(relata.projects.get(1, { signal: aborted }), { message: 'enough' });
});

test('a password is sent once, and every change carries the token of the newest session (§5.6)', async (t) => {
  let made = 0;
  const { relata, requests } = await startBad(t, (request, response) => {
    if (!request.url?.startsWith('/management/session')) return succeed(response, { id: 1, name: 'Shop' });
    made += 1;
    succeed(response, { user: { id: 1 }, account: { id: 1 }, csrfToken: `token ${made}` });
  });
  await relata.session.signIn('a@example.com', 'password');
  await relata.projects.createGroup('Shop');
  await relata.projects.list();
  await relata.session.changePassword('password', 'another');
  await relata.projects.createGroup('Shop');
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-csrf-token']),
    [undefined, 'token 1', undefined, 'token 1', 'token 2'],
  );
  const locked = await startBad(t, (_, response) => void response.writeHead(429).end());
  await assert.rejects(locked.relata.session.signIn('a@example.com', 'password'), { status: 429 });
  assert.equal(locked.requests.length, 1);
});

test('events are assembled from any chunks, and a broken stream is opened again', async (t) => {
  const task = { id: 'a', taskStatus: 'RUNNING', finishTime: null };
  const text = `event: task\ndata: ${JSON.stringify(task)}\n\n: still there\n\n`;
  const { relata, requests } = await startBad(t, (_, response, count) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (count === 1) {
      response.write(text.slice(0, 20));
      setTimeout(() => response.end(text.slice(20)), 20);
      return;
    }
    response.end(
      `event: task\r\ndata: ${JSON.stringify({ ...task, taskStatus: 'FINISHED', finishTime: 1 })}\r\n\r\n`,
    );
  });
  const seen = [];
  for await (const { taskStatus } of relata.tasks.follow('a')) seen.push(taskStatus);
  assert.deepEqual(seen, ['RUNNING', 'FINISHED']);
  assert.equal(requests.length, 2);
});

test('values in a path or query arrive unchanged', async (t) => {
  const { relata, requests } = await startBad(t, (_, response) => succeed(response, { items: [] }));
  await relata.products.open(7, 'a/b?c=ä#');
  await relata.products.listTable(7, { identifierPrefix: 'x&y', category: ['Tools', 'Bits'] });
  const [one, list] = requests.map(({ url = '' }) => new URL(url, 'http://x'));
  assert.equal(one?.pathname, '/management/projects/7/products/a%2Fb%3Fc%3D%C3%A4%23');
  assert.equal(list?.searchParams.get('format'), 'table');
  assert.equal(list?.searchParams.get('identifierPrefix'), 'x&y');
  assert.equal(list?.searchParams.get('category'), '["Tools","Bits"]');
});
