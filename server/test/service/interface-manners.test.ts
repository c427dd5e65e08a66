// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { test } from 'node:test';
import {
  brotliCompressSync,
  brotliDecompressSync,
  gunzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { REASONS } from '../../src/http/answers/answers.ts';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

const ORIGIN = 'https://shop.example';
const service = shareService({ settings: { RELATA_CORS_ORIGINS: ORIGIN, RELATA_UPLOAD_MAX_MIB: '4' } });

const UNPACK = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync } as const;
const product = (identifier: string) => ({ identifier, name: `${identifier} `.repeat(40) });

interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** The raw answer: fetch would decompress it. */
function receive(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Received> {
  const credentials = { authorization: `Bearer ${service().key}` };
  return new Promise((resolve, reject) => {
    const sent = request(service().address + path, { method, headers: { ...credentials, ...headers } });
    sent.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    sent.end();
  });
}

test('OPTIONS that is not a preflight is 405, even without a key (§7.2)', async () => {
  const options = (path: string, headers: Record<string, string> = {}) =>
    fetch(service().address + path, { method: 'OPTIONS', headers });
  const preflight = { origin: ORIGIN, 'access-control-request-method': 'GET' };
  assert.equal((await options('/projects', preflight)).status, 204);
  for (const path of ['/projects', '/products', '/search/relations/result', '/health/live']) {
    const answer = await options(path);
    const { reason } = (await answer.json()) as { reason: string };
    assert.deepEqual([answer.status, reason], [405, 'method_not_allowed'], path);
    assert.match(answer.headers.get('allow') ?? '', /^(DELETE|GET), /, path);
  }
  assert.equal((await options('/products', preflight)).status, 405, 'not for scripts of other origins');
  for (const path of ['/nowhere', '/etl-triggers/webhook/x'])
    assert.equal((await options(path)).status, 404, path);
});

test('every failure names its reason, and docs/interface lists all reasons (§7.7)', async () => {
  const document = readFileSync(new URL('../../../docs/interface/07-errors.md', import.meta.url), 'utf8');
  const table = document.slice(document.indexOf('## 7.7'));
  const listed = [...table.matchAll(/^ *\| `([a-z_]+)`/gm)].map(([, reason]) => reason);
  assert.deepEqual(listed.toSorted(), REASONS);
  const catalog = await createCatalog(service());
  const requests = [
    [await service().call('GET', '/nowhere'), 'not_found'],
    [await service().call('PUT', '/projects'), 'method_not_allowed'],
    [await service().call('GET', '/projects', { key: null }), 'token_missing'],
    [await service().call('GET', '/projects', { key: 'wrong' }), 'scope_refused'],
    [await service().call('GET', '/projects?projectId=x'), 'query_invalid'],
    [await catalog.post('/products', { products: [{ identifier: 'A' }] }), 'product_invalid'],
    [await catalog.post('/products', { products: [] }), 'no_products'],
    [await catalog.post('/products', '{'), 'body_not_json'],
    [await catalog.post('/products/batch/start'), 'full_update_missing'],
    [await catalog.call('GET', '/search/relations/result?identifier=A'), 'bad_request'],
  ] as const;
  for (const [answer, reason] of requests)
    assert.equal(answer.body.reason, reason, JSON.stringify(answer.body));
});

test('the first lines of a refusal name the first invalid product (§7.3 rule 9)', async () => {
  const catalog = await createCatalog(service());
  const bad = { ...product('A1'), attributes: [{ key: 'K', value: 18 }] };
  const { address, key } = service();
  const response = await fetch(`${address}/products?projectId=${catalog.projectId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ products: [product('A0'), bad] }),
  });
  // Guzzle shows only 120 characters.
  const shown = (await response.text()).slice(0, 120);
  assert.match(
    shown,
    /"identifier":"A1","index":1\},"schemaErrors":\["\/attributes\/0\/value must be string/,
  );
});

test('401 names the required credential, and answers to ?apiKey= name the date of its deprecation (§7.2 rule 10, §5.1 rule 3)', async () => {
  const refused = await receive('/projects', { authorization: '' });
  assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Bearer']);
  const inUrl = await receive(`/projects?apiKey=${service().key}`, { authorization: '' });
  assert.equal(inUrl.status, 200);
  assert.match(String(inUrl.headers.deprecation), /^@\d{10}$/, 'RFC 9745');
});

test('every answer forbids browsers to guess its content type (ASVS 3.4.4)', async () => {
  const paths = [
    '/management/projects',
    '/nothing',
    '/tasks/nothing',
    '/openapi.json',
    '/health/live',
    '/metrics',
    '/docs/',
  ];
  const answers = await Promise.all(paths.map((path) => receive(path)));
  answers.push(
    await receive('/products', {}, 'POST'),
    await receive('/management/projects', { authorization: '' }),
  );
  const without = answers.filter(({ headers }) => headers['x-content-type-options'] !== 'nosniff');
  assert.deepEqual(without, []);
  assert.ok(new Set(answers.map(({ status }) => status)).size > 2);
});

test('answers from 1 KB are packed as the caller accepts, but events and small answers never are (§4 rule 8)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].map(product));
  const path = `/management/projects/${catalog.projectId}/products`;
  const plain = await receive(path);
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.match(String(plain.headers.vary), /\bAccept-Encoding$/);
  const wishes = [
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0.1, gzip;q=0.9', 'gzip'],
    ['zstd;q=0, br;q=0, *', 'gzip'],
  ] as const;
  for (const [wish, encoding] of wishes) {
    const packed = await receive(path, { 'accept-encoding': wish });
    assert.equal(packed.headers['content-encoding'], encoding, wish);
    assert.ok(packed.bytes.length < plain.bytes.length / 2, wish);
    assert.deepEqual(UNPACK[encoding](packed.bytes), plain.bytes, wish);
  }
  for (const encoding of ['zstd', 'br', 'gzip'] as const) {
    const exported = await receive(`${path}?format=ndjson`, { 'accept-encoding': encoding });
    assert.equal(exported.headers['content-encoding'], encoding, 'a stream');
    assert.equal(String(UNPACK[encoding](exported.bytes)).trim().split('\n').length, 8);
  }
  for (const wish of ['identity', 'gzip;q=0', 'deflate', 'identity, gzip;q=0.5']) {
    const given = await receive(path, { 'accept-encoding': wish });
    assert.deepEqual([given.headers['content-encoding'], given.bytes], [undefined, plain.bytes], wish);
  }
  const small = await receive('/health/live', { 'accept-encoding': 'gzip' });
  assert.equal(small.headers['content-encoding'], undefined);
});

test('bodies may be packed with zstd or br, with the same limits as gzip (§2.3 rule 10, §8)', async () => {
  const catalog = await createCatalog(service());
  const packers = { zstd: zstdCompressSync, br: brotliCompressSync };
  for (const [encoding, pack] of Object.entries(packers)) {
    const headers = { 'content-encoding': encoding };
    await catalog.done(await catalog.post('/products', pack(JSON.stringify([product(encoding)])), headers));
    const body = pack(JSON.stringify({ identifiers: [encoding] }));
    const answer = await catalog.post('/product-service/products-by-sku', body, headers);
    assert.equal(answer.body.products[0].identifier, encoding);
    const bomb = pack(Buffer.alloc(5 * 1024 * 1024, ' '));
    assertRefused(await catalog.post('/products', bomb, headers), 413);
    assertRefused(await catalog.post('/product-service/products-by-sku', bomb, headers), 413);
    assertRefused(
      await catalog.post('/products', 'plain', headers),
      400,
      `The body is not valid ${encoding}`,
    );
  }
  assertRefused(await catalog.post('/products', '[]', { 'content-encoding': 'compress' }), 415);
});

test('a creation answers its Location, and an answer that the caller already has is not sent again (§7.6 rules 6 and 7)', async () => {
  const group = await receive('/management/project-groups', { 'content-type': 'application/json' }, 'POST');
  assert.equal(group.status, 400);
  const made = await service().call('POST', '/management/project-groups', { body: { name: 'Located' } });
  const location = String(made.headers.get('location'));
  assert.equal(location, `/management/project-groups/${made.body.id}`);
  assert.equal((await service().call('GET', location)).body.name, 'Located');
  const catalog = await createCatalog(service());
  const ontology = `/management/projects/${catalog.projectId}/ontology`;
  const { etag } = (await receive(ontology)).headers;
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const unchanged = await receive(ontology, { 'if-none-match': String(tag), 'accept-encoding': 'gzip' });
    assert.deepEqual(
      [unchanged.status, unchanged.bytes.length, unchanged.headers.etag],
      [304, 0, etag],
      String(tag),
    );
  }
  assert.equal((await receive(ontology, { 'if-none-match': '"other"' })).status, 200);
});

test('a repeated answer is marked as repeated (§7.5 rule 12)', async () => {
  const catalog = await createCatalog(service());
  const send = () => catalog.post('/products', { products: [product('A')] }, { 'idempotency-key': 'once' });
  const first = await send();
  const second = await send();
  assert.equal(first.headers.get('idempotency-replayed'), null);
  assert.equal(second.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(second.body, first.body);
});

test('scripts of allowed origins may read the relevant headers (§5.4 rule 4)', async () => {
  const { headers } = await receive('/projects', { origin: ORIGIN });
  const exposed = String(headers['access-control-expose-headers']).split(', ');
  for (const name of ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'ETag', 'X-Request-Id'])
    assert.ok(exposed.includes(name), name);
});

test('a read key may read tasks of its project and change nothing (§4.7 rule 16)', async () => {
  const catalog = await createCatalog(service());
  const task = await catalog.load(product('A'));
  const scope = { type: 'project', id: catalog.projectId };
  const made = await service().call('POST', '/management/api-keys', {
    body: { name: 'Reader', scope, access: 'read' },
  });
  const read = (path: string) => service().call('GET', path, { key: made.body.key });
  for (const path of ['/tasks', `/tasks/${task.id}`, `/tasks/${task.id}/log`, `/tasks/${task.id}/report`])
    assert.equal((await read(path)).status, 200, path);
  assertRefused(await service().call('POST', `/tasks/${task.id}/cancel`, { key: made.body.key }), 401);
  const other = await createCatalog(service());
  const foreign = await other.load(product('A'));
  assertRefused(await read(`/tasks/${foreign.id}`), 404);
});

test('tasks are filtered by origin and time, and logs and projects are listed in pages (§4.7 rules 3 and 4, §4.1 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  const [latest] = await catalog.tasks();
  const find = async (query: string) => (await catalog.call('GET', `/tasks?${query}`)).body.tasks.length;
  const all = (await catalog.tasks()).length;
  assert.deepEqual([await find('origin=LIVE-API'), await find('origin=PIPELINE')], [all, 0]);
  const requestedAt = latest.requestTime;
  assert.deepEqual(
    [await find(`from=${requestedAt + 1}`), await find('from=0&to=1'), await find(`to=${requestedAt + 1}`)],
    [0, 0, all],
  );
  const path = `/tasks/${latest.id}/log`;
  const { log } = (await catalog.call('GET', path)).body;
  const first = (await catalog.call('GET', `${path}?limit=1`)).body;
  assert.deepEqual(first.log, log.slice(0, 1));
  const rest =
    first.nextCursor === null
      ? []
      : (await catalog.call('GET', `${path}?cursor=${first.nextCursor}`)).body.log;
  assert.deepEqual([...first.log, ...rest], log);
  const whole = (await service().call('GET', '/projects')).body;
  assert.deepEqual(Object.keys(whole), ['status', 'data']);
  const ids: number[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await service().call('GET', `/projects?limit=2${cursor}`);
    ids.push(...body.data.projects.map(({ id }: { id: number }) => id));
    if (body.nextCursor === null) break;
    cursor = `&cursor=${body.nextCursor}`;
  }
  assert.deepEqual(
    ids,
    whole.data.projects.map(({ id }: { id: number }) => id),
  );
  assertRefused(await service().call('GET', '/projects?limit=2&cursor=x'), 400);
});

test('relations are listed in pages and by tag, and the audit log by action, actor and time (§12.1, §14.4 rule 7)', async () => {
  const catalog = await createCatalog(service());
  const path = `/management/projects/${catalog.projectId}/relations`;
  const all = { all: [] };
  for (const tag of ['a', 'b', 'a']) {
    const relation = {
      name: tag,
      tag,
      twoWay: false,
      enabled: true,
      source: all,
      target: all,
      match: [],
      sort: [],
      names: [],
    };
    const made = await service().call('POST', path, { body: relation });
    assert.deepEqual([made.status, made.headers.get('location')], [201, `${path}/${made.body.id}`]);
  }
  const { items } = (await service().call('GET', path)).body;
  const first = (await service().call('GET', `${path}?limit=2`)).body;
  const second = (await service().call('GET', `${path}?limit=2&cursor=${first.nextCursor}`)).body;
  assert.deepEqual(
    [...first.items, ...second.items].map(({ id }) => id),
    items.map(({ id }: { id: number }) => id),
  );
  assert.deepEqual([items.length, second.nextCursor], [3, null]);
  assert.equal((await service().call('GET', `${path}?tag=a`)).body.items.length, 2);
  const audit = async (query: string) =>
    (await service().call('GET', `/management/audit-log?projectId=${catalog.projectId}&${query}`)).body.items;
  const created = await audit('action=relation.created');
  assert.deepEqual(
    [created.length, (await audit('action=relation')).length, (await audit('action=rel')).length],
    [3, 3, 0],
  );
  const { actor, at } = created[0];
  assert.equal((await audit(`action=relation&actor=${actor.type}:${actor.id}`)).length, 3);
  assert.deepEqual(
    [(await audit('actor=key')).length > 3, await audit('actor=user'), await audit('actor=key:999999')],
    [true, [], []],
  );
  assert.deepEqual([await audit(`from=${at + 1}`), await audit('to=1')], [[], []]);
  assertRefused(await service().call('GET', '/management/audit-log?actor=%25'), 400);
});

test('the open full update can be read and discarded (§4.4 rules 30 to 32)', async () => {
  const catalog = await createCatalog(service());
  assertRefused(await catalog.call('GET', '/products/batch'), 400, /No full update is open/);
  assertRefused(await catalog.call('DELETE', '/products/batch'), 400, /No full update is open/);
  const find = async () =>
    (await service().call('GET', `/management/projects/${catalog.projectId}/full-update`)).body;
  assert.deepEqual(await find(), { fullUpdate: null });
  await catalog.load(product('A'));
  const { fullUpdateId } = (await catalog.post('/products/batch/initiate')).body;
  const uploaded = await catalog.post('/products/batch/upload', [product('B'), product('C')]);
  const shown = (await catalog.call('GET', '/products/batch')).body;
  assert.deepEqual(
    [shown.fullUpdateId, shown.batches, shown.products, shown.lastBatch],
    [fullUpdateId, 1, 2, 'accepted'],
  );
  assert.deepEqual(await find(), { fullUpdate: shown });
  assertRefused(await catalog.call('DELETE', `/products/batch?fullUpdateId=${fullUpdateId + 1}`), 400);
  const given = await catalog.call('DELETE', '/products/batch');
  assert.deepEqual(given.body, { status: 'success', fullUpdateId });
  assert.equal((await service().ended(uploaded.body.task.id)).taskStatus, 'CANCELLED');
  for (const path of ['start', 'preview'])
    assertRefused(await catalog.post(`/products/batch/${path}`), 400, /No full/);
  assert.deepEqual(await catalog.list(), ['A']);
});
