// runs: test, postgres test, citus long
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';
import { TestClock } from '../support/test-service.ts';

const clock = new TestClock();
const service = shareService({ clock });

const BY_SKU = '/product-service/products-by-sku';
const product = (identifier: string, more: object = {}) => ({ identifier, name: identifier, ...more });
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => `SKU-${String(index).padStart(20, '0')}`);

/** @returns the identifiers in the answer to an encoded query */
async function ask(catalog: TestCatalog, query: string): Promise<string[]> {
  const answer = await catalog.call('GET', `${BY_SKU}?${query}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(Object.keys(answer.body), ['products']);
  return answer.body.products.map(({ identifier }: { identifier: string }) => identifier);
}

const json = (list: unknown) => `identifiers=${encodeURIComponent(JSON.stringify(list))}`;

test('a product has exactly the fields of §2.2', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({
    identifier: 'A1',
    name: 'Cordless drill 18 V',
    groupIdentifier: 'A',
    productUrl: 'https://shop.example/p/a1',
    categories: [
      { path: ['Tools', 'Drills'], priority: 1 },
      { path: ['Sale'], categoryId: 7 },
    ],
    images: [
      { url: 'small', type: 'SMALL' },
      { url: 'other', type: 'ALTERNATIVE' },
    ],
    image: 'large',
    attributes: [
      { key: 'Length', value: '12.5 in' },
      { key: 'Price', value: '99.00', userGroups: ['trade'] },
      { key: 'Colour', value: 'red' },
      { key: 'Colour', value: 'red', userGroups: ['b2b'] },
      { key: 'Colour', value: 'black' },
    ],
    settings: { excludeUserGroups: ['minors'] },
  });
  const [product] = await catalog.find('A1');
  const { id, facts, lastUpdateTs, ...rest } = product;
  assert.ok(Number.isSafeInteger(id) && id > 0);
  assert.equal(lastUpdateTs, clock.now());
  assert.deepEqual(rest, {
    identifier: 'A1',
    groupId: 'A',
    name: 'Cordless drill 18 V',
    link: 'https://shop.example/p/a1',
    images: [
      { url: 'large', type: 'LARGE' },
      { url: 'small', type: 'SMALL' },
      { url: 'other', type: 'ALTERNATIVE' },
    ],
    categories: [
      { path: ['Tools', 'Drills'], categoryId: 1_000_000_001 },
      { path: ['Sale'], categoryId: 7 },
    ],
  });
  const plain = facts.map(({ attributeId, valueId, ...fact }: Record<string, unknown>) => {
    assert.ok(Number.isSafeInteger(attributeId) && Number.isSafeInteger(valueId));
    return fact;
  });
  assert.deepEqual(plain, [
    { attribute: 'Length', value: '12.5 in', type: 'NUMERIC_ATTRIBUTE' },
    { attribute: 'Price', value: '99.00', type: 'NUMERIC_ATTRIBUTE', userGroups: ['trade'] },
    { attribute: 'Colour', value: 'red', type: 'TEXT_ATTRIBUTE' },
    { attribute: 'Colour', value: 'black', type: 'TEXT_ATTRIBUTE' },
  ]);
  const colours = facts.filter(({ attribute }: { attribute: string }) => attribute === 'Colour');
  assert.equal(colours[0].attributeId, colours[1].attributeId);
  assert.notEqual(colours[0].valueId, colours[1].valueId);
});

test('missing texts are "", missing lists are [], a missing group is the identifier (§2.2 rule 3, §2.3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A', name: 'Name' });
  const [{ id, ...rest }] = await catalog.find('A');
  assert.equal(typeof id, 'number');
  const lists = { images: [], categories: [], facts: [] };
  assert.deepEqual(rest, {
    identifier: 'A',
    groupId: 'A',
    name: 'Name',
    link: '',
    ...lists,
    lastUpdateTs: clock.now(),
  });
});

test('an identifier keeps its id across updates and full updates (§2.2 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'));
  const ids = async () => (await catalog.find('A', 'B')).map(({ id }) => id);
  const first = await ids();
  assert.notEqual(first[0], first[1]);
  await catalog.load(product('B', { name: 'new' }), product('A'), product('C'));
  assert.deepEqual(await ids(), first);
  await catalog.update(product('A', { groupIdentifier: 'G' }));
  await catalog.patch({ identifier: 'B', name: 'newer' });
  assert.deepEqual(await ids(), first);
});

test('attributeId, valueId and categoryId do not depend on how a catalog is loaded (§2.2 rules 5 and 8)', async () => {
  const catalog = await createCatalog(service());
  const load = async (first: string, second: string) => {
    const make = (identifier: string) =>
      product(identifier, {
        categories: [{ path: [identifier, 'leaf'] }],
        attributes: [{ key: `key ${identifier}`, value: identifier }],
      });
    await catalog.load(make(first), make(second));
    const products = await catalog.find('A', 'B');
    return products.map(({ categories, facts }) => [
      categories[0].categoryId,
      facts[0].attributeId,
      facts[0].valueId,
    ]);
  };
  const ids = await load('A', 'B');
  assert.deepEqual(ids.map(([categoryId]) => categoryId).sort(), [1_000_000_001, 1_000_000_002]);
  await catalog.load(product('other'));
  assert.deepEqual(await load('B', 'A'), ids);
});

test('a category path consists of its levels, whatever characters they contain (§2.2 rule 5)', async () => {
  const catalog = await createCatalog(service());
  const paths = [['a', 'b'], ['a > b'], ['a","b'], ['a'], ['b', 'a'], ['A']];
  await catalog.load(
    ...paths.map((path, index) => product(`P${index}`, { categories: [{ path }, { path }] })),
  );
  const products = await catalog.find(...paths.map((_, index) => `P${index}`));
  assert.deepEqual(
    products.map(({ categories }) => categories[0].path),
    paths,
  );
  assert.equal(new Set(products.map(({ categories }) => categories[0].categoryId)).size, paths.length);
  for (const { categories } of products) assert.equal(categories[0].categoryId, categories[1].categoryId);
});

test('identifiers is a JSON array, or each value is one identifier exactly as sent (§4.2 rules 2 to 5)', async () => {
  const catalog = await createCatalog(service());
  const odd = ['["x"', 'A,B', ' A', '"A"', '+', 'a&b=c', '{'];
  await catalog.load(...['A', 'B', 'C', ...odd].map((identifier) => product(identifier)));
  assert.deepEqual(await ask(catalog, json(['A', 'B'])), ['A', 'B']);
  assert.deepEqual(await ask(catalog, 'identifiers=["A","B"]'), ['A', 'B']);
  assert.deepEqual(await ask(catalog, 'identifiers=A'), ['A']);
  assert.deepEqual(await ask(catalog, 'identifiers=A&identifiers=C&other=1&identifiers=B'), ['A', 'C', 'B']);
  assert.deepEqual(
    await ask(catalog, `identifiers=A&${json(['B'])}`),
    ['A'],
    'not read as JSON if there are several values',
  );
  assert.deepEqual(await ask(catalog, 'identifiers=[]'), []);
  for (const text of odd.filter((name) => !/^[[{]/.test(name))) {
    assert.deepEqual(await ask(catalog, `identifiers=${encodeURIComponent(text)}`), [text]);
  }
  assert.deepEqual(await ask(catalog, json(odd)), odd);
});

test('missing or empty identifiers, or a value that is not a JSON array of strings, are 400 (§4.2 rules 3 and 5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  const queries = ['', 'identifiers', 'identifiers=', 'identifiers=A&identifiers=', 'Identifiers=A'];
  const values = [
    '[',
    '["A"',
    '[A]',
    '{}',
    '{"A":1}',
    '[1]',
    '["A",null]',
    '[["A"]]',
    '[""]',
    '["A",]',
    '[] x',
  ];
  queries.push(...values.map((value) => `identifiers=${encodeURIComponent(value)}`));
  for (const query of queries) assertRefused(await catalog.call('GET', `${BY_SKU}?${query}`), 400);
  for (const body of [
    undefined,
    '',
    {},
    [],
    ['A'],
    { identifiers: 'A' },
    { identifiers: [1] },
    { identifiers: null },
    'x',
  ]) {
    assertRefused(await catalog.post(BY_SKU, body), 400);
  }
});

test('products are answered in the order of the request, each once, and unknown ones are skipped (§4.2 rule 6)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...['A', 'B', 'C', '__proto__', 'a'].map((identifier) => product(identifier)));
  const wanted = ['C', 'unknown', '__proto__', 'A', 'C', 'constructor', 'a', 'A ', 'B', 'A'];
  const expected = ['C', '__proto__', 'A', 'a', 'B'];
  assert.deepEqual(await ask(catalog, json(wanted)), expected);
  assert.deepEqual(
    await ask(catalog, wanted.map((identifier) => `identifiers=${identifier}`).join('&')),
    expected.filter((identifier) => identifier),
  );
  assert.deepEqual(
    (await catalog.find(...wanted)).map(({ identifier }) => identifier),
    expected,
  );
});

test('an identifier that no product can have finds nothing (§2.3 rule 9)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('A\ufffd'), product('\ufffd'));
  const wanted = ['A\ud800', '\udfff', 'A\u0000', 'x'.repeat(300)];
  assert.deepEqual(await catalog.find(...wanted), []);
  assert.deepEqual(await ask(catalog, 'identifiers=%5B%22A%5Cud800%22%5D'), []);
  assert.deepEqual(await ask(catalog, 'identifiers=A%00'), []);
});

test('1,000 identifiers are answered, and 1,001 are 400 (§4.2 rule 7)', async () => {
  const catalog = await createCatalog(service());
  const identifiers = many(1_001);
  await catalog.load(...identifiers.map((identifier) => product(identifier)));
  const thousand = identifiers.slice(0, 1_000);
  assert.deepEqual(await ask(catalog, json(thousand)), thousand);
  assert.deepEqual(
    await ask(catalog, thousand.map((identifier) => `identifiers=${identifier}`).join('&')),
    thousand,
  );
  assert.equal((await catalog.post(BY_SKU, { identifiers: thousand })).body.products.length, 1_000);
  for (const answer of [
    await catalog.call('GET', `${BY_SKU}?${json(identifiers)}`),
    await catalog.call(
      'GET',
      `${BY_SKU}?${identifiers.map((identifier) => `identifiers=${identifier}`).join('&')}`,
    ),
    await catalog.post(BY_SKU, { identifiers }),
  ]) {
    assertRefused(answer, 400, /1001.*1000/);
  }
});

test('POST accepts the 1,000 longest identifiers in any JSON notation, also packed (§4.2 rule 8)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  const longest = Array.from({ length: 999 }, () => `"${'\\ud83d\\ude00'.repeat(255)}"`).join(',');
  const body = `{"identifiers":["A",${longest}]}`;
  const answer = await catalog.post(BY_SKU, body);
  assert.equal(answer.body.products?.length, 1, JSON.stringify(answer.body).slice(0, 200));
  const packed = await catalog.post(BY_SKU, gzipSync(body), { 'content-encoding': 'gzip' });
  assert.deepEqual(packed.body, answer.body);
});

test('POST and GET answer the same (§4.2 rule 8)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', { attributes: [{ key: 'Colour', value: 'rot "&" grün' }] }), product('B'));
  const got = await catalog.call('GET', `${BY_SKU}?${json(['B', 'A'])}`);
  const posted = await catalog.post(BY_SKU, { identifiers: ['B', 'A'] });
  assert.deepEqual(posted.body, got.body);
  for (const { headers } of [got, posted])
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
});

test('product-by-sku answers one product like the lookup of several, or 404 (§4.2 rule 9)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', { attributes: [{ key: 'k', value: 'v' }] }), product('["A"]'));
  const path = '/product-service/product-by-sku';
  for (const identifier of ['A', '["A"]']) {
    const answer = await catalog.call('GET', `${path}?identifier=${encodeURIComponent(identifier)}`);
    assert.equal(answer.status, 200);
    assert.deepEqual([answer.body], await catalog.find(identifier));
  }
  assertRefused(await catalog.call('GET', `${path}?identifier=B`), 404);
  assertRefused(await catalog.call('GET', `${path}?identifier=a`), 404);
  for (const query of ['', 'identifier=', 'identifier=A&identifier=B', `identifier=${'x'.repeat(256)}`]) {
    assertRefused(await catalog.call('GET', `${path}?${query}`), 400);
  }
});

test('the next lookup shows an update although answers are cached (§4.2)', async () => {
  const catalog = await createCatalog(service());
  const name = async () => (await catalog.find('A')).map((product) => product.name)[0];
  await catalog.load(product('A', { name: 'one' }));
  assert.equal(await name(), 'one');
  await catalog.update(product('A', { name: 'two' }));
  assert.equal(await name(), 'two');
  await catalog.patch({ identifier: 'A', name: 'three' });
  assert.equal(await name(), 'three');
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['A'] }));
  assert.equal(await name(), undefined);
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.equal(await name(), 'three');
  await catalog.load(product('B'));
  assert.equal(await name(), undefined);
});

test('each project has its own catalog (§4.10)', async () => {
  const catalog = await createCatalog(service());
  const other = await createCatalog(service());
  await catalog.load(product('A'));
  assert.deepEqual(await other.find('A'), []);
});

/**
 * A GET with an exact number of bytes of request line and headers, written by hand because clients have their own
 * limits.
 */
async function getWithBytes(bytes: number, projectId: number): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(service().address);
  const tail = ` HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${service().key}\r\nConnection: close\r\n\r\n`;
  const head = `GET ${BY_SKU}?projectId=${projectId}&identifiers=A&x=`;
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {});
  socket.write(head + 'x'.repeat(bytes - head.length - tail.length) + tail);
  await closed;
  return { status: Number(text.slice(9, 12)), body: text.slice(text.indexOf('\r\n\r\n') + 4) };
}

test('26 KB, 100 KB and 128 KiB of request line and headers are accepted (§4 rule 6)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  for (const bytes of [26_000, 100_000, 128 * 1024]) {
    const { status, body } = await getWithBytes(bytes, catalog.projectId);
    assert.equal(status, 200, `${bytes} bytes: ${body}`);
    assert.equal(JSON.parse(body).products.length, 1);
  }
});

test('a longer request line is 431 in the error format, even while the client is still sending (§4 rule 6)', async () => {
  for (const bytes of [150_000, 200_000, 1_000_000]) {
    const { status, body } = await getWithBytes(bytes, service().projectId);
    assert.ok(status === 431 || status === 414, `${bytes} bytes: ${status} ${body}`);
    const failure = JSON.parse(body);
    assert.deepEqual([failure.status, failure.code], ['failure', status]);
    assert.match(failure.requestId, /^[0-9a-f-]{36}$/);
    assert.ok(
      service().log.some((line) => line.includes(failure.requestId)),
      'the log has the same text',
    );
  }
});

test('bytes that are not HTTP are answered in the error format (§7.1)', async () => {
  const { hostname, port } = new URL(service().address);
  const socket = connect(Number(port), hostname);
  let text = '';
  for await (const chunk of socket.end('nonsense\r\n\r\n')) text += chunk;
  assert.match(text, /^HTTP\/1\.1 400 /);
  const { status, code } = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
  assert.deepEqual([status, code], ['failure', 400]);
});
