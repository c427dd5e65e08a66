// runs: test
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Fastify from 'fastify';
import { replyWithError } from '../answers/answers.ts';
import { serveConsole } from './built-files.ts';

const FILES = {
  'index.html': '<!doctype html><title>Console</title>',
  'assets/app-abc.js': 'console',
  'assets/app-abc.js.br': 'packed by br',
  'assets/app-abc.js.gz': 'packed by gzip',
  'secret.txt': 'secret',
};

async function start(t: TestContext, files: Readonly<Record<string, string>> = FILES) {
  const folder = mkdtempSync(join(tmpdir(), 'relata-console-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'assets'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const log: string[] = [];
  const logger = { level: 'warn', stream: { write: (line: string) => void log.push(line) } };
  const server = Fastify({ logger });
  server.setErrorHandler((error, req, reply) => replyWithError(error, req, reply));
  serveConsole(server, folder);
  const address = await server.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());
  const read = (path: string, headers: Record<string, string> = {}) => get(address, path, headers);
  return Object.assign(read, { log });
}

/** Sends a raw request, because fetch decompresses answers and normalises paths. */
function get(address: string, path: string, headers: Record<string, string>) {
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; text: string }>(
    (resolve, reject) => {
      const { hostname, port } = new URL(address);
      const sent = request({ hostname, port, path, headers }, (answer) => {
        let text = '';
        answer.on('data', (part) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
      });
      sent.on('error', reject).end();
    },
  );
}

test('the console page is never cached and allows only scripts and styles of the service (§14.5)', async (t) => {
  const read = await start(t);
  const page = await read('/console/');
  assert.equal(page.status, 200);
  assert.equal(page.text, FILES['index.html']);
  assert.equal(page.headers['cache-control'], 'no-cache');
  const policy = String(page.headers['content-security-policy']);
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "frame-ancestors 'none'",
  ])
    assert.ok(policy.includes(part), part);
  assert.equal(policy.includes('unsafe'), false);
  const { etag } = page.headers;
  for (const sentTags of [`${etag}`, `"other", W/${etag}`])
    assert.equal((await read('/console/', { 'if-none-match': sentTags })).status, 304);
  assert.equal((await read('/console')).headers.location, '/console/');
});

test('a file with a hash in its name may be cached for a year and is packed as the browser accepts (§14.5)', async (t) => {
  const read = await start(t);
  const path = '/console/assets/app-abc.js';
  const plain = await read(path);
  assert.equal(plain.text, 'console');
  assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.equal(plain.headers.vary, 'Accept-Encoding');
  const best = await read(path, { 'accept-encoding': 'gzip, deflate, br' });
  assert.deepEqual([best.text, best.headers['content-encoding']], ['packed by br', 'br']);
  assert.equal((await read(path, { 'accept-encoding': 'gzip, br;q=0' })).text, 'packed by gzip');
  assert.equal(best.headers['content-type'], 'text/javascript; charset=utf-8');
});

test('paths below /console/ reach only files of the console (§14.5)', async (t) => {
  const read = await start(t);
  for (const path of ['../secret.txt', '..%2fsecret.txt', '%2e%2e/secret.txt', 'app-abc.js.br', 'none.js'])
    assert.equal((await read(`/console/assets/${path}`)).status, 404, path);
});

test('without a build, /console/ and the log of the start name the command to run (§14.5)', async (t) => {
  const read = await start(t, {});
  const answer = await read('/console/');
  assert.equal(answer.status, 404);
  assert.match(JSON.parse(answer.text).message, /npm ci && npm run build/);
  assert.equal(read.log.length, 1, 'and so does the start');
  assert.match(read.log[0] ?? '', /the console is not built, .* npm ci && npm run build/);
  assert.deepEqual((await start(t)).log, []);
});
