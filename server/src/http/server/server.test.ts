// runs: test
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { streamBody } from '../bodies/body.ts';
import type { Guards } from '../guards/guards.ts';
import { createServer } from './server.ts';

test('a body that never ends does not delay the stop, whether it is read or ignored (§10.4)', async (t) => {
  const settings = {
    logLevel: 'silent',
    trustedProxies: [],
    corsOrigins: [],
    bodyBudgetMib: 16,
    closeMs: 300,
  };
  const server = createServer(settings, {} as Guards);
  server.post('/read', { config: { guard: 'none', body: 'stream' } }, async ({ body }) => {
    for await (const _ of body as ReturnType<typeof streamBody>);
    return {};
  });
  server.post('/unread', { config: { guard: 'none', body: 'ignored' } }, async () => ({}));
  await server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.server.address() as AddressInfo;
  for (const path of ['/read', '/unread']) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const sending = setInterval(() => socket.write('1\r\nx\r\n'), 20);
    t.after(() => {
      clearInterval(sending);
      socket.destroy();
    });
    if (path === '/unread') await once(socket, 'data');
  }
  const began = performance.now();
  await server.close();
  assert.ok(performance.now() - began < 10_000);
});

test('the longest query that is accepted is read in under a second, also without a key (§8)', async (t) => {
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 };
  const server = createServer(settings, {} as Guards);
  const route = { config: { guard: 'none' }, schema: { querystring: { type: 'object' } } } as const;
  server.get('/open', route, async ({ query }) => ({ values: (query as { a: string[] }).a.length }));
  t.after(() => server.close());
  const began = performance.now();
  const answer = await server.inject(`/open?${'a=1&'.repeat(32_000)}`);
  assert.deepEqual(answer.json(), { values: 32_000 });
  assert.ok(performance.now() - began < 1_000);
});

test('an answer that cannot be sent is replaced by a failure, and other answers of the same turn arrive (§7.1)', async (t) => {
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 };
  const server = createServer(settings, {} as Guards);
  const config = { guard: 'none' } as const;
  server.get('/good', { config }, async () => ({}));
  server.get('/bad', { config }, async (_, reply) => reply.header('x-name', 'a\nb').send({}));
  t.after(() => server.close());
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  const answers = await Promise.all(['/good', '/bad', '/good'].map((path) => fetch(address + path)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 500, 200],
  );
});

test('a stream that fails in the turn of its answer makes only that answer fail (§7.1)', async (t) => {
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 };
  const server = createServer(settings, {} as Guards);
  server.get('/stream', { config: { guard: 'none' } }, async () => {
    const stream = new Readable({ read() {} });
    setImmediate(() => stream.destroy(new Error('of the stream')));
    return stream;
  });
  t.after(() => server.close());
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  assert.equal((await fetch(`${address}/stream`)).status, 500);
});
