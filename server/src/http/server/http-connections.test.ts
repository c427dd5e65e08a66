// runs: test
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import type { Guards } from '../guards/guards.ts';
import { createServer, type ServerSettings } from './server.ts';

const PATIENCE_MS = 60_000;
const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x');

const CALLER = {
  accountId: 1,
  keyId: 1,
  keyName: 'test',
  scope: { type: 'account' },
  access: 'read',
} as const;
/** Guards that accept one key. */
const guards = {
  findCaller({ value }) {
    if (value !== 'key') throw new ServiceError('scope_refused');
    return CALLER;
  },
  countRequest: async () => undefined,
} as Partial<Guards> as Guards;
const ANONYMOUS = 'GET /open HTTP/1.1\r\nHost: x\r\n\r\n';
const WITH_KEY = 'GET /known HTTP/1.1\r\nHost: x\r\nAuthorization: key\r\n\r\n';

async function serve(t: TestContext, settings: Partial<ServerSettings> = {}) {
  const log: string[] = [];
  const logTo = { write: (line: string) => void log.push(line) };
  const usual = { logLevel: 'info', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16, logTo };
  const server = createServer({ ...usual, ...settings }, guards);
  const route = { config: { guard: 'none' } } as const;
  const held = Promise.withResolvers<void>();
  let waiting = 0;
  server.get('/wait', route, async () => {
    waiting += 1;
    await held.promise;
    return {};
  });
  server.get('/large', route, async () => LARGE);
  server.post('/open', route, async () => ({}));
  server.get('/open', route, async () => ({}));
  server.get('/known', async () => ({}));
  server.get('/refused', async () => {
    throw new ServiceError('not_found');
  });
  t.after(() => {
    held.resolve();
    return server.close();
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.server.address() as AddressInfo;

  async function openSocket(): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  }

  async function countConnections(): Promise<number> {
    return new Promise((resolve) => server.server.getConnections((_, count) => resolve(count)));
  }

  const untilNoneIsLeft = () => untilLeft(0);

  const untilLeft = (most: number) =>
    untilSo('few connections are left', async () => (await countConnections()) <= most);
  const untilWaiting = (count: number) => untilSo(`${count} requests wait`, () => waiting >= count);

  return { server, log, held, open: openSocket, untilLeft, untilNoneIsLeft, untilWaiting };
}

async function untilSo(description: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const began = performance.now(); !(await isSo()); ) {
    assert.ok(performance.now() - began < PATIENCE_MS, description);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** @returns the status and the body of the answer */
async function ask(socket: Socket, request: string): Promise<[number, Record<string, unknown>]> {
  socket.write(request);
  const answered = new AbortController();
  const signal = AbortSignal.any([answered.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const events = ['data', 'end', 'close'].map((event) => once(socket, event, { signal }));
  const [data = assert.fail('the connection ended')] = await Promise.race(events);
  answered.abort();
  await Promise.allSettled(events);
  const [head = '', body = ''] = String(data).split('\r\n\r\n');
  return [Number(head.split(' ')[1]), JSON.parse(body)];
}

// These tests wait for time limits of the service, so they run in parallel.
suite('connections (§8)', { concurrency: true }, () => {
  test('a malformed request is answered and its connection ends, even if the sender keeps it open', async (t) => {
    const { open, untilNoneIsLeft } = await serve(t);
    const sockets = await Promise.all([1, 2, 3].map(open));
    for (const socket of sockets) assert.equal((await ask(socket, '?\r\n\r\n'))[0], 400);
    await untilNoneIsLeft();
  });

  test('the log shows some malformed requests and counts the others', async (t) => {
    const { open, log, untilNoneIsLeft } = await serve(t);
    const sockets = await Promise.all(Array.from({ length: 40 }, open));
    for (const socket of sockets) socket.write('?\r\n\r\n');
    await untilNoneIsLeft();
    const lines = log.map((line) => JSON.parse(line)).filter(({ msg }) => /refused by the parser/.test(msg));
    const leftOut = lines.reduce((sum, line) => sum + (line.leftOut ?? 0), 0);
    const reported = lines.filter((line) => line.leftOut === undefined).length;
    assert.equal(reported + leftOut, 40);
    assert.ok(reported <= 20, `${reported} lines`);
  });

  test('a malformed request after a good one does not corrupt the answer to the good one', async (t) => {
    const { open, held, untilNoneIsLeft } = await serve(t);
    const socket = await open();
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n?\r\n\r\n');
    await untilNoneIsLeft();
    held.resolve();
    assert.equal(received, '');
  });

  test('a connection ends soon after the answer if the sender continues an unread body', async (t) => {
    const { open, untilNoneIsLeft } = await serve(t);
    const socket = await open();
    const [status] = await ask(socket, 'POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n');
    assert.equal(status, 404);
    const sending = setInterval(() => socket.write('x'), 100);
    t.after(() => clearInterval(sending));
    await untilNoneIsLeft();
  });

  test('the service disconnects a caller that reads nothing of its answer, but not one that waits for an answer', async (t) => {
    const { open, held, untilLeft, untilNoneIsLeft } = await serve(t, { readerMs: 2_000 });
    const [reader, idle, waiting] = [await open(), await open(), await open()];
    reader?.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    const answered = ask(waiting as Socket, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => idle?.resume().once('end', resolve).once('close', resolve));
    await untilLeft(1);
    held.resolve();
    assert.equal((await answered)[0], 200);
    waiting?.destroy();
    await untilNoneIsLeft();
  });

  test('a connection may have 100 unanswered requests, and further ones are refused (429)', async (t) => {
    const { open, held, untilWaiting, untilNoneIsLeft } = await serve(t);
    const socket = await open();
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    const ended = once(socket, 'end');
    socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(150));
    await untilWaiting(100);
    held.resolve();
    await ended;
    await untilNoneIsLeft();
    const statuses = received.match(/HTTP\/1.1 \d+/g) ?? [];
    assert.equal(statuses.filter((status) => status.endsWith('200')).length, 100);
    assert.deepEqual(statuses.slice(100), ['HTTP/1.1 429'], 'the connection ends with it');
    assert.match(received, /retry-after: 1/);
  });

  test('a request without exactly one Host, or with an unknown Expect, gets a regular refusal (§7.1)', async (t) => {
    const { open } = await serve(t);
    const refused = [
      ['Host: x\r\nhost: y', 400, 'Bad Request'],
      ['Accept: x', 400, 'Bad Request'],
      ['Host: x\r\nExpect: tea', 417, 'Expectation Failed'],
    ] as const;
    for (const [headers, code, message] of refused) {
      const [status, body] = await ask(await open(), `POST /open HTTP/1.1\r\n${headers}\r\n\r\n`);
      assert.equal(status, code);
      assert.deepEqual([body.status, body.code, body.message], ['failure', code, message]);
      assert.ok(body.requestId && Array.isArray(body.details));
    }
    const [plain] = await ask(await open(), 'POST /open HTTP/1.0\r\n\r\n');
    assert.equal(plain, 200, 'HTTP/1.0 has none');
    const continued = await open();
    continued.write('POST /open HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
    assert.match(String((await once(continued, 'data'))[0]), /^HTTP\/1.1 100/);
    assert.equal((await ask(continued, '{}'))[0], 200);
  });

  test('a request without Host ends its connection, and the log shows only some of them', async (t) => {
    const { open, log, untilNoneIsLeft } = await serve(t);
    const sockets = await Promise.all(Array.from({ length: 40 }, open));
    const answers = sockets.map((socket) => ask(socket, 'GET /open HTTP/1.1\r\n\r\n'));
    for (const [status] of await Promise.all(answers)) assert.equal(status, 400);
    await untilNoneIsLeft();
    const readLines = () => log.map((line) => JSON.parse(line)).filter(({ msg }) => /^request/.test(msg));
    const countAll = () => readLines().reduce((sum, { leftOut = 1 }) => sum + leftOut, 0);
    await untilSo('40 requests are in the log', () => countAll() >= 40);
    assert.equal(countAll(), 40);
    assert.ok(log.length <= 22, `${log.length} lines`);
  });

  test('the log shows all refused requests with a key, but only some without a key and the number of the others', async (t) => {
    const { server, log, held } = await serve(t);
    const urls = [
      '/nowhere',
      '/known',
      { url: '/open', method: 'DELETE' },
      { url: '/wait', method: 'HEAD' },
    ] as const;
    held.resolve();
    const statuses = new Set<number>();
    for (let index = 0; index < 40; index += 1) {
      const url = urls[index % urls.length] as (typeof urls)[number];
      statuses.add((await server.inject(url)).statusCode);
    }
    assert.deepEqual(statuses, new Set([404, 401, 405, 200]));
    const isKnown = ({ key }: { key?: number }) => key !== undefined;
    const headers = { authorization: 'key' };
    for (let count = 0; count < 20; count += 1) await server.inject({ url: '/refused', headers });
    const readLines = () => log.map((line) => JSON.parse(line)).filter(({ msg }) => /^request/.test(msg));
    const readOpen = () => readLines().filter((line) => !isKnown(line));
    const countOpen = () => readOpen().reduce((sum, { leftOut = 1 }) => sum + leftOut, 0);
    await untilSo('40 requests are in the log', () => countOpen() >= 40);
    assert.equal(countOpen(), 40);
    assert.ok(readOpen().length <= 22, `${readOpen().length} lines`);
    assert.equal(readLines().filter(isKnown).length, 20);
  });

  test('the log truncates long addresses', async (t) => {
    const { server, log } = await serve(t);
    await server.inject(`/nowhere/${'1/'.repeat(50_000)}`);
    await server.inject({ url: `/refused?${'x'.repeat(100_000)}`, headers: { authorization: 'key' } });
    const lines = log.filter((line) => line.includes('"msg":"request'));
    assert.equal(lines.length, 2);
    for (const line of lines) assert.ok(line.length < 2_000, `${line.length} characters`);
    assert.match(lines[0] ?? '', /"path":"\/nowhere\/[1/]+…"/);
  });

  test('at the limit of connections, the service ends those without a key first, beginning with the longest idle one', async (t) => {
    const { server, open, held } = await serve(t);
    server.server.maxConnections = 32;
    const [authorised, active, busy] = [await open(), await open(), await open()];
    assert.equal((await ask(authorised, WITH_KEY))[0], 200);
    const answered = ask(busy, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    for (let index = 0; index < 300; index += 1) {
      assert.equal((await ask(await open(), ANONYMOUS))[0], 200);
      if (index % 10 === 0)
        assert.equal((await ask(active, ANONYMOUS))[0], 200, 'the connection was not idle');
    }
    assert.equal((await ask(authorised, WITH_KEY))[0], 200);
    assert.equal((await ask(await open(), WITH_KEY))[0], 200);
    held.resolve();
    assert.equal((await answered)[0], 200);
  });

  test('idle connections of keys make room for new ones, with a key or without', async (t) => {
    const { server, open } = await serve(t);
    server.server.maxConnections = 32;
    for (let index = 0; index < 100; index += 1) assert.equal((await ask(await open(), WITH_KEY))[0], 200);
    for (const request of [ANONYMOUS, WITH_KEY]) assert.equal((await ask(await open(), request))[0], 200);
  });

  test('a connection without a key ends with the first answer after its lifetime, and one with a key does not', async (t) => {
    const { open } = await serve(t, { strangerMs: 300 });
    const [authorised, stranger, foreign] = [await open(), await open(), await open()];
    const wrong = WITH_KEY.replace(': key', ': other');
    for (const began = performance.now(); !(stranger.readableEnded && foreign.readableEnded); ) {
      assert.ok(performance.now() - began < PATIENCE_MS, 'a connection without a key is still open');
      const openSockets = stranger.readableEnded ? [] : [ask(stranger, ANONYMOUS)];
      if (!foreign.readableEnded) openSockets.push(ask(foreign, wrong));
      await Promise.allSettled(openSockets);
      assert.equal((await ask(authorised, WITH_KEY))[0], 200);
    }
    assert.equal((await ask(authorised, WITH_KEY))[0], 200);
  });
});
