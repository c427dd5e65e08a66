// runs: long, slow (not on postgres: bodies that a parsing thread refuses)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { findLongestPause } from '../support/longest-pause.ts';
import { createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

/** Compressed bodies that are small but expensive to process, for every route that accepts a body. */
const UPLOAD_MIB = 16;
const service = shareService({ settings: { RELATA_UPLOAD_MAX_MIB: String(UPLOAD_MIB) } });

const MIB = 1024 * 1024;
/**
 * At least ten times the usual time. White space of 32 MiB took the serving thread 230 ms, and 10 such bodies at the
 * same time 400 ms.
 */
const LONGEST_PAUSE_MS = 200;
const LARGEST_ANSWER = 64 * 1024;

/** The limits of decompressed bodies above half a MiB. Source: docs/interface §8. */
const LARGE: Readonly<Record<string, number>> = {
  'POST /products': UPLOAD_MIB,
  'POST /products/batch/upload': UPLOAD_MIB,
  'DELETE /products': 30,
  'POST /products/delete': 30,
  'POST /product-service/products-by-sku': 3,
  'POST /search/relations/bulk-results': 7,
  'POST /search/relations/result': 4,
  'POST /search/relations/fit': 1 / 2,
  'PUT /management/projects/{id}/ontology': 16,
  'POST /management/projects/{id}/pipelines': 2,
  'PUT /management/projects/{id}/pipelines/{pipelineId}': 2,
  'POST /management/projects/{id}/pipelines/preview': 14,
};
const SIGN_IN =
  /^POST \/management\/(session(\/company-account.*|\/passkey)?|owner|links\/check|invitations\/accept)$/;
const largestMib = (route: string) => {
  if (SIGN_IN.test(route)) return 1 / 64;
  return LARGE[route] ?? (/relations(\/(?!.*explain)|$)/.test(route) ? 16 : 1 / 2);
};

interface HostileRoute {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly bytes: number;
  /** A field of the body with a list, or any field. */
  readonly list: string;
}

// biome-ignore lint/suspicious/noExplicitAny: a document that is read field by field.
type Schema = any;

/** The same call as DELETE /products, with the same limit. */
const ALIAS = 'POST /products/delete';

/** @returns every route that accepts JSON */
async function listRoutes({ projectId }: TestCatalog): Promise<HostileRoute[]> {
  const { body: document } = await service().call('GET', '/openapi.json');
  const resolve = (schema: Schema): Schema =>
    schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema;
  return Object.entries<Schema>(document.paths).flatMap(([path, operations]) =>
    Object.entries<Schema>(operations).flatMap(([method, { requestBody }]) => {
      const sent = requestBody?.content['application/json']?.schema;
      if (sent === undefined) return [];
      const schema = [resolve(sent)].flatMap((schema) => [schema, ...(schema.anyOf ?? [])]);
      const fields = schema.flatMap((schema: Schema) => Object.entries<Schema>(schema.properties ?? {}));
      const [list = fields[0]?.[0] ?? 'field'] = fields
        .filter(([, { type }]) => type === 'array')
        .map(([name]) => name);
      const name = `${method.toUpperCase()} ${path}`;
      if (name === ALIAS) return [];
      const filled = path.replace('{id}', String(projectId)).replace(/\{\w+\}/g, '1');
      const bytes = largestMib(name) * MIB - 64;
      return { name, method: method.toUpperCase(), path: filled, bytes, list };
    }),
  );
}

const repeat = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length));
const inList = (element: string) => (bytes: number, list: string) =>
  `{"${list}":[${repeat(`${element},`, bytes)}${element}]}`;
/** Distinct names, which a parser stores. They compress badly, so a MiB of them is beyond the limit of a body. */
const nameFields = (bytes: number) => {
  const fields = Array.from(
    { length: Math.floor(Math.min(bytes, MIB) / 12) },
    (_, index) => `"${index.toString(36)}":0`,
  );
  return `{${fields.join(',')}}`;
};
const bodies: Readonly<Record<string, (bytes: number, list: string) => string>> = {
  'numbers in a list': inList('0'),
  'empty objects in a list': inList('{}'),
  'empty objects': (bytes) => `[${repeat('{},', bytes)}{}]`,
  'lists in lists': (bytes) => '['.repeat(bytes),
  'white space': (bytes, list) => `{"${list}":["A"${' '.repeat(bytes - 64)}]}`,
  'unknown fields': nameFields,
  // Some routes search for any text.
  'long texts': (bytes, list) => inList(`"${'x'.repeat(bytes / 20)}"`)(bytes * 0.94, list),
  'products of numbers': (bytes) =>
    `[${repeat(`{"identifier":"A","attributes":[${'0,'.repeat(1_999)}0]},`, bytes - 5_000)}0]`,
};

for (const [kind, make] of Object.entries(bodies)) {
  test(`${kind}, as large as a body may be, delay no other caller and get a short answer (§8)`, async () => {
    const catalog = await createCatalog(service());
    const routes = await listRoutes(catalog);
    assert.ok(routes.length >= 25, 'all routes are tried');
    const packed = new Map<string, Uint8Array>();
    for (const { name, method, path, bytes, list } of routes) {
      const key = `${bytes} ${list}`;
      const body = packed.get(key) ?? gzipSync(make(bytes, list), { level: 1 });
      packed.set(key, body);
      await new Promise((resolve) => setImmediate(resolve));
      const pause = await findLongestPause(async () => {
        const sent = `${path}${path.includes('?') ? '&' : '?'}projectId=${catalog.projectId}`;
        const checked = service().call(method, sent, { body, headers: { 'content-encoding': 'gzip' } });
        const health = await service().call('GET', '/health/live');
        assert.equal(health.status, 200);
        const { status, body: answer } = await checked;
        assert.ok(status < 500, `${name}: ${status} ${JSON.stringify(answer).slice(0, 500)}`);
        assert.notEqual(status, 413, `${name} accepts a body of this size`);
        const length = Buffer.byteLength(JSON.stringify(answer));
        assert.ok(length < LARGEST_ANSWER, `${name}: an answer of ${length} bytes`);
      });
      assert.ok(pause < LONGEST_PAUSE_MS, `${name}: no other caller was served for ${pause} ms`);
    }
  });
}

test('5 simultaneous deletes that unpack to the maximum size delay no other caller (§8)', async () => {
  const { projectId } = await createCatalog(service());
  const bytes = largestMib(ALIAS) * MIB - 64;
  const spaces = gzipSync(`{"identifiers":["A"${' '.repeat(bytes - 64)}]}`);
  const sent = { body: spaces, headers: { 'content-encoding': 'gzip' } };
  const pause = await findLongestPause(async () => {
    const remove = () => service().call('POST', `/products/delete?projectId=${projectId}`, sent);
    const answers = await Promise.all(Array.from({ length: 5 }, remove));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([400]), 'none is known');
  });
  assert.ok(pause < LONGEST_PAUSE_MS, `no other caller was served for ${pause} ms`);
});

test('page views that contain empty objects delay no other caller (§4.11)', async () => {
  const { projectId } = await createCatalog(service());
  const body = gzipSync(`[${repeat('{},', 4 * MIB - 8)}{}]`);
  const pause = await findLongestPause(async () => {
    const headers = { 'content-encoding': 'gzip' };
    const sent = await service().call('POST', `/content?projectId=${projectId}`, { body, headers });
    assert.deepEqual([sent.status, sent.body.nrOfSent], [200, undefined]);
  });
  assert.ok(pause < LONGEST_PAUSE_MS, `no other caller was served for ${pause} ms`);
});
