// runs: deep (not on postgres: a client, which sees answers and no store)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createCatalog, shareService } from '../support/shared-service.ts';

/** clients/php against the service, with the HTTP client of Debian's php-guzzlehttp-guzzle. */
const CLIENT = join(import.meta.dirname, '../../../clients/php');
const TESTS = join(CLIENT, 'test/tests.php');
const AUTOLOAD = join(CLIENT, 'test/autoload.php');

const missing =
  spawnSync('php', ['-r', `require '${AUTOLOAD}'; new GuzzleHttp\\Psr7\\HttpFactory();`]).status !== 0 &&
  'PHP or its packages are missing: apt-get install php-cli php-curl php-guzzlehttp-guzzle';

const options = { skip: missing };

const theService = missing ? undefined : shareService();

interface Place {
  readonly url: string;
  readonly projectId: number;
}

/** @returns the script's output */
async function runPhp(
  args: readonly string[],
  { url, projectId }: Place,
  testName?: string,
): Promise<string> {
  const { PATH } = process.env;
  const child = spawn('php', args, {
    env: {
      PATH,
      RELATA_URL: url,
      RELATA_API_KEY: theService?.().key,
      RELATA_PROJECT: String(projectId),
      ...(testName && { RELATA_TEST: testName }),
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  await once(child, 'close');
  return output;
}

async function makePlace(): Promise<Place> {
  const service = theService?.() ?? assert.fail();
  const { projectId } = await createCatalog(service, { maxDeletePercent: 30 });
  return { url: service.address, projectId };
}

const names = [...readFileSync(TESTS, 'utf8').matchAll(/^ {4}'(.*)' => function/gm)].map(
  ([, name = '']) => name,
);
const [REPEATED = '', IN_LITTLE_MEMORY = ''] = names.slice(-2);

for (const name of names.slice(0, -2))
  test(`PHP: ${name}`, options, async () => {
    assert.equal(await runPhp([TESTS], await makePlace(), name), `ok ${name}\n`);
  });

test(`PHP: ${IN_LITTLE_MEMORY}`, options, async (t) => {
  const output = await runPhp(['-d', 'memory_limit=32M', TESTS], await makePlace(), IN_LITTLE_MEMORY);
  assert.match(output, new RegExp(`^ok ${IN_LITTLE_MEMORY}$`, 'm'), output);
  t.diagnostic(output);
});

test(`PHP: ${REPEATED}`, options, async (t) => {
  const folder = await makePlace();
  const keys: unknown[] = [];
  const faults = [answerBusy, loseAnswer, breakAnswer];
  const url = await startProxy(t, async (request, response) => {
    keys.push(request.headers['idempotency-key']);
    await (faults.shift() ?? passOn)(request, response);
  });
  assert.equal(await runPhp([TESTS], { ...folder, url }, REPEATED), `ok ${REPEATED}\n`);
  assert.deepEqual(keys, ['night-0', 'night-0', 'night-0', 'night-0']);
  const { body } =
    (await theService?.().call('GET', `/tasks?projectId=${folder.projectId}`)) ?? assert.fail();
  assert.equal(body.tasks.length, 1, 'the answer was lost, and the update was not repeated');
});

test('PHP: the examples of the README work when pasted', options, async () => {
  const folder = await makePlace();
  const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8');
  // The first ten lines are the same for all clients, and are tested with the TypeScript client
  // (client/test/calls.test.ts).
  const [, ...blocks] = [...readme.matchAll(/```php\n(.*?)```/gs)].map(([, block = '']) => block);
  const code = blocks.join('\n');
  assert.match(code, /vendor\/autoload\.php/);
  const path = join(tmpdir(), `relata-readme-${process.pid}.php`);
  const pasted = code
    .replace("'vendor/autoload.php'", `'${AUTOLOAD}'`)
    .replace('http://127.0.0.1:4810', folder.url)
    .replaceAll(/projectId: 1\b/g, `projectId: ${folder.projectId}`);
  writeFileSync(path, `<?php\n${pasted}`);
  const output = await runPhp(['-d', 'error_reporting=-1', path], folder);
  assert.match(output, /^Cordless drill\n10000 sent\n/, output);
  assert.doesNotMatch(output, /Warning|Fatal|Notice|Deprecated/);
});

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

async function startProxy(t: TestContext, handle: Handler): Promise<string> {
  const proxy = createServer((request, response) => void handle(request, response));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

const answerBusy: Handler = async (request, response) => {
  request.resume();
  response.writeHead(503, { 'retry-after': '1' }).end('<html>busy</html>');
};

/** The service does the work, but its answer is lost. */
const loseAnswer: Handler = async (request, response) => {
  await ask(request);
  response.destroy();
};

/** The connection ends in the middle of the answer. */
const breakAnswer: Handler = async (request, response) => {
  const text = await (await ask(request)).text();
  response.writeHead(200, { 'content-length': text.length });
  response.write(text.slice(0, 20), () => response.destroy());
};

const passOn: Handler = async (request, response) => {
  const answer = await ask(request);
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
};

async function ask(request: IncomingMessage): Promise<Response> {
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
  const body = await Array.fromAsync(request);
  const url = `${theService?.().address}${request.url}`;
  return fetch(url, {
    method: request.method ?? 'GET',
    headers: headers as Record<string, string>,
    body: Buffer.concat(body),
  });
}
