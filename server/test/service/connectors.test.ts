// runs: deep (not on postgres: the requests of connectors, which the interface files test on both stores)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

/** The requests of shop connectors, as they send them: the cases of docs/connectors.md. */
const service = shareService({ settings: { RELATA_UPLOAD_MAX_MIB: '4' } });
const product = (identifier: string, more: object = {}) => ({
  identifier,
  name: `Name of ${identifier}`,
  ...more,
});

test('an empty object that PHP writes as a list is accepted: settings, attributes of a partial update', async () => {
  const catalog = await createCatalog(service());
  await catalog.update(product('A', { settings: [], attributes: [] }));
  await catalog.update(product('B', { settings: { includeUserGroups: ['g'] } }));
  await catalog.patch({ identifier: 'A', attributes: [], settings: [] }, { identifier: 'B', settings: [] });
  assert.deepEqual(
    [(await catalog.stored('A')).settings, (await catalog.stored('B')).settings],
    [undefined, undefined],
  );
  const answer = await catalog.post('/products', [product('C', { settings: ['g'] })]);
  assertRefused(answer, 400);
  const both = await catalog.post('/products', [
    product('C', { settings: 'g', attributes: [{ key: 'K', value: 1 }] }),
  ]);
  const errors = ['/settings must be object', '/attributes/0/value must be string'];
  assert.deepEqual(both.body.validation[0].schemaErrors.toSorted(), errors.toSorted());
});

test('partial accepts 1, 0, true and false in any case', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A', name: 'before' });
  for (const [index, value] of ['1', 'True', 'TRUE', 'true'].entries()) {
    const patch = { products: [{ identifier: 'A', name: `patched ${index}` }] };
    await catalog.done(await catalog.post(`/products?partial=${value}`, patch));
    assert.equal((await catalog.stored('A')).name, `patched ${index}`);
  }
  for (const value of ['0', 'False', 'false']) {
    const answer = await catalog.post(`/products?partial=${value}`, { products: [{ identifier: 'A' }] });
    assertRefused(answer, 400, 'Your body params are not valid');
  }
  for (const value of ['2', 'yes', ''])
    assertRefused(await catalog.post(`/products?partial=${value}`, []), 400);
});

test('identifiers to delete may be in the query, and POST /products/delete does the same', async () => {
  const catalog = await createCatalog(service());
  const all = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I'];
  await catalog.load(...all.map((identifier) => product(identifier)));
  const remove = async (method: string, path: string, body?: unknown) =>
    catalog.done(await catalog.call(method, path, body === undefined ? {} : { body }));
  await remove('DELETE', '/products?articleNumber=A');
  await remove('DELETE', '/products?identifiers%5B0%5D=B&identifiers%5B1%5D=C');
  await remove('DELETE', '/products?identifiers[]=D', []);
  await remove('DELETE', '/products?identifiers=%5B%22E%22%5D', { identifiers: ['E'] });
  await remove('POST', '/products/delete', { identifiers: ['F'] });
  await remove('POST', '/products/delete?identifiers=G');
  await remove('DELETE', '/products', ['H']);
  assert.deepEqual(await catalog.list(), ['I']);
  const body = { identifiers: ['A'] };
  assertRefused(await catalog.call('DELETE', '/products?articleNumber=I', { body }), 400);
  assertRefused(await catalog.call('DELETE', '/products'), 400);
  assertRefused(await catalog.post('/products/delete'), 400);
});

test('comma-separated identifiers to delete are 400 with the right form, even while an earlier task waits', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...['A', 'B', 'C,D'].map((identifier) => product(identifier)));
  const more = await catalog.post(
    '/products',
    Array.from({ length: 2_000 }, (_, index) => product(`P${index}`)),
  );
  const refused = await catalog.call('DELETE', '/products?identifiers=A,B');
  assertRefused(refused, 400);
  assert.match(refused.body.details[0], /send them as a JSON array, identifiers=\["A","B"\]/);
  await catalog.done(more);
  await catalog.done(await catalog.call('DELETE', '/products?identifiers=C,D'));
  assert.deepEqual((await catalog.list()).slice(0, 2), ['A', 'B']);
});

test('a product with commas in its identifier can be deleted even while its upload waits (§4.6 rule 6)', async (t) => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'));
  const release = await catalog.hold();
  t.after(release);
  const upload = await catalog.post('/products', [product('A,B'), product('C,D')]);
  const long = await catalog.call('DELETE', '/products?identifiers=A,B');
  assert.equal(long.status, 200, JSON.stringify(long.body));
  const short = catalog.call('DELETE', '/products?articleNumber=C,D');
  await release();
  await catalog.done(upload);
  await catalog.done(long);
  await catalog.done(await short);
  assert.deepEqual(await catalog.list(), ['A', 'B']);
  assertRefused(
    await catalog.call('DELETE', '/products?identifiers=A,B'),
    400,
    'Your query params are not valid',
  );
});

test('PUT does the same as POST where products are sent', async () => {
  const catalog = await createCatalog(service());
  await catalog.done(await catalog.call('PUT', '/products', { body: { products: [product('A')] } }));
  await catalog.post('/products/batch/initiate', []);
  const sent = await catalog.call('PUT', '/products/batch/upload', { body: { products: [product('B')] } });
  assert.deepEqual([sent.status, sent.body.message, sent.body.nrOfParsed], [200, 'Upload initiated', 1]);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['B']);
});

test('page views of a shop are answered, counted and not stored', async () => {
  const catalog = await createCatalog(service());
  const pages = {
    content: [{ identifier: 'imprint', name: 'Imprint', content: '<p>…</p>' }, { identifier: 'home' }],
  };
  const sent = await catalog.post('/content/batch/upload', pages);
  const counts = { nrOfSent: 2, nrOfParsed: 2 };
  assert.deepEqual(sent.body, { message: 'Upload initiated', status: 'success', ...counts });
  for (const [method, path] of [
    ['POST', '/content'],
    ['PUT', '/content'],
    ['DELETE', '/content'],
    ['POST', '/content/batch/initiate'],
    ['POST', '/content/batch/start'],
  ] as const) {
    const answer = await catalog.call(method, path, { body: 'no JSON' });
    assert.deepEqual([answer.status, answer.body.status], [200, 'success'], `${method} ${path}`);
  }
  assertRefused(await service().call('POST', '/content', { key: null, body: pages }), 401);
  assert.deepEqual([await catalog.tasks(), await catalog.list()], [[], []]);
  const lines = service().log.filter((line) => line.includes('pages of a shop'));
  assert.equal(lines.filter((line) => line.includes(`"project":${catalog.projectId}`)).length, 1);
});

test('a second start returns the started task, whatever its body contains', async () => {
  const catalog = await createCatalog(service());
  const batch = { products: [product('A', { productUrl: 'x'.repeat(4_000) })] };
  const large = {
    products: Array.from({ length: 400 }, (_, index) => ({ ...batch.products[0], identifier: `${index}` })),
  };
  const initiated = await catalog.post('/products/batch/initiate', large);
  assert.equal(initiated.status, 200, 'more than 1 MiB');
  await catalog.post('/products/batch/upload', batch);
  const release = await catalog.hold();
  const first = await catalog.post('/products/batch/start', large);
  const second = await catalog.post('/products/batch/start', large);
  assert.equal(second.status, 200);
  assert.deepEqual(second.body, first.body);
  await release();
  await catalog.done(first);
  const { fullUpdateId } = initiated.body;
  const third = await catalog.post(`/products/batch/start?fullUpdateId=${fullUpdateId}`);
  const { id, taskStatus } = third.body.data.task;
  assert.deepEqual([id, taskStatus], [first.body.data.task.id, 'FINISHED']);
  assertRefused(await catalog.post(`/products/batch/start?fullUpdateId=${fullUpdateId + 1}`), 400);
  const commits = (await catalog.tasks()).filter(({ name }) => name === 'Api triggered full update');
  assert.equal(commits.length, 1);
});

test('the same product twice in one partial update is changed in order', async () => {
  const catalog = await createCatalog(service());
  const attributes = [
    { key: 'Colour', value: 'red' },
    { key: 'Size', value: 'S' },
  ];
  await catalog.load({ identifier: 'A', name: 'A', productUrl: 'https://shop.example/a', attributes });
  const task = await catalog.patch(
    {
      identifier: 'A',
      name: 'first',
      attributes: { Colour: 'blue', Weight: ['1 kg', '2 kg'], __proto__x: 'p' },
    },
    {
      identifier: 'A',
      attributes: [
        { key: 'Weight', value: '3 kg' },
        { key: 'Size', value: null },
      ],
    },
    { identifier: 'A', name: null, productUrl: 'https://shop.example/b', attributes: { Depth: '4 cm' } },
  );
  const stored = await catalog.stored('A');
  assert.deepEqual([stored.name, stored.productUrl], ['first', 'https://shop.example/b']);
  assert.deepEqual(stored.attributes, [
    { key: 'Colour', value: 'blue' },
    { key: 'Weight', value: '3 kg' },
    { key: '__proto__x', value: 'p' },
    { key: 'Depth', value: '4 cm' },
  ]);
  const [line] = await catalog.report(task);
  assert.equal(line.code, 'repeated_identifier');
  assert.match(line.message, /in their order/);
});

test('identifiers[]=A is a list, and identifiers=A,B is refused with the right form unless it is a product', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'), product('C,D'), product('C'));
  const path = '/product-service/products-by-sku';
  const names = async (query: string) =>
    (await catalog.call('GET', `${path}?${query}`)).body.products.map(
      (product: { identifier: string }) => product.identifier,
    );
  assert.deepEqual(await names('identifiers[]=A&identifiers[]=B'), ['A', 'B']);
  assert.deepEqual(await names('identifiers%5B0%5D=A'), ['A']);
  assert.deepEqual(await names('identifiers=C,D'), ['C,D']);
  assert.deepEqual(await names('identifiers=X,Y'), []);
  const tags = 'includeTags=[{"tag":"t"}]';
  for (const address of [`${path}?`, `/search/relations/bulk-results?${tags}&`]) {
    const answer = await catalog.call('GET', `${address}identifiers=A,B`);
    assertRefused(answer, 400);
    assert.match(answer.body.details[0], /identifiers=\["A","B"\]/);
  }
});

test('the refusal of a path similar to a shop search names the right path', async () => {
  for (const path of ['/suggest', '/suggestions', '/search/suggest']) {
    const answer = await service().call('GET', path);
    assertRefused(answer, 404, /\/search\/suggestions/);
    assert.equal(answer.body.reason, 'search_absent');
  }
  assertRefused(await service().call('GET', '/searches'), 404, 'Not Found');
});

test('a POST accepts the parameters of its GET, from the query and from the body', async () => {
  const { address, key } = service();
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'));
  const post = async (path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(address + path, { method: 'POST', headers, ...sent });
    // biome-ignore lint/suspicious/noExplicitAny: read field by field, as answers of the service are everywhere in tests.
    return { status: response.status, body: (await response.json()) as any };
  };
  const { projectId } = catalog;
  const [bySku, bulk, single] = [
    '/product-service/products-by-sku',
    '/search/relations/bulk-results',
    '/search/relations/result',
  ];
  const lookup = await post(bySku, { projectId, identifiers: ['B', 'A'] });
  assert.deepEqual(
    lookup.body.products.map((product: { identifier: string }) => product.identifier),
    ['B', 'A'],
  );
  assert.equal((await post(`${bySku}?projectId=${projectId}&identifiers=A`)).body.products.length, 1);
  assert.equal(
    (await post(`${bySku}?projectId=${projectId}&identifiers=A`, { identifiers: ['A'] })).status,
    200,
  );
  assert.deepEqual(
    (await post(bySku, { identifiers: ['A'] })).body.message,
    'The query parameter projectId is required',
  );
  const tags = [{ tag: 't' }];
  const query = `projectId=${projectId}&includeTags=${JSON.stringify(tags)}`;
  assert.deepEqual((await post(bulk, { projectId, identifiers: ['A'], includeTags: tags })).body, {
    A: { tags: [] },
  });
  assert.deepEqual((await post(`${bulk}?${query}&identifiers=A`)).body, { A: { tags: [] } });
  assert.deepEqual((await post(`${single}?${query}&identifier=A`, [])).body, { tags: [] });
  const differing = [
    [`${bySku}?projectId=${projectId}&identifiers=A`, { identifiers: ['B'] }],
    [`${bySku}?projectId=${projectId}`, { projectId: projectId + 1, identifiers: ['B'] }],
    [`${bulk}?${query}`, { identifiers: ['A'], includeTags: [{ tag: 'u' }] }],
    [`${single}?${query}&identifier=A`, { identifier: 'B' }],
    [`${single}?${query}&identifier=A&explain=true`, { explain: false }],
  ] as const;
  for (const [path, body] of differing) {
    const answer = await post(path, body);
    assert.equal(answer.status, 400, path);
    assert.match(answer.body.details[0], /of the query and of the body differ/);
  }
  for (const path of [bulk, single]) {
    const nothing = `${path}?projectId=${projectId}`;
    assertRefused(await service().call('GET', nothing), 400, 'Bad Request');
    assertRefused(await service().call('POST', nothing, { body: {} }), 400, 'Bad Request');
    assertRefused(await service().call('GET', `${nothing}&includeTags=[]`), 400, 'Bad Request');
  }
});

test('limits apply to the stored product, even if a partial update exceeds them (§2.3 rule 17)', async () => {
  const catalog = await createCatalog(service());
  const attributes = (from: number, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`K${from + index}`, 'v']));
  await catalog.load(product('A'));
  await catalog.patch({ identifier: 'A', attributes: attributes(0, 2_000) });
  const task = await catalog.patch({
    identifier: 'A',
    name: 'not changed',
    attributes: attributes(2_000, 1),
  });
  const [line] = (await catalog.report(task)).filter(({ code }) => code === 'product_invalid');
  assert.match(line.message, /attributes must NOT have more than 2000 items/);
  const stored = await catalog.stored('A');
  assert.deepEqual([stored.name, stored.attributes.length], ['Name of A', 2_000]);
  await catalog.update(stored);
  const images = Array.from({ length: 200 }, (_, index) => ({
    url: `https://shop.example/${index}.jpg`,
    type: 'SMALL',
  }));
  await catalog.update(product('B', { images }));
  const small = await catalog.post('/products', [
    product('B', { image: 'https://shop.example/b.jpg', images }),
  ]);
  assertRefused(small, 400);
  assert.deepEqual(small.body.validation[0].errors, [
    '/images must NOT have more than 199 items beside /image',
  ]);
});

test('explain shows groups as nested, with the sides of a two-way relation (§12.6 rule 1)', async () => {
  const catalog = await createCatalog(service());
  const attributes = (value: string) => [{ key: 'Kind', value }];
  await catalog.load(
    product('S', { attributes: attributes('drill') }),
    product('T', { attributes: attributes('bit') }),
  );
  const kind = (value: string) => ({ attribute: 'Kind', operator: 'equals', value });
  const source = { all: [{ not: kind('bit') }, { any: [kind('drill'), kind('saw')] }] };
  const relation = {
    name: 'r',
    tag: 'r',
    twoWay: true,
    enabled: true,
    source,
    target: kind('bit'),
    match: [],
    sort: [],
    names: [],
  };
  const path = `/management/projects/${catalog.projectId}/relations`;
  const { id } = (await service().call('POST', path, { body: relation })).body;
  for (const { id: task, taskStatus } of await catalog.tasks())
    if (taskStatus === 'PENDING' || taskStatus === 'RUNNING') await service().ended(task);
  const request = { includeRelations: [{ id }], identifier: 'T' };
  const { body } = await catalog.post('/search/relations/result?explain=true', request);
  const [answered] = body.tags[0].relations;
  const { explain } = answered.searchResult[0];
  assert.equal(answered.matchType, 'SECOND_WAY');
  assert.deepEqual(explain.source.filter, {
    holds: true,
    all: [
      { holds: true, not: { condition: kind('bit'), holds: false, values: ['drill'] } },
      {
        holds: true,
        any: [
          { condition: kind('drill'), holds: true, values: ['drill'] },
          { condition: kind('saw'), holds: false, values: ['drill'] },
        ],
      },
    ],
  });
  assert.deepEqual(explain.target.conditions, [{ condition: kind('bit'), holds: true, values: ['bit'] }]);
  const match = Array.from({ length: 9 }, () => ({ target: 'Kind', operator: 'notEquals', source: 'Kind' }));
  const refused = await service().call('POST', path, { body: { ...relation, match } });
  assertRefused(refused, 400);
  assert.match(refused.body.details[0], /at most 8/);
});
