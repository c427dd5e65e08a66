// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';
import { TestClock } from '../support/test-service.ts';

const clock = new TestClock();
const service = shareService({ clock });

const product = (identifier: string, more: object = {}) => ({ identifier, name: identifier, ...more });
const numbered = (count: number) => Array.from({ length: count }, (_, index) => product(`P${index}`));
const UPDATE_TEXT = 'Your update will now be started';
const full = {
  identifier: 'A',
  name: 'Drill',
  groupIdentifier: 'G',
  productUrl: 'https://shop.example/a',
  categories: [{ path: ['Tools', 'Drills'], priority: 2, categoryId: 77 }],
  images: [{ url: 'https://shop.example/a.jpg', type: 'SMALL' }],
  attributes: [
    { key: 'Colour', value: 'red' },
    { key: 'Length', value: '12.5 in' },
    { key: 'Price', value: '9', userGroups: ['trade'] },
  ],
  settings: { includeUserGroups: ['trade'], excludeUserGroups: ['minors'] },
};

test('full and partial POST /products answer text, status, task and counts (§4.3 rules 2 and 3)', async () => {
  const catalog = await createCatalog(service());
  for (const path of ['/products', '/products?partial=false', '/products?partial=true']) {
    const release = await catalog.hold();
    const answer = await catalog.post(path, { products: [product('A'), product('B'), product('A')] });
    assert.equal(answer.status, 200);
    const { task, ...rest } = answer.body;
    assert.deepEqual(rest, { message: UPDATE_TEXT, status: 'success', nrOfSent: 3, nrOfParsed: 2 });
    const { id, projectName, ...fixed } = task;
    assert.match(id, /^[0-9a-f]{24}$/);
    assert.equal(typeof projectName, 'string');
    assert.deepEqual(fixed, {
      projectId: catalog.projectId,
      origin: 'LIVE-API',
      taskStatus: 'RUNNING',
      name: 'incremental partial update',
      taskIncrementType: 'STEP_BASED',
      failure: false,
      requestTime: clock.now(),
      startTime: clock.now(),
      finishTime: null,
      progress: 0,
      logCounter: 0,
    });
    await release();
    assert.equal((await catalog.done(answer)).taskStatus, 'FINISHED');
  }
});

test('partial accepts only true, false, 1 and 0 (§4.3 rule 1)', async () => {
  const catalog = await createCatalog(service());
  for (const partial of ['2', 'yes', '', 'true&partial=true']) {
    assertRefused(await catalog.post(`/products?partial=${partial}`, [product('A')]), 400);
  }
  assert.deepEqual(await catalog.tasks(), []);
});

test('the list of products is accepted bare or wrapped (§2.3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.done(await catalog.post('/products', [product('bare')]));
  await catalog.done(await catalog.post('/products', { products: [product('wrapped')] }));
  assert.deepEqual(await catalog.list(), ['bare', 'wrapped']);
});

test('an incremental update replaces a product as a whole and does not change the others (§3.3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(full, product('B'));
  const [before, b] = await catalog.find('A', 'B');
  clock.pass(1);
  await catalog.update({ identifier: 'A', name: 'New', attributes: [{ key: 'Colour', value: 'blue' }] });
  assert.deepEqual(await catalog.stored('A'), {
    identifier: 'A',
    groupIdentifier: 'A',
    name: 'New',
    productUrl: '',
    images: [],
    categories: [],
    attributes: [{ key: 'Colour', value: 'blue' }],
  });
  const [after, other] = await catalog.find('A', 'B');
  assert.deepEqual([after.id, after.lastUpdateTs], [before.id, clock.now()]);
  assert.deepEqual(other, b);
});

test('an incremental update creates products but no attributes (§3.3 rule 1)', async () => {
  const catalog = await createCatalog(service());
  const task = await catalog.update(full);
  assert.deepEqual((await catalog.find('A'))[0].facts, []);
  const { body } = await service().call('GET', `/management/projects/${catalog.projectId}/ontology`);
  assert.deepEqual(body, { mode: 'automatic', attributes: [] });
  const codes = (await catalog.report(task)).map(({ code, attribute }) => `${code} ${attribute}`);
  assert.deepEqual(codes, [
    'attribute_unknown Colour',
    'attribute_unknown Length',
    'attribute_unknown Price',
  ]);
});

const red = { key: 'Colour', value: 'red' };
const length = { key: 'Length', value: '12.5 in' };
const price = { key: 'Price', value: '9', userGroups: ['trade'] };
const partialCases: { rule: string; attributes: unknown; leaves: object[] }[] = [
  {
    rule: 'a string is the only value',
    attributes: { Colour: 'blue' },
    leaves: [{ key: 'Colour', value: 'blue' }, length, price],
  },
  {
    rule: 'an object is the only value, with its user groups',
    attributes: { Price: { value: '8', userGroups: ['b2b'] }, Colour: { value: 'blue' } },
    leaves: [{ key: 'Colour', value: 'blue' }, length, { key: 'Price', value: '8', userGroups: ['b2b'] }],
  },
  {
    rule: 'a list replaces all values',
    attributes: { Colour: ['blue', { value: 'green', userGroups: ['trade'] }] },
    leaves: [
      { key: 'Colour', value: 'blue' },
      { key: 'Colour', value: 'green', userGroups: ['trade'] },
      length,
      price,
    ],
  },
  { rule: 'an empty list leaves no value', attributes: { Colour: [] }, leaves: [length, price] },
  { rule: 'null removes', attributes: { Colour: null, Unknown: null }, leaves: [length, price] },
  { rule: 'a null value removes', attributes: { Colour: { value: null } }, leaves: [length, price] },
  {
    rule: 'a new name is added',
    attributes: { New: 'x' },
    leaves: [red, length, price, { key: 'New', value: 'x' }],
  },
  {
    rule: 'an empty string is a value',
    attributes: { Colour: '' },
    leaves: [{ key: 'Colour', value: '' }, length, price],
  },
  {
    rule: 'the list form replaces all values of each key it names',
    attributes: [
      { key: 'Colour', value: 'blue' },
      { key: 'Colour', value: 'green' },
      { key: 'Price', value: null },
    ],
    leaves: [{ key: 'Colour', value: 'blue' }, { key: 'Colour', value: 'green' }, length],
  },
  { rule: 'null for all changes nothing', attributes: null, leaves: [red, length, price] },
  { rule: 'an empty object changes nothing', attributes: {}, leaves: [red, length, price] },
  {
    rule: '__proto__ and constructor are names like any other',
    attributes: JSON.parse('{"__proto__":"p","constructor":["c"],"toString":{"value":"t"}}'),
    leaves: [
      red,
      length,
      price,
      { key: '__proto__', value: 'p' },
      { key: 'constructor', value: 'c' },
      { key: 'toString', value: 't' },
    ],
  },
];

test('a partial update changes only the attributes that it sends (§2.3 rules 11 and 12)', async (t) => {
  const catalog = await createCatalog(service());
  for (const { rule, attributes, leaves } of partialCases) {
    await t.test(rule, async () => {
      await catalog.update(full);
      await catalog.patch({ identifier: 'A', attributes });
      assert.deepEqual(await catalog.stored('A'), {
        ...(await catalog.stored('A')),
        name: 'Drill',
        attributes: leaves,
      });
    });
  }
});

test('a partial update replaces any other field as a whole and keeps the fields that it does not send (§2.3 rules 13 and 14)', async () => {
  const catalog = await createCatalog(service());
  await catalog.update(full);
  let expected: object = full;
  const changes = [
    { name: 'Better drill' },
    { groupIdentifier: 'H' },
    { productUrl: '' },
    { categories: [{ path: ['Garden'] }] },
    { categories: [] },
    { images: [{ url: 'u', type: 'THUMB' }] },
    { settings: { excludeUserGroups: ['x'] } },
  ];
  for (const change of changes) {
    await catalog.patch({ identifier: 'A', ...change });
    expected = { ...expected, ...change };
    assert.deepEqual(await catalog.stored('A'), expected);
  }
  await catalog.patch({ identifier: 'A', image: 'big' });
  assert.deepEqual((await catalog.stored('A')).images[0], { url: 'big', type: 'LARGE' });
  const present = await catalog.stored('A');
  const nothing = { name: null, groupIdentifier: null, productUrl: null, image: null, images: null };
  await catalog.patch({ identifier: 'A', ...nothing, categories: null, attributes: null, settings: null });
  await catalog.patch({ identifier: 'A' });
  assert.deepEqual(await catalog.stored('A'), present, 'null means not sent');
});

test('a partial update creates no products, and its report names the unknown ones (§4.3 rule 5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.update(product('A'));
  const task = await catalog.patch(product('A', { name: 'new' }), product('X'), product('Y'), product('a'));
  assert.deepEqual(await catalog.list(), ['A']);
  assert.equal(task.taskStatus, 'FINISHED');
  const lines = await catalog.report(task);
  assert.deepEqual(
    lines.map(({ identifier, code }) => [identifier, code]),
    [
      ['X', 'unknown_identifier'],
      ['Y', 'unknown_identifier'],
      ['a', 'unknown_identifier'],
    ],
  );
  const { body } = await service().call('GET', `/tasks/${task.id}/log`);
  assert.ok(
    body.log.some(({ line }: { line: string }) => /\b3 identifiers/.test(line)),
    'they are counted',
  );
});

test('the last product of a repeated identifier wins, and the report has a line about it (§4.3 rule 4)', async () => {
  const catalog = await createCatalog(service());
  for (const write of [catalog.update, catalog.patch]) {
    const names = ['first', 'middle', 'last'];
    const task = await write(...names.map((name) => product('A', { name })), product('B'));
    assert.equal((await catalog.find('A'))[0].name, 'last');
    const repeated = (await catalog.report(task)).filter(({ code }) => code === 'repeated_identifier');
    assert.ok(repeated.length > 0 && repeated.every(({ identifier }) => identifier === 'A'));
  }
});

test('parallel writes of one identifier create one product (§3.2 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const answers = await Promise.all(
    Array.from({ length: 14 }, (_, index) =>
      catalog.post('/products', [product('A', { name: `name ${index}` })]),
    ),
  );
  const tasks = await Promise.all(answers.map((answer) => catalog.done(answer)));
  assert.ok(tasks.every(({ taskStatus }) => taskStatus === 'FINISHED'));
  assert.deepEqual(await catalog.list(), ['A']);
  assert.match((await catalog.find('A'))[0].name, /^name \d+$/);
});

test('updates and deletes take effect in the order of their acceptance (§3.2 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const release = await catalog.hold();
  const answers = [
    await catalog.post('/products', [product('A'), product('B')]),
    await catalog.post('/products?partial=true', [{ identifier: 'A', attributes: { Size: 'M' } }]),
    await catalog.call('DELETE', '/products', { body: ['B', 'C'] }),
    await catalog.post('/products?partial=true', [{ identifier: 'B', name: 'too late' }]),
    await catalog.post('/products', [product('C')]),
  ];
  assert.deepEqual(await catalog.list(), []);
  await release();
  const tasks = await Promise.all(answers.map((answer) => catalog.done(answer)));
  assert.deepEqual(await catalog.list(), ['A', 'C']);
  assert.deepEqual((await catalog.stored('A')).attributes, [{ key: 'Size', value: 'M' }]);
  assert.deepEqual(
    (await catalog.report(tasks[2])).map(({ identifier }) => identifier),
    ['C'],
  );
  assert.deepEqual(
    (await catalog.report(tasks[3])).map(({ identifier }) => identifier),
    ['B'],
  );
});

test('an upload without a change keeps lastUpdateTs, and a change raises it (§2.2 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(full, product('B'));
  const [{ lastUpdateTs: first }] = await catalog.find('A');
  assert.equal(first, clock.now());
  clock.pass(60_000);
  await catalog.load(full, product('B'));
  await catalog.update(full);
  await catalog.patch({ identifier: 'A' });
  await catalog.patch({ identifier: 'A', name: full.name, attributes: { Colour: 'red' } });
  assert.equal((await catalog.find('A'))[0].lastUpdateTs, first);
  await catalog.patch({ identifier: 'A', settings: { includeUserGroups: ['x'] } });
  assert.equal((await catalog.find('A'))[0].lastUpdateTs, first + 60_000);
  assert.equal((await catalog.find('B'))[0].lastUpdateTs, first);
});

test('a gzip body is accepted like any other (§2.3 rule 10)', async () => {
  const catalog = await createCatalog(service());
  for (const encoding of ['gzip', 'GZIP', 'x-gzip']) {
    const body = gzipSync(JSON.stringify({ products: [product(encoding)] }));
    await catalog.done(await catalog.post('/products', body, { 'content-encoding': encoding }));
  }
  const plain = JSON.stringify([product('identity')]);
  await catalog.done(await catalog.post('/products', plain, { 'content-encoding': 'identity' }));
  await catalog.post('/products/batch/initiate', gzipSync('{}'), { 'content-encoding': 'gzip' });
  const batch = gzipSync(JSON.stringify(numbered(2)));
  const uploaded = await catalog.post('/products/batch/upload', batch, { 'content-encoding': 'gzip' });
  assert.equal(uploaded.body.nrOfParsed, 2);
  assert.deepEqual(await catalog.list(), ['GZIP', 'gzip', 'identity', 'x-gzip']);
});

test('one request accepts 10,000 products (§4.3, §8)', async () => {
  const catalog = await createCatalog(service());
  const answer = await catalog.post('/products', { products: numbered(10_000) });
  assert.deepEqual([answer.body.nrOfSent, answer.body.nrOfParsed], [10_000, 10_000]);
  assert.equal((await catalog.done(answer)).taskStatus, 'FINISHED');
  assert.equal((await catalog.find('P0', 'P9999')).length, 2);
});

test('a delete accepts the object and the bare list and answers its task (§4.6 rules 1 and 2)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'), product('C'), product('a'));
  for (const [body, left] of [
    [{ identifiers: ['A'] }, ['B', 'C', 'a']],
    [
      ['B', 'B'],
      ['C', 'a'],
    ],
  ] as const) {
    const answer = await catalog.call('DELETE', '/products', { body });
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.body), ['message', 'status', 'task']);
    const { message, status, task } = answer.body;
    assert.deepEqual([message, status], ['Delete will now be started', 'success']);
    assert.deepEqual([task.name, task.taskStatus], ['delete products', 'RUNNING']);
    assert.deepEqual([task.taskIncrementType, task.progress], ['STEP_BASED', 0]);
    await catalog.done(answer);
    assert.deepEqual(await catalog.list(), left);
  }
});

test('a delete removes the known products and reports unknown identifiers (§4.6 rule 3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'));
  const body = { identifiers: ['X', 'A', 'a', 'A ', 'X', 'A\u0000'] };
  const task = await catalog.done(await catalog.call('DELETE', '/products', { body }));
  const lines = await catalog.report(task);
  assert.deepEqual(lines.map(({ identifier, code }) => [identifier, code]).sort(), [
    ['A\u0000', 'unknown_identifier'],
    ['A ', 'unknown_identifier'],
    ['X', 'unknown_identifier'],
    ['a', 'unknown_identifier'],
  ]);
  assert.deepEqual(await catalog.list(), ['B']);
});

test('a delete compares identifiers exactly: a NUL or an unpaired surrogate matches no other text (§2.3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('A\ufffd'));
  const bad = ['A\u0000', 'A\u0000B', 'A\ud800'];
  for (const identifier of bad) {
    assertRefused(await catalog.call('DELETE', '/products', { body: [identifier] }), 400);
  }
  const release = await catalog.hold();
  const waiting = await catalog.call('DELETE', '/products', { body: bad });
  await release();
  assert.equal((await catalog.done(waiting)).taskStatus, 'FINISHED');
  assert.deepEqual(await catalog.list(), ['A', 'A\ufffd']);
});

test('a delete without a known identifier is refused, unless an earlier task is still waiting (§4.6 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  const start = /^You have to send at least one known product identifier/;
  assertRefused(await catalog.call('DELETE', '/products', { body: ['X', 'Y'] }), 400, start);
  const release = await catalog.hold();
  const accepted = await catalog.call('DELETE', '/products', { body: ['X'] });
  assert.equal(accepted.status, 200);
  await release();
  const task = await catalog.done(accepted);
  assert.deepEqual(
    (await catalog.report(task)).map(({ identifier }) => identifier),
    ['X'],
  );
  assertRefused(await catalog.call('DELETE', '/products', { body: ['X', 'Y'] }), 400, start);
  assert.deepEqual(await catalog.list(), ['A']);
});

test('a delete accepts 1 to 10,000 identifiers (§4.6 rule 1, §8)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('P0'), product('A'));
  const identifiers = numbered(10_001).map(({ identifier }) => identifier);
  const over = await catalog.call('DELETE', '/products', { body: { identifiers } });
  assertRefused(over, 400, /10001.*10000/);
  const bad = [
    undefined,
    {},
    [],
    { identifiers: [] },
    { identifiers: 'A' },
    'A',
    ['A', 1],
    ['A', null],
    [['A']],
    [''],
  ];
  for (const body of [...bad, [{ identifier: 'A' }], ['x'.repeat(256)], null, { products: ['A'] }]) {
    assertRefused(await catalog.call('DELETE', '/products', { body: body as object }), 400);
  }
  assert.deepEqual(await catalog.list(), ['A', 'P0']);
  const taken = await catalog.call('DELETE', '/products', { body: identifiers.slice(0, 10_000) });
  const task = await catalog.done(taken);
  assert.deepEqual(await catalog.list(), ['A']);
  assert.equal((await catalog.report(task)).length, 9_999);
});

test('a delete without identifiers is refused with one line on what to send (§4.6 rule 1)', async () => {
  const catalog = await createCatalog(service());
  const send = 'must be object or array: {"identifiers":["A1",…]} or the bare list, 1 to 10000 identifiers';
  for (const [body, message] of [
    [undefined, send],
    ['null', send],
    ['"A"', send],
    [[], send],
    [{}, send],
    [{ identifiers: [] }, '/identifiers must NOT have fewer than 1 items'],
    [{ identifiers: 'A' }, '/identifiers must be array'],
    [['A', 1], '/1 must be string'],
  ] as const) {
    const answer = await catalog.call('DELETE', '/products', { body });
    assertRefused(answer, 400, 'Your body params are not valid');
    assert.deepEqual(answer.body.details, [message]);
  }
});

test('the longest identifiers fit into a delete in any JSON notation (§8)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  const escaped = Array.from({ length: 9_999 }, () => `"${'\\ud83d\\ude00'.repeat(255)}"`).join(',');
  const answer = await catalog.call('DELETE', '/products', { body: `["A",${escaped}]` });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  await catalog.done(answer);
  assert.deepEqual(await catalog.list(), []);
});
