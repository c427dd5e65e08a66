// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createChannelProject } from '../support/channels/channel-project.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

/** Keys and channel tokens as the service makes them, and account keys as operators make them. */
const SECRETS = {
  token: randomBytes(24).toString('base64url'),
  key: randomBytes(32).toString('base64url'),
  hex: randomBytes(32).toString('hex'),
  base64: `${randomBytes(11).toString('base64')}/${randomBytes(24).toString('base64')}`,
  words: 'correct-horse-battery-staple-and-more-words',
};

/** Paths that no route serves, that a route serves, and that a route serves with another method. */
const PATHS = [
  '/SECRET',
  '/SECRET/',
  '//SECRET',
  '/a/b/SECRET?x=1',
  '/channels/SECRET',
  '/channels/SECRET/',
  '/channels/SECRET/feed.xml',
  '/channels/SECRET/a/b',
  '/channels/SECRET/ucp/unknown',
  '/shop/channels/SECRET/feed.xml',
  '/Channels/SECRET/feed.xml',
  '/channels/%ZZ/SECRET',
  '/tasks/SECRET',
  '/tasks/SECRET/log',
  '/console/SECRET',
  '/docs/SECRET.html',
  '/projects/SECRET',
  '/etl-triggers/webhook/SECRET',
  '/management/projects/PROJECT/products/SECRET',
  '/management/projects/PROJECT/tables/SECRET',
  '/management/projects/SECRET',
];
const QUERIES = [
  'apiKey=SECRET',
  'key=SECRET',
  'x=SECRET',
  'SECRET',
  'SECRET=1',
  'identifiers=["SECRET"]',
  'identifiers=[SECRET',
  'limit=SECRET',
  'fullUpdateId=SECRET',
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'];

/** The longest part of a secret that a log may contain. A few characters never suffice to find the others. */
const PIECE = 24;

function findPieces(text: string, secret: string): string[] {
  const pieces: string[] = [];
  for (let index = 0; index + PIECE <= secret.length; index += 1) {
    const piece = secret.slice(index, index + PIECE);
    for (const written of new Set([piece, encodeURIComponent(piece)]))
      if (text.includes(written)) pieces.push(written);
  }
  return pieces;
}

test('neither the log nor the noted requests contain a part of a key or channel token, whichever path or parameter held it (§5.1 rule 9)', async () => {
  const project = await createChannelProject(service());
  const channel = await project.create({
    name: 'Feed',
    format: { type: 'ndjson' },
    trigger: { type: 'manual' },
    mapping: { id: { field: 'identifier' } },
  });
  const real = new URL(channel.url).pathname.split('/')[2] ?? '';
  assert.equal(real.length, SECRETS.token.length, 'the service makes the token like this test');
  const secrets = { ...SECRETS, real };
  for (const secret of Object.values(secrets)) {
    for (const written of new Set([secret, encodeURIComponent(secret)]))
      for (const call of listCalls(project.projectId)) await send(call.replace('SECRET', written));
    logError(secret);
  }
  await service().app.statistics.flush();
  const requests = await service().call('GET', `/management/projects/${project.projectId}/requests`);
  const noted = requests.body.items.map((item: object) => JSON.stringify(item));
  assert.ok(service().log.length > 1_000 && noted.length > 20, 'there is a text to search');
  assertWithout(secrets, { log: service().log, noted });
  // The store contains the address of the channel.
  assertWithout(SECRETS, { store: [(await service().store.readAll()).toString('latin1')] });
});

/** The message and the fields of an error may quote the request. */
function logError(secret: string): void {
  const thrown = Object.assign(new TypeError(`Invalid URL /channels/${secret}`), { input: `/x/${secret}` });
  service().app.server.log.warn(
    { err: new Error('with a cause', { cause: thrown }) },
    'a test logs an error',
  );
}

function assertWithout(
  secrets: Record<string, string>,
  textsByName: Record<string, readonly string[]>,
): void {
  for (const [name, secret] of Object.entries(secrets))
    for (const [source, texts] of Object.entries(textsByName)) {
      const pieces = findPieces(texts.join('\n'), secret);
      const lines = pieces.length === 0 ? [] : texts.filter((text) => findPieces(text, secret).length > 0);
      assert.deepEqual(
        lines.map((line) => line.slice(0, 1_000)),
        [],
        `${source}: ${name}`,
      );
    }
}

function listCalls(projectId: number): string[] {
  const onPaths = PATHS.flatMap((path) => METHODS.map((method) => `${method} ${path}`));
  const inQueries = QUERIES.flatMap((query) => [
    `GET /product-service/products-by-sku?projectId=PROJECT&${query}`,
    `GET /tasks?projectId=PROJECT&limit=0&${query}`,
  ]);
  return [...onPaths, ...inQueries].map((call) => call.replace('PROJECT', String(projectId)));
}

/** Once with the key of a known caller, and once without a key. */
async function send(call: string): Promise<void> {
  const [method = '', path] = call.split(' ');
  for (const headers of [{ authorization: `Bearer ${service().key}` }, {}])
    await (await fetch(`${service().address}${path}`, { method, headers })).arrayBuffer();
}

test('a log line keeps numbers, task ids and the words of routes, even in an unknown path (docs/operating/monitoring.md, Logs)', async () => {
  const taskId = 'abcdef0123456789abcdef01';
  for (const path of [
    `/tasks/${taskId}`,
    '/products/unknown/12',
    '/wp-login.php',
    '/management/projects/1/tables/lens-mounts',
  ])
    await service().call('GET', path, { headers: { 'x-forwarded-for': '1.1.1.1' } });
  const shown = service().log.map((line) => JSON.parse(line).req?.path);
  for (const path of [
    `/tasks/${taskId}`,
    '/products/unknown/12',
    '/wp-login.php',
    '/management/projects/1/tables/lens-mounts',
  ])
    assert.ok(shown.includes(path), path);
});
