// runs: test
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Type } from 'typebox';
import { renderApiPage } from '../../site/api-page.ts';
import { ErrorAnswer, ListQuery } from '../src/http/answers/answers.ts';
import type { Guards } from '../src/http/guards/guards.ts';
import { addHealthRoutes } from '../src/http/server/health-routes.ts';
import { createServer, type Server, serveDocs } from '../src/http/server/server.ts';
import { describeServer, documentServer } from './openapi.ts';

const Part = Type.Object({ identifier: Type.String({ maxLength: 255 }) }, { title: 'Part' });
const Bike = Type.Object(
  {
    identifier: Type.String({ minLength: 1, maxLength: 255, description: 'the SKU, <b>exact</b>' }),
    parts: Type.Optional(Type.Array(Part, { maxItems: 3 })),
    colours: Type.Record(Type.String(), Type.String()),
    state: Type.Union([Type.Literal('NEW'), Type.Literal('USED')]),
    frame: Type.Union([Part, Type.Null()], { description: 'the frame' }),
  },
  { title: 'Bike' },
);

function addBikeRoutes(server: Server): void {
  const answer = Type.Object({ bikes: Type.Array(Bike) });
  server.get(
    '/bikes/:bikeId/parts',
    {
      config: { guard: 'project' },
      schema: {
        summary: 'Parts of a <bike>',
        description: 'Lists `parts`.\n\nTwice.',
        params: Type.Object({ bikeId: Type.Integer() }),
        querystring: Type.Object({ ...ListQuery.properties, apiKey: Type.Optional(Type.String()) }),
        response: { 200: answer },
      },
    },
    async () => ({ bikes: [] }),
  );
  server.post(
    '/bikes',
    {
      config: { guard: 'project', access: 'write', body: 'raw' },
      schema: { body: Bike, response: { 200: answer } },
    },
    async () => ({ bikes: [] }),
  );
  server.get(
    '/management/bikes',
    {
      config: { guard: 'management' },
      schema: { response: { 409: { ...ErrorAnswer, description: 'taken' } } },
    },
    async () => undefined,
  );
  server.get('/hidden', { schema: { hide: true } }, async () => 'ok');
}

const OPERATIONS = 300;

/** @param write writes the served document and page; default: those of the routes */
async function startServer(
  t: TestContext,
  {
    write = writeDescription,
    addRoutes,
  }: { write?: (folder: string, server: Server) => void; addRoutes?: (server: Server) => void } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'relata-openapi-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 8 };
  const server = createServer(settings, {} as Guards);
  t.after(() => server.close());
  await documentServer(server, '1.2.3');
  addBikeRoutes(server);
  addRoutes?.(server);
  addHealthRoutes(server, {
    isReady: async () => true,
    listProblems: async () => [],
    describeBackup: () => undefined,
  });
  serveDocs(server, folder, join(folder, 'openapi.json'));
  const origin = await server.listen({ host: '127.0.0.1', port: 0 });
  write(folder, server);
  return { server, folder, get: (path: string) => fetch(origin + path) };
}

function writeDescription(folder: string, server: Server): void {
  const document = describeServer(server);
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
  writeFileSync(join(folder, 'api.html'), renderApiPage(document, 'body { margin: 0 }'));
}

test('the document is OpenAPI 3.1 and has the version and all ways to send a credential', async (t) => {
  const { get } = await startServer(t);
  const answer = await get('/openapi.json');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const document = (await answer.json()) as Record<string, Record<string, unknown>>;
  assert.equal(document.openapi, '3.1.0');
  assert.equal(document.info?.version, '1.2.3');
  assert.deepEqual(Object.keys(document.components?.securitySchemes as object), [
    'bearer',
    'apiKey',
    'session',
  ]);
  assert.ok(!('/hidden' in (document.paths ?? {})));
});

test('security, access, name and chapter of an operation follow from its route', async (t) => {
  const { server } = await startServer(t);
  const { paths } = describeServer(server);
  const parts = paths['/bikes/{bikeId}/parts']?.get;
  assert.equal(parts?.operationId, 'getBikesByBikeIdParts');
  assert.deepEqual(parts?.security, [{ bearer: [] }, { apiKey: [] }, { session: [] }]);
  assert.equal(parts?.['x-access'], 'read');
  assert.equal(paths['/bikes']?.post?.['x-access'], 'write');
  assert.deepEqual(paths['/management/bikes']?.get?.security, [{ bearer: [] }, { session: [] }]);
  assert.deepEqual(paths['/management/bikes']?.get?.tags, ['Management']);
  assert.deepEqual(paths['/health/live']?.get?.security, []);
  assert.deepEqual(paths['/health/live']?.get?.tags, ['Service']);
  const names = Object.values(paths).flatMap((path) =>
    Object.values(path).map((operation) => operation.operationId),
  );
  assert.equal(new Set(names).size, names.length);
});

test('the parameters of an operation do not include the credentials', async (t) => {
  const { server } = await startServer(t);
  const parameters = describeServer(server).paths['/bikes/{bikeId}/parts']?.get?.parameters ?? [];
  assert.deepEqual(parameters.map((parameter) => `${parameter.in} ${parameter.name}`).sort(), [
    'path bikeId',
    'query cursor',
    'query limit',
  ]);
});

test('a raw body is documented although the server does not validate it', async (t) => {
  const { server } = await startServer(t);
  const body = describeServer(server).paths['/bikes']?.post?.requestBody;
  assert.deepEqual(body?.content['application/json']?.schema, { $ref: '#/components/schemas/Bike' });
});

test('a schema with a title becomes a component, and its description stays at the reference', async (t) => {
  const { server } = await startServer(t);
  const { components, paths } = describeServer(server);
  assert.deepEqual(Object.keys(components?.schemas ?? {}), [
    'Bike',
    'Error',
    'Health',
    'Part',
    'ProductViolation',
    'Readiness',
  ]);
  const bike = components?.schemas?.Bike?.properties;
  assert.deepEqual(bike?.parts?.items, { $ref: '#/components/schemas/Part' });
  assert.equal(bike?.frame?.description, 'the frame');
  const taken = paths['/management/bikes']?.get?.responses['409'];
  assert.equal(taken?.description, 'taken');
  assert.deepEqual(taken?.content?.['application/json']?.schema, { $ref: '#/components/schemas/Error' });
});

test('every operation has the refusals of the checks before its handler', async (t) => {
  const { server } = await startServer(t);
  const { paths } = describeServer(server);
  const statusesOf = (path: string, method: string) => Object.keys(paths[path]?.[method]?.responses ?? {});
  assert.deepEqual(statusesOf('/bikes/{bikeId}/parts', 'get'), [
    '200',
    '400',
    '401',
    '403',
    '404',
    '429',
    '5XX',
  ]);
  assert.deepEqual(statusesOf('/bikes', 'post'), ['200', '400', '401', '403', '413', '429', '507', '5XX']);
  assert.deepEqual(statusesOf('/management/bikes', 'get'), ['200', '401', '403', '409', '429', '5XX']);
  assert.deepEqual(statusesOf('/health/live', 'get'), ['200', '5XX']);
  assert.equal(paths['/management/bikes']?.get?.responses['200']?.description, 'OK');
});

test('the content security policy of the API page allows only its own style', async (t) => {
  const { get } = await startServer(t);
  const answer = await get('/docs/api');
  const page = await answer.text();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`), policy);
  assert.doesNotMatch(page, /<script|<link|<img|\sstyle=|\son\w+=|url\(|@import|https?:\/\//);
  assert.match(page, /<h3>Parts of a &lt;bike&gt;/);
});

test('the written document is served unchanged, and after a failed read it is read again (§10.3)', async (t) => {
  const files = ['openapi.json', 'api.html'];
  const { server, folder, get } = await startServer(t, {
    write: (to) => {
      for (const name of files) mkdirSync(join(to, name));
    },
  });
  for (const path of ['/openapi.json', '/docs/api']) assert.equal((await get(path)).status, 500, path);
  for (const name of files) rmdirSync(join(folder, name));
  const document = { ...describeServer(server), info: { title: 'As written', version: '9' } };
  const written = `${JSON.stringify(document, null, 1)}\n`;
  writeFileSync(join(folder, 'openapi.json'), written);
  writeFileSync(join(folder, 'api.html'), renderApiPage(document, ''));
  assert.equal(await (await get('/openapi.json')).text(), written);
  assert.match(await (await get('/docs/api')).text(), /<title>As written 9 API<\/title>/);
});

test('the API page has every operation', async (t) => {
  const { get } = await startServer(t, {
    addRoutes: (to) => {
      for (let index = 0; index < OPERATIONS; index += 1) to.get(`/wheels/${index}`, async () => ({}));
    },
  });
  const page = await (await get('/docs/api')).text();
  assert.equal(page.match(/<h3>\/wheels\//g)?.length, OPERATIONS);
});
