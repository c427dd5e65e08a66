// runs: test (not on postgres: refusals before the store is used, and their texts)
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

/** With a limit of 1 MiB, larger bodies are cheap to make. */
const service = shareService({ settings: { RELATA_UPLOAD_MAX_MIB: '1' } });

const TEXT = 'Your body params are not valid';
const product = (identifier: string, more: object = {}) => ({ identifier, name: identifier, ...more });
const many = (count: number, make: (index: number) => unknown) =>
  Array.from({ length: count }, (_, index) => make(index));

async function openCatalog(): Promise<TestCatalog> {
  const catalog = await createCatalog(service());
  await catalog.post('/products/batch/initiate');
  return catalog;
}

/** The three ways to write, which check the same fields. */
const WRITES = ['/products', '/products?partial=true', '/products/batch/upload'] as const;

/** A refused request stores nothing (§7.3 rule 6). */
async function assertNothingStored(catalog: TestCatalog): Promise<void> {
  assert.deepEqual(await catalog.tasks(), []);
  assert.deepEqual(await catalog.list(), []);
  assert.deepEqual(await service().store.listBodies(), []);
}

interface Violation {
  product: { identifier: string | null; index: number } | null;
  schemaErrors: string[];
  errors: string[];
}

async function findViolations(catalog: TestCatalog, path: string, body: unknown): Promise<Violation[]> {
  const answer = await catalog.post(path, body);
  assertRefused(answer, 400, TEXT);
  const { validation } = answer.body;
  assert.ok(validation.length > 0);
  for (const element of validation) {
    assert.deepEqual(Object.keys(element), ['product', 'schemaErrors', 'errors']);
    assert.deepEqual(element.errors, element.schemaErrors);
    assert.ok(element.errors.length > 0 && element.errors.every((line: unknown) => typeof line === 'string'));
    if (element.product !== null) assert.deepEqual(Object.keys(element.product), ['identifier', 'index']);
  }
  return validation;
}

const long = (length: number) => 'x'.repeat(length);
const image = { url: 'u', type: 'SMALL' };

/**
 * The field, wrong values, and the place in the answer. A row applies to every way to write unless `only` names some.
 */
const wrong: {
  pointer: string;
  values: unknown[];
  in: (value: unknown) => object;
  only?: readonly string[];
}[] = [
  {
    pointer: '/identifier',
    values: [1, null, true, '', long(256), [], {}, 'a\u0000', '\ud800', 'a\udc00b'],
    in: (v) => ({ identifier: v }),
  },
  { pointer: '/name', values: [1, false, long(1_001), [], {}, '\u0000'], in: (v) => ({ name: v }) },
  {
    pointer: '/name',
    values: [null],
    in: (v) => ({ name: v }),
    only: ['/products', '/products/batch/upload'],
  },
  {
    pointer: '/groupIdentifier',
    values: [1, '', long(256), [], {}, '\ud800'],
    in: (v) => ({ groupIdentifier: v }),
  },
  { pointer: '/productUrl', values: [1, long(4_097), [], {}, 'x\u0000y'], in: (v) => ({ productUrl: v }) },
  { pointer: '/image', values: [1, '', long(4_097), [], { url: 'u' }], in: (v) => ({ image: v }) },
  { pointer: '/images', values: ['u', 1, {}, many(201, () => image)], in: (v) => ({ images: v }) },
  {
    pointer: '/images/1',
    values: ['u', null, 1, [], { url: 'u' }, { type: 'SMALL' }, { ...image, alt: 'x' }],
    in: (v) => ({ images: [image, v] }),
  },
  {
    pointer: '/images/0/url',
    values: [1, null, '', long(4_097), '\ud800'],
    in: (v) => ({ images: [{ url: v, type: 'SMALL' }] }),
  },
  {
    pointer: '/images/0/type',
    values: ['small', 'HUGE', '', 1, null],
    in: (v) => ({ images: [{ url: 'u', type: v }] }),
  },
  {
    pointer: '/categories',
    values: ['Tools', {}, 1, many(101, () => ({ path: ['a'] }))],
    in: (v) => ({ categories: v }),
  },
  {
    pointer: '/categories/0',
    values: ['Tools', ['Tools'], null, {}, { path: ['a'], name: 'x' }],
    in: (v) => ({ categories: [v] }),
  },
  {
    pointer: '/categories/0/path',
    values: ['Tools', null, [], many(21, () => 'a')],
    in: (v) => ({ categories: [{ path: v }] }),
  },
  {
    pointer: '/categories/0/path/1',
    values: [1, null, '', {}, '\u0000', long(1_001)],
    in: (v) => ({ categories: [{ path: ['a', v] }] }),
  },
  {
    pointer: '/categories/0/priority',
    values: ['1', 1.5, true, 2 ** 53],
    in: (v) => ({ categories: [{ path: ['a'], priority: v }] }),
  },
  {
    pointer: '/categories/0/categoryId',
    values: ['1', 1.5, -1, 2 ** 53],
    in: (v) => ({ categories: [{ path: ['a'], categoryId: v }] }),
  },
  { pointer: '/attributes', values: ['a', 1, true], in: (v) => ({ attributes: v }) },
  {
    pointer: '/attributes',
    values: [many(2_001, () => ({ key: 'k', value: 'v' }))],
    in: (v) => ({ attributes: v }),
  },
  {
    pointer: '/attributes/1',
    values: ['a', null, [], {}, { key: 'k' }, { value: 'v' }, { key: 'k', value: 'v', unit: 'in' }],
    in: (v) => ({ attributes: [{ key: 'k', value: 'v' }, v] }),
  },
  {
    pointer: '/attributes/0/key',
    values: [1, null, '', long(256), '\u0000', '\udfff'],
    in: (v) => ({ attributes: [{ key: v, value: 'v' }] }),
  },
  {
    pointer: '/attributes/0/value',
    values: [18, 1.5, true, [], {}, long(65_537), '\u0000', '\ud83d'],
    in: (v) => ({ attributes: [{ key: 'k', value: v }] }),
  },
  {
    pointer: '/attributes/0/userGroups',
    values: ['g', 1, {}],
    in: (v) => ({ attributes: [{ key: 'k', value: 'v', userGroups: v }] }),
  },
  {
    pointer: '/attributes/0/userGroups/0',
    values: [1, null, '', '\ud800'],
    in: (v) => ({ attributes: [{ key: 'k', value: 'v', userGroups: [v] }] }),
  },
  { pointer: '/settings', values: ['x', 1, ['x'], { other: [] }], in: (v) => ({ settings: v }) },
  {
    pointer: '/settings/includeUserGroups',
    values: ['g', 1, {}],
    in: (v) => ({ settings: { includeUserGroups: v } }),
  },
  {
    pointer: '/settings/excludeUserGroups/0',
    values: [1, null, ''],
    in: (v) => ({ settings: { excludeUserGroups: [v] } }),
  },
  { pointer: '', values: [1, 'x', null, {}], in: (v) => ({ unknown: v, Name: v }) },
  {
    pointer: '/attributes',
    values: [{ k: 'v' }, {}],
    in: (v) => ({ attributes: v }),
    only: ['/products', '/products/batch/upload'],
  },
  {
    pointer: '/attributes/k',
    values: [1, true, { key: 'k', value: 'v' }, { value: 1 }, {}, long(65_537), 'a\u0000'],
    in: (v) => ({ attributes: { k: v } }),
    only: ['/products?partial=true'],
  },
  {
    pointer: '/attributes/k/1',
    values: [1, ['a'], { value: 1 }, { text: 'a' }, '\ud800'],
    in: (v) => ({ attributes: { k: ['a', v] } }),
    only: ['/products?partial=true'],
  },
  {
    pointer: '/attributes',
    values: ['', long(256), 'a\u0000'],
    in: (v) => ({ attributes: { [String(v)]: 'x' } }),
    only: ['/products?partial=true'],
  },
];

test('every field refuses invalid values, and the answer gives the place (§2.3, §7.3)', async () => {
  const catalog = await openCatalog();
  for (const { pointer, values, in: put, only = WRITES } of wrong) {
    for (const path of only) {
      const products = values.map((value) => ({ ...product('A'), ...put(value) }));
      const violations = await findViolations(catalog, path, { products: [...products, product('good')] });
      assert.equal(violations.length, values.length, `${path} ${pointer}: ${JSON.stringify(violations)}`);
      for (const [index, element] of violations.entries()) {
        const shown = `${path} ${pointer} ${JSON.stringify(values[index])?.slice(0, 60)}: ${element.errors.join('; ')}`;
        assert.equal(element.product?.index, index, shown);
        assert.ok(
          element.errors.some((line) => line.startsWith(pointer) && line !== pointer),
          shown,
        );
      }
    }
  }
  await assertNothingStored(catalog);
});

test('the longest values that §8 allows are accepted, counted in characters instead of bytes (§8)', async () => {
  const catalog = await openCatalog();
  const largest = {
    identifier: '😀'.repeat(255),
    name: 'ä'.repeat(1_000),
    groupIdentifier: '漢'.repeat(255),
    productUrl: long(4_096),
    image: long(4_096),
    images: many(199, () => ({ url: 'u', type: 'THUMB' })),
    categories: many(100, (index) => ({
      path: many(20, (level) => `${index} ${level}`),
      priority: index - 50,
    })),
    attributes: [
      ...many(1_999, (index) => ({ key: `k${index}`, value: '' })),
      { key: 'k'.repeat(255), value: '漢'.repeat(65_536), userGroups: ['trade'] },
    ],
  };
  await catalog.done(await catalog.post('/products', [largest]));
  const { image: _, ...stored } = await catalog.stored(largest.identifier);
  const images = [{ url: largest.image, type: 'LARGE' }, ...largest.images];
  const { image: __, ...sent } = largest;
  assert.deepEqual(stored, { ...sent, images });
});

test('a valid body of unusual strings is stored unchanged (§2.3)', async () => {
  const catalog = await openCatalog();
  const identifiers = [
    ' A ',
    'a',
    'A',
    'Ä',
    'A\u0308',
    '\t',
    '"\\/',
    '__proto__',
    'null',
    '1',
    '漢字',
    '😀',
    '<b>',
    '%00',
    '\u2028',
  ];
  await catalog.update(
    ...identifiers.map((identifier) =>
      product(identifier, { attributes: [{ key: identifier, value: identifier }] }),
    ),
  );
  const products = await catalog.find(...identifiers);
  assert.deepEqual(
    products.map(({ identifier, name, groupId }) => [identifier, name, groupId]),
    identifiers.map((identifier) => [identifier, identifier, identifier]),
  );
  for (const text of identifiers) {
    assert.deepEqual(
      (await catalog.stored(text)).attributes,
      [{ key: text, value: text }],
      JSON.stringify(text),
    );
  }
});

test('null in an optional field means not sent (§2.3 rule 6)', async () => {
  const catalog = await openCatalog();
  const nulls = { groupIdentifier: null, productUrl: null, image: null, images: null, categories: null };
  await catalog.update(
    product('A', { ...nulls, attributes: null, settings: null }),
    product('B', {
      categories: [{ path: ['a'], priority: null, categoryId: null }],
      settings: { includeUserGroups: null },
    }),
    product('C', {
      attributes: [
        { key: 'k', value: null },
        { key: 'l', value: 'v', userGroups: null },
      ],
    }),
  );
  const empty = { productUrl: '', images: [], categories: [], attributes: [] };
  assert.deepEqual(await catalog.stored('A'), { ...product('A'), groupIdentifier: 'A', ...empty });
  assert.deepEqual(await catalog.stored('B'), {
    ...product('B'),
    groupIdentifier: 'B',
    ...empty,
    categories: [{ path: ['a'] }],
  });
  assert.deepEqual(
    (await catalog.stored('C')).attributes,
    [{ key: 'l', value: 'v' }],
    'a null value drops its attribute',
  );
});

test('a violation has only product, index and errors, in the order of the request (§7.3 rule 2)', async () => {
  const catalog = await openCatalog();
  const attributes = [
    { key: 'a', value: 'x' },
    { key: 'b', value: 'x' },
    { key: 'c', value: 18 },
  ];
  const body = {
    products: [product('good'), product('A1', { attributes }), 'text', null, { identifier: 7, name: 'n' }],
  };
  for (const path of ['/products', '/products/batch/upload']) {
    assert.deepEqual(await findViolations(catalog, path, body), [
      { product: { identifier: 'A1', index: 1 }, ...both('/attributes/2/value must be string') },
      { product: { identifier: null, index: 2 }, ...both('must be object') },
      { product: { identifier: null, index: 3 }, ...both('must be object') },
      { product: { identifier: null, index: 4 }, ...both('/identifier must be string') },
    ]);
  }
  await assertNothingStored(catalog);
});

const both = (...lines: string[]) => ({ schemaErrors: lines, errors: lines });

test('a product without its required fields is refused with their names (§7.3)', async () => {
  const catalog = await openCatalog();
  const [violation] = await findViolations(catalog, '/products', [{}]);
  assert.deepEqual(violation?.errors, [
    "must have required property 'identifier'",
    "must have required property 'name'",
  ]);
  const [patch] = await findViolations(catalog, '/products?partial=true', [{}]);
  assert.deepEqual(patch?.errors, ["must have required property 'identifier'"]);
});

test('a violation names an identifier in whole characters that are valid JSON (§7.3 rule 7)', async () => {
  const catalog = await openCatalog();
  for (const path of WRITES) {
    const named = async (identifier: string) =>
      (await findViolations(catalog, path, { products: [product(identifier)] }))[0]?.product?.identifier;
    assert.equal(await named(`x${'😀'.repeat(300)}`), `x${'😀'.repeat(254)}`);
    assert.equal(await named('a\ud800'), 'a\ufffd');
  }
  const others = await catalog.post('/products', { products: [product('A', { 'b\ud800': 1 })] });
  assertRefused(others, 400, TEXT);
  const lone = { body: { name: 'Taps', 'c\ud800': 1 } };
  const { details } = (await service().call('POST', '/management/project-groups', lone)).body;
  assert.match(details.join(), /c\ufffd/);
});

test('after 100 invalid products the last element counts the others (§7.3 rule 3)', async () => {
  const catalog = await openCatalog();
  for (const [count, rest] of [
    [100, undefined],
    [101, 1],
    [9_999, 9_899],
  ] as const) {
    const violations = await findViolations(catalog, '/products', [
      product('good'),
      ...many(count, () => ({ name: 1 })),
    ]);
    assert.deepEqual(
      violations.slice(0, 100).map((element) => element.product?.index),
      many(100, (index) => index + 1),
    );
    assert.equal(violations.length, rest === undefined ? 100 : 101);
    if (rest === undefined) continue;
    assert.equal(violations[100]?.product, null);
    assert.match(violations[100]?.errors[0] ?? '', new RegExp(`\\b${rest}\\b`));
  }
});

test('a fault of the whole body is one element without a product (§7.3 rule 4)', async () => {
  const catalog = await openCatalog();
  const bodies = [{}, 'null', '1', '"text"', 'true', { products: {} }, { products: null }, { products: 'A' }];
  for (const body of [...bodies, { Products: [product('A')] }, { products: [product('A')], more: 1 }]) {
    const violations = await findViolations(catalog, '/products', body);
    assert.equal(violations.length, 1);
    assert.equal(violations[0]?.product, null);
  }
  await findViolations(catalog, '/products', '{"products":[{"identifier":"A","name":"A"}],"__proto__":[]}');
  await assertNothingStored(catalog);
});

test('__proto__ as a field is refused like any unknown one (§2.3 rule 7)', async () => {
  const catalog = await openCatalog();
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
    const body = `[{"identifier":"A","name":"A",${JSON.stringify(name)}:{"identifier":"B"}}]`;
    for (const path of WRITES) {
      const [violation] = await findViolations(catalog, path, body);
      assert.match(violation?.errors[0] ?? '', /must NOT have additional properties/);
    }
    const nested = `[{"identifier":"A","name":"A","attributes":[{"key":"k","value":"v",${JSON.stringify(name)}:1}]}]`;
    await findViolations(catalog, '/products', nested);
  }
  await assertNothingStored(catalog);
});

test('a value outside a closed list is refused with the allowed values (§7.1 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const { body } = await catalog.post('/products?partial=yes', []);
  assert.deepEqual(body.details, ['/partial must be equal to one of the allowed values: true, false']);
  const path = `/management/projects/${catalog.projectId}/ontology`;
  const ontology = await service().call('PUT', path, { body: { mode: 'x', attributes: [] } });
  assert.deepEqual(ontology.body.details, [
    '/mode must be equal to one of the allowed values: automatic, own',
  ]);
  const tasks = await service().call('GET', `/tasks?projectId=${catalog.projectId}&status=DONE`);
  assert.deepEqual(tasks.body.details, [
    '/status must be equal to one of the allowed values: PENDING, RUNNING, FINISHED, FAILED, CANCELLED',
  ]);
  const refuseKey = async (more: object) =>
    (await service().call('POST', '/management/api-keys', { body: { name: 'Shop', ...more } })).body.details;
  const scope = { type: 'account' };
  for (const access of ['admin', 5, null]) {
    assert.deepEqual(await refuseKey({ scope, access }), [
      '/access must be equal to one of the allowed values: read, write, manage',
    ]);
  }
  assert.deepEqual(await refuseKey({ scope: { type: 'planet' } }), [
    '/scope/type must be one of: account, project-group, project',
  ]);
  assert.deepEqual(await refuseKey({ scope: { type: 'project' } }), [
    "/scope must have required property 'id'",
  ]);
});

test('a body that is not JSON is refused with the position where parsing stopped (§7.3 rule 5)', async () => {
  const catalog = await openCatalog();
  const bodies = [
    '{"products":[',
    '[{"identifier":"A",}]',
    "[{'identifier':'A'}]",
    'products',
    '[1] 2',
    '\u0000',
    '[NaN]',
  ];
  for (const body of bodies) {
    for (const path of WRITES) {
      const answer = await catalog.post(path, body);
      assertRefused(answer, 400, /JSON/);
      assert.equal(answer.body.details.length, 1);
    }
  }
  const [line] = (await catalog.post('/products', '[{"identifier":"A"},,]')).body.details;
  assert.match(line, /Unexpected token ','.*"A"\},,/);
  for (const body of ['', '  ', undefined]) {
    assertRefused(await catalog.post('/products', body), 400, /JSON/);
    assertRefused(await catalog.post('/products/batch/upload', body), 400, /JSON/);
  }
  await assertNothingStored(catalog);
});

test('invalid UTF-8 is refused, and a byte order mark is accepted (§7.3)', async () => {
  const catalog = await openCatalog();
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
    const head = Buffer.from('[{"identifier":"A","name":"');
    const body = Buffer.concat([head, Buffer.from(bytes), Buffer.from('"}]')]);
    for (const path of WRITES) assertRefused(await catalog.post(path, body), 400, /JSON/);
  }
  await assertNothingStored(catalog);
  await catalog.done(await catalog.post('/products', `\ufeff${JSON.stringify([product('A')])}`));
  assert.deepEqual(await catalog.list(), ['A']);
});

test('deep nesting is refused and harms nothing (§2.3 rule 8)', async () => {
  const catalog = await openCatalog();
  for (const depth of [33, 1_000, 100_000]) {
    const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    for (const body of [
      nested,
      objects,
      `[${objects}]`,
      `{"products":[{"identifier":"A","name":${nested}}]}`,
    ]) {
      for (const path of WRITES) assertRefused(await catalog.post(path, body), 400);
    }
    assertRefused(await catalog.call('DELETE', '/products', { body: nested }), 400);
    assertRefused(await catalog.post('/product-service/products-by-sku', nested), 400);
    for (const path of ['initiate', 'preview', 'start']) {
      assert.ok((await catalog.post(`/products/batch/${path}`, nested)).status < 500);
    }
  }
  assert.deepEqual(await catalog.list(), []);
});

test('an empty list and more than 10,000 products are refused with their numbers (§4.3 rule 6)', async () => {
  const catalog = await openCatalog();
  const over = many(10_001, (index) => product(`P${index}`));
  for (const path of WRITES) {
    assertRefused(await catalog.post(path, { products: [] }), 400);
    assertRefused(await catalog.post(path, []), 400);
    assertRefused(await catalog.post(path, { products: over }), 400, /10001.*10000/);
    assertRefused(
      await catalog.post(
        path,
        many(20_000, () => null),
      ),
      400,
      /20000.*10000/,
    );
  }
  await assertNothingStored(catalog);
  const batch = await catalog.post('/products/batch/upload', over.slice(1));
  assert.deepEqual([batch.body.nrOfSent, batch.body.nrOfParsed], [10_000, 10_000]);
  await catalog.done(await catalog.post('/products/batch/start'));
});

test('a body beyond the limit is 413, packed or not, with and without Content-Length (§7.2 rule 5)', async () => {
  const catalog = await openCatalog();
  const tooLarge = JSON.stringify([product('A', { productUrl: ' '.repeat(1024 * 1024) })]);
  const bomb = gzipSync(tooLarge);
  assert.ok(bomb.length < 10_000);
  for (const path of WRITES) {
    assertRefused(await catalog.post(path, tooLarge), 413);
    assertRefused(await catalog.post(path, bomb, { 'content-encoding': 'gzip' }), 413);
  }
  const huge = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  assertRefused(await catalog.post('/products', huge, { 'content-encoding': 'gzip' }), 413);
  const noise = gzipSync(randomBytes(1_100_000));
  assertRefused(await catalog.post('/products', noise, { 'content-encoding': 'gzip' }), 413);
  const bombs = {
    body: gzipSync(Buffer.alloc(33 * 1024 * 1024, ' ')),
    headers: { 'content-encoding': 'gzip' },
  };
  assertRefused(await catalog.call('DELETE', '/products', bombs), 413);
  assertRefused(await catalog.call('POST', '/product-service/products-by-sku', bombs), 413);
  await assertNothingStored(catalog);
});

test('gzip that is invalid, cut off or differently named is refused (§2.3 rule 10)', async () => {
  const catalog = await openCatalog();
  const good = gzipSync(JSON.stringify([product('A')]));
  for (const body of [good.subarray(0, -9), good.subarray(0, 5), Buffer.from('[]'), Buffer.alloc(20)]) {
    for (const path of WRITES)
      assertRefused(await catalog.post(path, body, { 'content-encoding': 'gzip' }), 400);
    const headers = { 'content-encoding': 'gzip' };
    assertRefused(await catalog.call('DELETE', '/products', { body, headers }), 400);
  }
  for (const name of ['compress', 'deflate', 'gzip, gzip', 'GZIP2']) {
    const answer = await catalog.post('/products', good, { 'content-encoding': name });
    assertRefused(answer, 415);
    assert.match(answer.body.details[0], new RegExp(name.toLowerCase()));
  }
  assertRefused(await catalog.post('/products', good), 400, /JSON/);
  await assertNothingStored(catalog);
});

test('a body is read as JSON, whatever Content-Type says (§4 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    'a/b; charset=',
    'multipart/form-data',
  ];
  for (const type of types) {
    const answer = await catalog.post('/products', JSON.stringify([product(type)]), { 'content-type': type });
    assert.equal(answer.status, 200, `${type}: ${JSON.stringify(answer.body)}`);
    await catalog.done(answer);
  }
  assert.deepEqual(await catalog.list(), [...types].sort());
});

const WRITE_CALLS: [string, string][] = [
  ...WRITES.map((path) => ['POST', path] as [string, string]),
  ['DELETE', '/products'],
  ['POST', '/products/batch/initiate'],
  ['POST', '/products/batch/preview'],
  ['POST', '/products/batch/start'],
  ['POST', '/products/batch/restore'],
  ['POST', '/product-service/products-by-sku'],
];

test('no body leads to a 500 (§7.4)', async () => {
  const catalog = await openCatalog();
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\u0000', '\ud800', '__proto__'),
  );
  const scalar = fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null));
  const anything = fc.oneof({ weight: 1, arbitrary: fc.jsonValue() }, { weight: 1, arbitrary: scalar });
  const nearly = fc.record(
    {
      identifier: fc.oneof(text, fc.constant('A')),
      name: fc.oneof(text, fc.constant('n')),
      attributes: fc.oneof(
        fc.array(fc.record({ key: text, value: text })),
        fc.dictionary(text, fc.oneof(text, fc.array(text))),
        anything,
      ),
      categories: fc.oneof(fc.array(fc.record({ path: fc.array(text) })), anything),
      settings: fc.oneof(fc.record({ includeUserGroups: fc.array(text) }), anything),
    },
    { requiredKeys: [] },
  );
  const lists = fc.oneof(fc.array(nearly), fc.array(text), anything);
  const body = fc.oneof(fc.record({ products: lists }), fc.record({ identifiers: lists }), lists);
  const call = fc.record({ at: fc.constantFrom(...WRITE_CALLS), body, isPacked: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(call, async ({ at: [method, path], body: sent, isPacked }) => {
      const json = JSON.stringify(sent);
      const options = isPacked
        ? { body: gzipSync(json), headers: { 'content-encoding': 'gzip' } }
        : { body: json };
      const answer = await catalog.call(method, path, options);
      assert.ok(answer.status < 500, `${method} ${path} ${json}: ${JSON.stringify(answer.body)}`);
      if (answer.status === 400) assertRefused(answer, 400);
    }),
    { numRuns: 400 },
  );
  for (const task of await catalog.tasks()) {
    if (task.name !== '') await service().ended(task.id);
  }
});

test('no query leads to a 500 (§7.4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  const paths = [
    ...['/projects', '/project/check-credentials', '/tasks', '/products', '/products/batch/upload'],
    ...[
      '/products/batch/initiate',
      '/products/batch/preview',
      '/products/batch/start',
      '/products/batch/restore',
    ],
    ...['/product-service/products-by-sku', '/product-service/product-by-sku', '/search/relations/result'],
    ...[
      '/management/projects/1/products',
      '/management/projects',
      '/management/audit-log',
      '/management/api-keys',
    ],
  ];
  const names = [
    'projectId',
    'partial',
    'fullUpdateId',
    'allowDeletes',
    'identifiers',
    'identifier',
    'apiKey',
  ];
  const name = fc.oneof(
    fc.constantFrom(...names, 'limit', 'cursor', 'status', 'wait', '__proto__'),
    fc.string(),
  );
  const value = fc.oneof(
    fc.string({ unit: 'grapheme' }).map(encodeURIComponent),
    fc.string().map((text) => text.replace(/[\s#]/g, '')),
    fc.constantFrom(
      '',
      '%',
      '%00',
      '%ff',
      '[',
      '["A"]',
      '1',
      '-1',
      '1e9',
      '99999999999999999999',
      'true',
      'null',
    ),
  );
  const pair = fc.tuple(name.map(encodeURIComponent), value).map(([key, text]) => `${key}=${text}`);
  const query = fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.join('&'));
  const method = fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS');
  await fc.assert(
    fc.asyncProperty(method, fc.constantFrom(...paths), query, async (how, path, sent) => {
      const body = how === 'POST' || how === 'DELETE' ? '[]' : undefined;
      for (const start of [`projectId=${catalog.projectId}&`, '']) {
        const url = `${service().address}${path}?${start}${sent}`;
        const headers = { authorization: `Bearer ${service().key}` };
        const response = await fetch(url, { method: how, headers, ...(body && { body }) });
        await response.arrayBuffer();
        assert.ok(response.status < 500, `${how} ${path}?${start}${sent}: ${response.status}`);
      }
    }),
    { numRuns: 400 },
  );
});

test('a number that no store holds exactly is refused wherever an integer is expected (§7.2 rule 1)', async () => {
  const catalog = await openCatalog();
  const about = [
    ['GET', '/tasks?from=1e308'],
    ['GET', '/management/audit-log?to=1e308'],
    ['GET', '/products/batch?fullUpdateId=9007199254740992'],
    ['PUT', '/products/batch/upload?fullUpdateId=-1e308'],
    ['POST', '/products/batch/start?products=1e308'],
  ] as const;
  for (const [method, path] of about)
    assertRefused(await catalog.call(method, path), 400, 'Your query params are not valid');
  const key = { name: 'Late', scope: { type: 'account' }, expiresAt: 1e308 };
  assertRefused(await service().call('POST', '/management/api-keys', { body: key }), 400, TEXT);
});

interface Documented {
  readonly paths: Record<string, Record<string, { parameters?: readonly Parameter[] }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly type?: string };
}

/** @returns a request for each integer of a path or query, with 1e0 as its value */
const listWrongIntegers = ({ paths }: Documented, projectId: number) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      parameters
        .filter(({ in: location, schema }) => location !== 'header' && schema.type === 'integer')
        .map(({ name }) => {
          const filled = path.replace(/\{(\w+)\}/g, (_, id) => (id === name ? '1e0' : String(projectId)));
          const query = new URLSearchParams({ projectId: String(projectId), [name]: '1e0' });
          return { method: method.toUpperCase(), path: `${filled}?${query}` };
        }),
    ),
  );

test('an integer in a path or query consists of decimal digits only, and other notations of JavaScript are refused (§4.1)', async () => {
  const catalog = await openCatalog();
  const document = (await service().call('GET', '/openapi.json')).body as Documented;
  const requests = listWrongIntegers(document, catalog.projectId);
  assert.ok(requests.length > 100, `${requests.length} parameters`);
  for (const { method, path } of requests) {
    const { status, body } = await service().call(method, path);
    // A key cannot open a console session.
    if (body.reason === 'not_signed_in') continue;
    assert.equal(`${status} ${body.reason}`, '400 query_invalid', `${method} ${path}`);
  }
});
