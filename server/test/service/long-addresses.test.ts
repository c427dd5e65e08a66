// runs: deep, own (not on postgres: addresses that are refused before the store is read)
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

/** Decoding 80 KB takes milliseconds, and a caller needs no key for it. The router writes `%25` as `%2525`. */
const MOST_DECODED = 2 * 8_192;
const LONG = 80_000;
const METHODS = ['GET', 'POST', 'OPTIONS'];
const PARTS = ['x', '/', 'a/', '%25', '%25/', '%2F', '%C3%A9', '%ff', '%', '../', '%2e%2e/'];
const PREFIXES = ['/', '/products/', '/console/', '/docs/', '/channels/', '/management/projects/1/'];

/** fetch would normalise the path. @returns the status of the answer */
async function ask(method: string, path: string): Promise<number> {
  const { hostname, port } = new URL(service().address);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (part) => {
    text += part;
  });
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
  await once(socket, 'close');
  return Number(text.split(' ', 2)[1]);
}

/** @returns the length of the longest text that the service, which runs in this process, decodes during the call */
function watchDecoding(t: TestContext): { longest: number } {
  const seen = { longest: 0 };
  for (const name of ['decodeURI', 'decodeURIComponent'] as const) {
    const decode = globalThis[name];
    globalThis[name] = (text: string) => {
      seen.longest = Math.max(seen.longest, text.length);
      return decode(text);
    };
    t.after(() => {
      globalThis[name] = decode;
    });
  }
  return seen;
}

test('the service answers a path of 80 KB with 404 and decodes only a short part of it (§7.2 rule 2)', async (t) => {
  const seen = watchDecoding(t);
  for (const method of METHODS)
    for (const prefix of PREFIXES)
      for (const part of PARTS) {
        const path = prefix + part.repeat(LONG / part.length);
        assert.equal(await ask(method, path), 404, `${method} ${path.slice(0, 40)}`);
      }
  assert.equal(await ask('GET', '/nowhere/%C3%A9'), 404);
  assert.ok(seen.longest > 0, 'a short path is decoded, so the watch sees it');
  assert.ok(seen.longest <= MOST_DECODED, `${seen.longest} characters`);
});

test('the service refuses a request without a valid key and decodes only the beginning of a long query (§5.1)', async (t) => {
  const seen = watchDecoding(t);
  for (const [method, path, status] of [
    ['GET', '/nowhere', 404],
    ['POST', '/products', 401],
    ['PATCH', '/products', 405],
    ['GET', '/tasks', 401],
    ['GET', '/health/live', 200],
  ] as const)
    for (const query of ['%ff', 'apiKey=%ff&', '%41', '+']) {
      const text = query.repeat(LONG / query.length);
      for (const sent of [text, `apiKey=${text}`, `projectId=${text}`])
        assert.equal(await ask(method, `${path}?${sent}`), status, `${method} ${path}?${sent.slice(0, 40)}`);
    }
  assert.ok(seen.longest > 0);
  assert.ok(seen.longest <= MOST_DECODED, `${seen.longest} characters`);
});
