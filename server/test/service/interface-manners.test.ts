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

/** As it came: fetch would unpack it. */
function receive(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Received> {
  const credentials = { authorization: `Bearer ${service().key}` };
  return new Promise((resolve, reject) => {
    const asked = request(service().address + path, { method, headers: { ...credentials, ...headers } });
    asked.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    asked.end();
  });
}

test('every failure names its reason, and docs/interface.md lists all of them (§7.7)', async () => {
  const document = readFileSync(new URL('../../../docs/interface.md', import.meta.url), 'utf8');
  const table = document.slice(document.indexOf('### 7.7'), document.indexOf('## 8 '));
  const listed = [...table.matchAll(/^ *\| `([a-z_]+)`/gm)].map(([, reason]) => reason);
  assert.deepEqual(listed.toSorted(), REASONS);
  const catalog = await createCatalog(service());
  const asked = [
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
  for (const [answer, reason] of asked) assert.equal(answer.body.reason, reason, JSON.stringify(answer.body));
});

test('the first lines of a refused body name the first bad product (§7.3 rule 9)', async () => {
  const catalog = await createCatalog(service());
  const bad = { ...product('A1'), attributes: [{ key: 'K', value: 18 }] };
  const { address, key } = service();
  const response = await fetch(`${address}/products?projectId=${catalog.projectId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ products: [product('A0'), bad] }),
  });
  // Guzzle shows 120 characters.
  const shown = (await response.text()).slice(0, 120);
  assert.match(
    shown,
    /"identifier":"A1","index":1\},"schemaErrors":\["\/attributes\/0\/value must be string/,
  );
});

test('401 says which credential is wanted, ?apiKey= since when it is deprecated (§7.2 rule 10, §5.1 rule 3)', async () => {
  const refused = await receive('/projects', { authorization: '' });
  assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Bearer']);
  const inUrl = await receive(`/projects?apiKey=${service().key}`, { authorization: '' });
  assert.equal(inUrl.status, 200);
  assert.match(String(inUrl.headers.deprecation), /^@\d{10}$/, 'RFC 9745');
});

test('answers of 1 KB and more are packed as the caller likes, events and small ones never (§4 rule 8)', async () => {
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

test('bodies may come as zstd or br, bounded as gzip is (§2.3 rule 10, §8)', async () => {
  const catalog = await createCatalog(service());
  const packers = { zstd: zstdCompressSync, br: brotliCompressSync };
  for (const [encoding, pack] of Object.entries(packers)) {
    const headers = { 'content-encoding': encoding };
    await catalog.done(await catalog.post('/products', pack(JSON.stringify([product(encoding)])), headers));
    const asked = pack(JSON.stringify({ identifiers: [encoding] }));
    const found = await catalog.post('/product-service/products-by-sku', asked, headers);
    assert.equal(found.body.products[0].identifier, encoding);
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

test('what is created says where it is, what the caller has is not sent again (§7.6 rules 6 and 7)', async () => {
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
    const kept = await receive(ontology, { 'if-none-match': String(tag), 'accept-encoding': 'gzip' });
    assert.deepEqual([kept.status, kept.bytes.length, kept.headers.etag], [304, 0, etag], String(tag));
  }
  assert.equal((await receive(ontology, { 'if-none-match': '"other"' })).status, 200);
});

test('a repeated answer says that it is one (§7.5 rule 12)', async () => {
  const catalog = await createCatalog(service());
  const send = () => catalog.post('/products', { products: [product('A')] }, { 'idempotency-key': 'once' });
  const first = await send();
  const second = await send();
  assert.equal(first.headers.get('idempotency-replayed'), null);
  assert.equal(second.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(second.body, first.body);
});

test('scripts of allowed origins may read the headers that matter (§5.4 rule 4)', async () => {
  const { headers } = await receive('/projects', { origin: ORIGIN });
  const exposed = String(headers['access-control-expose-headers']).split(', ');
  for (const name of ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'ETag', 'X-Request-Id'])
    assert.ok(exposed.includes(name), name);
});
