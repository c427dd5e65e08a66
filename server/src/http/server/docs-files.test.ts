// runs: test
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Fastify from 'fastify';
import { replyWithError } from '../answers/answers.ts';
import { serveDocs } from './built-files.ts';

const FILES = {
  'site/index.html': 'home',
  'site/tutorial.html': 'tutorial',
  'site/tutorial.html.gz': 'packed',
  'site/picture.svg': '<svg/>',
  'site/decisions/0001-one.html': 'one',
  'site/assets/search-abc.json': '{}',
  'site/api.html': '<style>a { color: red }\n</style><h1>API</h1>',
  'site/api.html.br': 'packed',
  'site/notes.txt': 'not of the site',
  'openapi.json': '{"openapi":"3.1.0"}',
  'secret.html': 'secret',
};

async function start(t: TestContext, files: Readonly<Record<string, string>> = FILES) {
  const folder = mkdtempSync(join(tmpdir(), 'relata-docs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const server = Fastify();
  server.setErrorHandler((error, request, reply) => replyWithError(error, request, reply));
  serveDocs(server, join(folder, 'site'), join(folder, 'openapi.json'));
  t.after(() => server.close());
  return async (url: string, headers: Record<string, string> = {}) => {
    const { statusCode, headers: answered, body } = await server.inject({ url, headers });
    return { status: statusCode, headers: answered, text: body };
  };
}

test('pages of the documentation are found without .html and load only files of the service (§10.3)', async (t) => {
  const read = await start(t);
  assert.equal((await read('/docs')).headers.location, '/docs/');
  for (const [path, text] of [
    ['/docs/', 'home'],
    ['/docs/tutorial', 'tutorial'],
    ['/docs/decisions/0001-one', 'one'],
    ['/docs/picture.svg', '<svg/>'],
  ] as const) {
    const page = await read(path);
    assert.deepEqual([page.status, page.text], [200, text], path);
    assert.equal(page.headers['cache-control'], 'no-cache');
    const policy = String(page.headers['content-security-policy']);
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
  }
  const page = await read('/docs/tutorial', { 'accept-encoding': 'gzip' });
  assert.deepEqual([page.text, page.headers['content-encoding']], ['packed', 'gzip']);
  assert.equal((await read('/docs/tutorial', { 'if-none-match': String(page.headers.etag) })).status, 304);
  const cacheable = await read('/docs/assets/search-abc.json');
  assert.equal(cacheable.headers['cache-control'], 'public, max-age=31536000, immutable');
});

test('paths below /docs/ reach only files of the documentation (§10.3)', async (t) => {
  const read = await start(t);
  for (const path of [
    'nowhere',
    '../secret',
    '..%2fsecret',
    '%2e%2e/secret',
    'notes.txt',
    'tutorial.html.gz',
  ])
    assert.equal((await read(`/docs/${path}`)).status, 404, path);
  assert.equal((await read('/docs/assets/..%2f..%2fsecret.html')).status, 404);
});

test('the API page allows only its own style and is sent in its packed form (§10.3)', async (t) => {
  const read = await start(t);
  const page = await read('/docs/api');
  assert.deepEqual([page.status, page.text], [200, FILES['site/api.html']]);
  const hash = createHash('sha256').update('a { color: red }\n').digest('base64');
  const policy = String(page.headers['content-security-policy']);
  assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none';`), policy);
  assert.doesNotMatch(policy, /script-src|unsafe|self|https?:/);
  const packed = await read('/docs/api', { 'accept-encoding': 'br' });
  assert.deepEqual([packed.text, packed.headers['content-encoding']], ['packed', 'br']);
  for (const path of ['/docs/api', '/openapi.json']) {
    const { headers } = await read(path);
    assert.equal(headers['cache-control'], 'no-cache');
    assert.equal((await read(path, { 'if-none-match': String(headers.etag) })).status, 304, path);
  }
});

test('without a build, /docs/ redirects to the API page (§10.3)', async (t) => {
  const read = await start(t, {});
  const answer = await read('/docs/');
  assert.deepEqual([answer.status, answer.headers.location], [302, '/docs/api']);
  assert.equal((await read('/docs/tutorial')).status, 404);
  const missing = await read('/docs/api');
  assert.equal(missing.status, 404);
  assert.match(missing.text, /npm run docs/);
});
