// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

const ORIGIN = 'https://shop.example';
let first = 0;
let second = 0;
const service = shareService(
  { settings: { RELATA_CORS_ORIGINS: ORIGIN, RELATA_UPLOAD_MAX_MIB: '1' } },
  async ({ createProject }) => {
    first = await createProject('First');
    second = await createProject('Second');
  },
);

const NO_TOKEN = 'No token set';
const NOT_ALLOWED = 'You are not allowed to access the requested resource';

/** Every call on a project, with an accepted body. */
const PROJECT_CALLS: [string, string, unknown?][] = [
  ['GET', '/product-service/products-by-sku?identifiers=A'],
  ['POST', '/product-service/products-by-sku', { identifiers: ['A'] }],
  ['GET', '/product-service/product-by-sku?identifier=A'],
  ['POST', '/products', [{ identifier: 'A', name: 'A' }]],
  ['POST', '/products?partial=true', [{ identifier: 'A' }]],
  ['DELETE', '/products', ['A']],
  ['POST', '/products/batch/initiate'],
  ['POST', '/products/batch/upload', [{ identifier: 'A', name: 'A' }]],
  ['POST', '/products/batch/preview'],
  ['POST', '/products/batch/start'],
  ['POST', '/products/batch/restore'],
  ['GET', '/tasks'],
];
const KEY_CALLS: [string, string, unknown?][] = [['GET', '/projects'], ...PROJECT_CALLS];
const ALL_CALLS: [string, string, unknown?][] = [...KEY_CALLS, ['GET', '/project/check-credentials']];

const withQuery = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`;

async function createKey(scope: object, more: object = {}): Promise<{ id: number; key: string }> {
  const answer = await service().call('POST', '/management/api-keys', {
    body: { name: 'Test', scope, ...more },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

test('GET /projects lists the projects of the scope in the order of their ids, with the fields of §2.1 (§4.1 rule 1)', async () => {
  const { body, status } = await service().call('GET', '/projects');
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ['status', 'data']);
  assert.equal(body.status, 'success');
  const ids = body.data.projects.map(({ id }: { id: number }) => id);
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => a - b),
  );
  const project = body.data.projects.find(({ id }: { id: number }) => id === first);
  const group = project['project-group-id'];
  assert.ok(Number.isInteger(group));
  assert.deepEqual(project, {
    id: first,
    name: 'First',
    'project-group-id': group,
    'project-group-name': 'Group of First',
    locale: 'de-DE',
    language: 'de',
    country: 'DE',
    tags: [],
  });
});

test('GET /projects?projectId=N lists that project, and answers 401 outside the scope (§4.1 rule 2)', async () => {
  const answer = await service().call('GET', `/projects?projectId=${second}`);
  assert.deepEqual(
    answer.body.data.projects.map(({ name }: { name: string }) => name),
    ['Second'],
  );
  const { key } = await createKey({ type: 'project', id: first });
  const mine = await service().call('GET', '/projects', { key });
  assert.deepEqual(
    mine.body.data.projects.map(({ id }: { id: number }) => id),
    [first],
  );
  assertRefused(await service().call('GET', `/projects?projectId=${second}`, { key }), 401, NOT_ALLOWED);
  assertRefused(await service().call('GET', '/projects?projectId=4711'), 401, NOT_ALLOWED);
  assertRefused(await service().call('GET', '/projects?projectId=one'), 400);
});

test('every endpoint answers 401 "No token set" to a missing or empty key (§5.1 rule 7)', async () => {
  for (const [method, path, body] of ALL_CALLS) {
    const headers: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
    ];
    for (const header of headers) {
      assertRefused(await service().call(method, path, { body, key: null, headers: header }), 401, NO_TOKEN);
    }
    assertRefused(
      await service().call(method, withQuery(path, 'apiKey='), { body, key: null }),
      401,
      NO_TOKEN,
    );
  }
});

test('an unknown, deleted or expired key, or a key without the access, gets 401 (§5.1 rule 8)', async () => {
  const deleted = await createKey({ type: 'account' });
  await service().call('DELETE', `/management/api-keys/${deleted.id}`);
  const reader = await createKey({ type: 'account' }, { access: 'read' });
  for (const [method, path, body] of ALL_CALLS) {
    for (const key of ['unknown', deleted.key, `${service().key}x`, service().key.toUpperCase()]) {
      const url = withQuery(path, `projectId=${first}`);
      assertRefused(await service().call(method, url, { body, key }), 401, NOT_ALLOWED);
    }
  }
  for (const [method, path, body] of PROJECT_CALLS) {
    const answer = await service().call(method, withQuery(path, `projectId=${first}`), {
      body,
      key: reader.key,
    });
    const isRead = path.startsWith('/product-service') || path.startsWith('/tasks');
    if (isRead) assert.notEqual(answer.status, 401, path);
    else assertRefused(answer, 401, NOT_ALLOWED);
  }
});

test('a page key reads related products and fit, and nothing else (§5.2 rule 2)', async () => {
  const scope = { type: 'project', id: first };
  const made = { name: 'Page', scope, page: true, access: 'write' };
  const refused = await service().call('POST', '/management/api-keys', { body: made });
  assert.equal(refused.status, 400, 'a page key writes nothing');
  const { id, key } = await createKey(scope, { page: true });
  const { body } = await service().call('GET', `/management/api-keys/${id}`);
  assert.deepEqual([body.access, body.page], ['read', true]);
  const ask = async (path: string) => (await service().call('GET', path, { key })).status;
  assert.notEqual(await ask('/search/relations/result?identifier=A&relationId=1'), 401);
  assert.equal(await ask('/product-service/product-by-sku?identifier=A'), 401);
});

test('a key is accepted as Bearer, bare or as ?apiKey=, which adds a Deprecation header (§5.1 rules 1 to 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' });
  const path = `/product-service/products-by-sku?projectId=${catalog.projectId}&identifiers=A`;
  const { key } = service();
  const ways: [string, Record<string, string>, boolean][] = [
    [path, { authorization: `Bearer ${key}` }, false],
    [path, { authorization: `bearer ${key}` }, false],
    [path, { authorization: key }, false],
    [`${path}&apiKey=unknown`, { authorization: key }, false],
    [`${path}&apiKey=${key}`, {}, true],
    [`${path}&apiKey=${key}`, { authorization: '' }, true],
    [`${path}&apiKey=${key}`, { authorization: 'Bearer ' }, true],
  ];
  for (const [url, headers, isDeprecated] of ways) {
    const answer = await service().call('GET', url, { key: null, headers });
    assert.equal(answer.status, 200, JSON.stringify([url, headers]));
    assert.equal(answer.headers.has('deprecation'), isDeprecated);
  }
  const both = { key: null, headers: { authorization: 'Bearer unknown' } };
  assertRefused(await service().call('GET', `${path}&apiKey=${key}`, both), 401, NOT_ALLOWED);
  const body = [{ identifier: 'B', name: 'B' }];
  const update = `/products?projectId=${catalog.projectId}&apiKey=${key}&sessionId=7`;
  await catalog.done(await service().call('POST', update, { key: null, body }));
  assert.deepEqual(await catalog.list(), ['A', 'B']);
  assert.ok(!service().log.some((line) => line.includes(key)), 'no key value in the log (§5.1 rule 9)');
});

test('check-credentials answers success or 401 (§4.1 rule 3)', async () => {
  const call = (query: string) => service().call('GET', `/project/check-credentials?${query}`, { key: null });
  const good = await call(`apiKey=${service().key}&projectId=${first}`);
  assert.deepEqual([good.status, good.body], [200, { status: 'success' }]);
  assertRefused(await call(`apiKey=wrong&projectId=${first}`), 401, NOT_ALLOWED);
  assertRefused(await call(`apiKey=${service().key}&projectId=4711`), 401, NOT_ALLOWED);
});

test('a key of several projects that sends no projectId is refused because projectId is required (§4.10 rule 3)', async () => {
  for (const [method, path, body] of PROJECT_CALLS) {
    assertRefused(await service().call(method, path, { body }), 400, /projectId is required/);
    assertRefused(
      await service().call(method, withQuery(path, 'projectId='), { body }),
      400,
      /projectId is required/,
    );
  }
});

test('a key with access to one project needs no projectId (§4.10 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' });
  const { body } = await service().call('GET', `/projects?projectId=${catalog.projectId}`);
  const [{ 'project-group-id': group }] = body.data.projects;
  for (const scope of [
    { type: 'project', id: catalog.projectId },
    { type: 'project-group', id: group },
  ]) {
    const { key } = await createKey(scope);
    for (const query of ['', '&projectId=']) {
      const answer = await service().call('GET', `/product-service/products-by-sku?identifiers=A${query}`, {
        key,
      });
      assert.equal(answer.body.products.length, 1);
    }
  }
});

test('a project that does not exist and a project outside the scope get the same answer (§4.10 rule 4)', async () => {
  const { key } = await createKey({ type: 'project', id: first });
  for (const [method, path, body] of PROJECT_CALLS) {
    for (const id of [second, 4711, 0, 999_999_999_999_999]) {
      const answer = await service().call(method, withQuery(path, `projectId=${id}`), { body, key });
      assertRefused(answer, 401, NOT_ALLOWED);
      assert.deepEqual(Object.keys(answer.body), ['status', 'code', 'reason', 'message', 'requestId']);
    }
    for (const bad of ['one', '1.5', '-1', `${first}&projectId=${first}`]) {
      assertRefused(await service().call(method, withQuery(path, `projectId=${bad}`), { body, key }), 400);
    }
  }
});

test('a task of a project outside the scope is 404, like an unknown task (§7.2 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const task = await catalog.update({ identifier: 'A', name: 'A' });
  const { key } = await createKey({ type: 'project', id: first });
  for (const id of [task.id, '0'.repeat(24), 'x']) {
    for (const path of [`/tasks/${id}`, `/tasks/${id}/log`, `/tasks/${id}/report`]) {
      assertRefused(await service().call('GET', path, { key }), 404);
    }
    assertRefused(await service().call('POST', `/tasks/${id}/cancel`, { key }), 404);
  }
});

test('an unknown path is 404, with and without a key (§7.2 rule 2)', async () => {
  for (const path of [
    '/product',
    '/products/',
    '/Products',
    '/products/batch/upload/',
    '/%',
    '/products%2Fbatch',
  ]) {
    for (const key of [service().key, null]) {
      for (const method of ['GET', 'POST']) assertRefused(await service().call(method, path, { key }), 404);
    }
  }
});

test('a path with a method that it does not have is 405 with Allow, before the credentials are checked (§7.2 rules 1 and 3)', async () => {
  const paths: [string, string[]][] = [
    ['/products', ['DELETE', 'POST', 'PUT']],
    ['/products/batch/initiate', ['POST']],
    ['/products/batch/upload', ['POST', 'PUT']],
    ['/products/batch/preview', ['POST']],
    ['/products/batch/start', ['POST']],
    ['/products/batch/restore', ['POST']],
    ['/projects', ['GET', 'HEAD']],
    ['/product-service/products-by-sku', ['GET', 'HEAD', 'POST']],
    ['/product-service/product-by-sku', ['GET', 'HEAD']],
  ];
  for (const [path, allowed] of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(
      (identifier) => !allowed.includes(identifier),
    )) {
      const answer = await service().call(method, `${path}?projectId=4711`, { key: null });
      assertRefused(answer, 405);
      assert.deepEqual(answer.headers.get('allow')?.split(', '), allowed, `${method} ${path}`);
    }
  }
});

test('checks run in the order path, credentials, project, parameters, body (§7.2 rule 1)', async () => {
  const { key } = await createKey({ type: 'project', id: first });
  const tooLarge = `[${' '.repeat(1024 * 1024)}]`;
  const bodies = ['{', tooLarge];
  for (const body of bodies) {
    const call = (query: string, options: object) =>
      service().call('POST', `/products?${query}`, { body, ...options });
    assertRefused(await call('partial=x&projectId=4711', { key: null }), 401, NO_TOKEN);
    assertRefused(await call('partial=x&projectId=4711', { key: 'unknown' }), 401, NOT_ALLOWED);
    assertRefused(await call('partial=x', {}), 400, /projectId is required/);
    assertRefused(await call(`partial=x&projectId=${second}`, { key }), 401, NOT_ALLOWED);
    const parameters = await call(`partial=x&projectId=${first}`, { key });
    assertRefused(parameters, 400);
    assert.match(parameters.body.details[0], /partial/);
    const upload = await service().call('POST', `/products/batch/upload?fullUpdateId=x&projectId=${first}`, {
      body,
    });
    assert.match(upload.body.details[0], /fullUpdateId/);
    assertRefused(await call(`partial=true&projectId=${first}`, { key }), body === tooLarge ? 413 : 400);
  }
});

test('the rate limit of a key is checked before its project (§7.2 rule 1, §5.3 rule 3)', async () => {
  const { key } = await createKey({ type: 'project', id: first }, { rateLimit: { requestsPerMinute: 2 } });
  for (const _ of [1, 2]) {
    assertRefused(await service().call('GET', `/tasks?projectId=${second}`, { key }), 401, NOT_ALLOWED);
  }
  const limited = await service().call('GET', `/tasks?projectId=${second}`, { key });
  assertRefused(limited, 429, 'Too Many Requests');
  assert.match(limited.headers.get('retry-after') ?? '', /^\d+$/);
});

test('unknown query parameters and headers are ignored (§4 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const headers = {
    SHOPSYS: 'shopware',
    EXTVER: '1.2',
    'X-Requested-With': 'XMLHttpRequest',
    'If-Match': '*',
  };
  const query = 'sessionId=abc&SHOPSYS=x&__proto__=1&constructor=2&partial%20=true&a[b]=c&=';
  const body = [{ identifier: 'A', name: 'A' }];
  await catalog.done(await catalog.call('POST', `/products?${query}`, { body, headers }));
  const answer = await catalog.call('GET', `/product-service/products-by-sku?identifiers=A&${query}`, {
    headers,
  });
  assert.equal(answer.body.products.length, 1);
  await catalog.post(`/products/batch/initiate?${query}`);
  assert.equal(
    (await catalog.call('POST', `/products/batch/upload?${query}`, { body, headers })).status,
    200,
  );
  await catalog.done(await catalog.call('POST', `/products/batch/start?${query}`, { headers }));
});

test('an empty list is accepted in place of an empty object, because PHP encodes an empty object as a list (§4 rule 11)', async () => {
  const { call } = service();
  const group = await call('POST', '/management/project-groups', { body: { name: 'PHP' } });
  const project = { name: 'PHP', projectGroupId: group.body.id, locale: 'de-DE', settings: [] };
  const made = await call('POST', '/management/projects', { body: project });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const twin = await call('POST', '/management/projects', { body: { ...project, settings: {} } });
  assert.deepEqual(made.body.settings, twin.body.settings);
  const path = `/management/projects/${made.body.id}`;
  for (const body of [{ settings: [] }, [], {}]) {
    const changed = await call('PATCH', path, { body });
    assert.deepEqual([changed.status, changed.body], [200, made.body], JSON.stringify(changed.body));
  }
  const pipeline = {
    name: 'Feed',
    format: { type: 'csv' },
    trigger: { type: 'manual' },
    mapping: { identifier: 'sku', name: 'title' },
    source: { type: 'http', url: 'https://shop.example/feed.csv', headers: [] },
  };
  const stored = await call('POST', `${path}/pipelines`, { body: pipeline });
  assert.equal(stored.status, 201, JSON.stringify(stored.body));
  assert.deepEqual(stored.body.source.headers, {});
  for (const settings of [['x'], 'x', [[]]])
    assertRefused(await call('PATCH', path, { body: { settings } }), 400);
  assertRefused(await call('POST', '/management/projects', { body: [] }), 400);
});

test('answers to authenticated requests carry Cache-Control: no-store, including refusals (§5.4 rule 3)', async () => {
  for (const [method, path, body] of ALL_CALLS) {
    const url = withQuery(path, `projectId=${first}`);
    for (const key of [service().key, 'unknown']) {
      const { headers } = await service().call(method, url, { body, key });
      assert.equal(headers.get('cache-control'), 'no-store', `${method} ${path}`);
    }
  }
});

test('browsers of a listed origin may call the reading paths, but never with cookies (§5.4 rule 2)', async () => {
  const open = [
    '/projects',
    '/project/check-credentials',
    '/product-service/products-by-sku',
    '/product-service/product-by-sku',
  ];
  const closed = ['/products', '/products/batch/upload', '/tasks', '/management/projects', '/openapi.json'];
  const allowed = async (path: string, origin: string) => {
    const got = await service().call('GET', path, { headers: { origin } });
    const request = {
      origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    };
    const preflight = await service().call('OPTIONS', path, { key: null, headers: request });
    for (const { headers } of [got, preflight])
      assert.equal(headers.get('access-control-allow-credentials'), null);
    return [got, preflight].map(({ headers }) => headers.get('access-control-allow-origin'));
  };
  for (const path of open) {
    assert.deepEqual(await allowed(path, ORIGIN), [ORIGIN, ORIGIN], path);
    const [got, preflight] = await allowed(path, 'https://other.example');
    assert.notEqual(got, 'https://other.example');
    assert.notEqual(preflight, 'https://other.example');
    const headers = {
      origin: ORIGIN,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const preflights = await service().call('OPTIONS', path, { key: null, headers });
    assert.equal(preflights.status, 204);
    assert.match(preflights.headers.get('access-control-allow-headers') ?? '', /authorization/i);
  }
  for (const path of closed) assert.deepEqual(await allowed(path, ORIGIN), [null, null], path);
});

test('a refusal carries the CORS headers, so that the browser shows it to the page (§5.4)', async () => {
  const answer = await service().call('GET', '/projects', { key: null, headers: { origin: ORIGIN } });
  assertRefused(answer, 401, NO_TOKEN);
  assert.equal(answer.headers.get('access-control-allow-origin'), ORIGIN);
});
