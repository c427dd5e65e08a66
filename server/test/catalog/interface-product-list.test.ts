// runs: test, postgres deep, citus long, slow
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

type Parameters = Readonly<Record<string, string | number | readonly string[]>>;

function pathOf({ projectId }: TestCatalog, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const element of [value].flat()) query.append(name, String(element));
  return `/management/projects/${projectId}/products?${query}`;
}

const list = (catalog: TestCatalog, parameters: Parameters) =>
  service().call('GET', pathOf(catalog, parameters));

/** @returns the products of all pages, and the number of pages */
async function listAll(
  catalog: TestCatalog,
  parameters: Parameters,
): Promise<{ items: AnyBody[]; pages: number }> {
  const items: AnyBody[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const { status, body } = await list(catalog, { ...parameters, ...(cursor !== null && { cursor }) });
    assert.equal(status, 200, JSON.stringify(body));
    items.push(...body.items);
    cursor = body.nextCursor;
    if (cursor === null) return { items, pages };
  }
}

const identifiersOf = (items: readonly AnyBody[]): string[] => items.map(({ identifier }) => identifier);

async function find(catalog: TestCatalog, parameters: Parameters): Promise<string[]> {
  return identifiersOf((await listAll(catalog, { format: 'table', ...parameters })).items);
}

const category = (...path: string[]) => JSON.stringify(path);
const inCategory = (identifier: string, ...paths: string[]) => ({
  identifier,
  name: identifier,
  categories: paths.map((path) => ({ path: path.split('/') })),
});

test('the table form of a product has exactly the fields that a table needs (§14.3 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(
    {
      identifier: 'A',
      name: 'Drill ,"attributes":[',
      groupIdentifier: 'G',
      images: [
        { url: 'https://shop.example/s.jpg', type: 'SMALL' },
        { url: 'https://shop.example/l.jpg', type: 'LARGE' },
      ],
      categories: [
        { path: ['Sale'], priority: 5 },
        { path: ['Tools', 'Drills'], priority: 1 },
      ],
      attributes: [{ key: 'Length', value: '5' }],
    },
    { identifier: 'B', name: 'B', images: [{ url: 'https://shop.example/b.jpg', type: 'THUMB' }] },
    { identifier: 'C', name: 'Ünïcode 😀' },
  );
  const [a, b, c] = await catalog.find('A', 'B', 'C');
  const { body } = await list(catalog, { format: 'table' });
  const shown = (of: AnyBody, rest: object) => ({ id: of.id, lastUpdateTs: of.lastUpdateTs, ...rest });
  assert.deepEqual(body, {
    items: [
      shown(a, {
        identifier: 'A',
        groupId: 'G',
        name: 'Drill ,"attributes":[',
        image: 'https://shop.example/l.jpg',
        thumbnail: 'https://shop.example/s.jpg',
        category: ['Tools', 'Drills'],
      }),
      shown(b, {
        identifier: 'B',
        groupId: 'B',
        name: 'B',
        image: 'https://shop.example/b.jpg',
        thumbnail: 'https://shop.example/b.jpg',
        category: [],
      }),
      shown(c, { identifier: 'C', groupId: 'C', name: 'Ünïcode 😀', image: '', thumbnail: '', category: [] }),
    ],
    nextCursor: null,
  });
});

const PREFIXED = [
  '10%',
  '1000',
  '10_0',
  'A',
  'AB',
  'a',
  'Ä',
  'Äb',
  '\u{d7ff}x',
  '\u{e000}',
  '😀1',
  '😀2',
  '\u{10ffff}x',
];
for (const format of ['table', 'json']) {
  test(`identifiers that begin exactly with a prefix are listed in pages: ${format} (§14.3 rule 5)`, async () => {
    const catalog = await createCatalog(service());
    await catalog.load(...PREFIXED.map((identifier) => ({ identifier, name: 'x' })));
    for (const identifierPrefix of [
      '1',
      '10',
      '10%',
      'A',
      'AB',
      'a',
      'Ä',
      '\u{d7ff}',
      '😀',
      '\u{10ffff}',
      'Z',
      '',
    ]) {
      const { items } = await listAll(catalog, { format, identifierPrefix, limit: 2 });
      const expected = PREFIXED.filter((identifier) => identifier.startsWith(identifierPrefix));
      assert.deepEqual(identifiersOf(items).toSorted(), expected.toSorted(), identifierPrefix);
    }
  });
}

test('a category lists the products of its subcategories, in pages, and follows every change (§14.3 rule 6)', async () => {
  const catalog = await createCatalog(service());
  const under = (...path: string[]) => find(catalog, { category: category(...path), limit: 2 });
  assert.deepEqual(await under('Tools'), []);
  await catalog.load(
    inCategory('A', 'Tools/Drills'),
    inCategory('B', 'Tools/Drills/Small', 'Tools/Sale', 'Sale'),
    inCategory('C', 'Tools'),
    inCategory('D', 'Toolsets'),
    inCategory('E'),
  );
  assert.deepEqual((await under('Tools')).toSorted(), ['A', 'B', 'C']);
  assert.deepEqual((await under('Tools', 'Drills')).toSorted(), ['A', 'B']);
  assert.deepEqual(await under('Drills'), []);
  await catalog.update(inCategory('A', 'Sale'), inCategory('F', 'Tools/Drills'));
  await catalog.patch({ identifier: 'C', name: 'other' });
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['B'] }));
  assert.deepEqual((await under('Tools')).toSorted(), ['C', 'F']);
  assert.deepEqual(await under('Sale'), ['A']);
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual((await under('Tools')).toSorted(), ['B', 'C', 'F']);
  await catalog.load(inCategory('G', 'Tools'));
  assert.deepEqual(await under('Tools'), ['G']);
  const { items } = (await list(catalog, { category: category('Tools') })).body;
  assert.deepEqual(items[0].categories, [{ path: ['Tools'] }], 'in upload shape without format=table');
});

test('no list contains products of an open full update (§3.1, §14.3 rule 6)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(inCategory('A', 'Tools'));
  assert.deepEqual(await find(catalog, { category: category('Tools') }), ['A']);
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', {
    products: [inCategory('A', 'Sale'), inCategory('B', 'Tools')],
  });
  assert.deepEqual(await find(catalog, { category: category('Tools') }), ['A']);
  assert.deepEqual(await find(catalog, { category: category('Sale') }), []);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await find(catalog, { category: category('Tools') }), ['B']);
  assert.deepEqual(await find(catalog, { category: category('Sale') }), ['A']);
});

const LIGHTS = [
  { identifier: 'L1', name: 'Desk LAMP', attributes: [{ key: 'Colour', value: 'Dark red' }] },
  { identifier: 'L2', name: 'lamp shade', attributes: [{ key: 'Farbe', value: 'red' }] },
  {
    identifier: 'L3',
    name: 'Candle',
    categories: [{ path: ['Lamps'] }],
    attributes: [
      { key: 'Colour', value: 'blue' },
      { key: 'Size', value: '12 cm' },
    ],
  },
  { identifier: 'M4', name: 'Lamp', attributes: [{ key: 'Size', value: '12 in' }] },
];

const FILTERS: readonly { filter: Parameters; identifiers: string[]; why: string }[] = [
  { filter: { q: 'lamp' }, identifiers: ['L1', 'L2', 'M4'], why: 'a word of the name, in any case' },
  { filter: { q: 'red' }, identifiers: ['L1', 'L2'], why: 'a word of a value' },
  { filter: { q: 'lamp', category: category('Lamps') }, identifiers: [], why: 'nothing fits both' },
  { filter: { filter: 'Colour' }, identifiers: ['L1', 'L2', 'L3'], why: 'any value, by synonym too' },
  { filter: { filter: 'Colour ~ RED' }, identifiers: ['L1', 'L2'], why: 'a part of the value, in any case' },
  { filter: { filter: 'Farbe ~ red' }, identifiers: ['L1', 'L2'], why: 'a synonym means its attribute' },
  { filter: { filter: 'Colour = blue' }, identifiers: ['L3'], why: 'the whole value' },
  { filter: { filter: 'Colour ~ b and Size ~ 12' }, identifiers: ['L3'], why: 'all of them hold' },
  { filter: { filter: 'Size ~ 12', category: category('Lamps') }, identifiers: ['L3'], why: 'in a category' },
  { filter: { filter: 'Size ~ 12', q: 'lamp' }, identifiers: ['M4'], why: 'words and values' },
  { filter: { filter: 'Weight' }, identifiers: [], why: 'no product has it' },
];
for (const { filter, identifiers, why } of FILTERS) {
  test(`${JSON.stringify(filter)} finds ${identifiers.join(', ') || 'nothing'}: ${why} (§14.3 rule 6)`, async () => {
    const catalog = await createCatalog(service());
    const attributes = [
      { name: 'Colour', type: 'TEXT_ATTRIBUTE', synonyms: ['Farbe'] },
      { name: 'Size', type: 'TEXT_ATTRIBUTE' },
      { name: 'Weight', type: 'TEXT_ATTRIBUTE' },
    ];
    await service().call('PUT', `/management/projects/${catalog.projectId}/ontology`, {
      body: { mode: 'own', attributes },
    });
    await catalog.load(...LIGHTS);
    for (const limit of [1, 100]) assert.deepEqual(await find(catalog, { ...filter, limit }), identifiers);
    const uploads = (await listAll(catalog, { ...filter, limit: 2 })).items;
    const sent = LIGHTS.filter(({ identifier }) => identifiers.includes(identifier));
    assert.deepEqual(
      uploads.map(({ identifier, attributes: sentValues }) => ({ identifier, attributes: sentValues })),
      sent.map(({ identifier, attributes: sentValues }) => ({ identifier, attributes: sentValues })),
      'in upload shape without format=table',
    );
  });
}

const MANY = Array.from({ length: 21_000 }, (_, index) => ({
  identifier: `P${String(index).padStart(5, '0')}`,
  name: index === 20_500 ? 'the needle' : index % 1_000 === 0 ? 'a thousandth' : 'hay',
  categories: [{ path: ['Farm', index === 20_500 ? 'Barn' : 'Field'] }],
}));

test('paging returns every hit exactly once (§14.3 rule 6)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...MANY);
  const everything = await listAll(catalog, { category: category('Farm'), format: 'table', limit: 1000 });
  assert.deepEqual(identifiersOf(everything.items), identifiersOf(MANY), 'in the order of upload');
  // A page also ends after a time, so a busy machine has more pages.
  assert.ok(everything.pages >= 21, `${everything.pages} pages`);
  const thousandths = identifiersOf(MANY.filter(({ name }) => name === 'a thousandth'));
  assert.deepEqual(await find(catalog, { q: 'thousandth', limit: 5 }), thousandths);
  assert.deepEqual(await find(catalog, { q: 'needle' }), ['P20500']);
  assert.deepEqual(await find(catalog, { category: category('Farm', 'Barn') }), ['P20500']);
});

test('an unreadable filter is refused with an example (§14.3 rule 9)', async () => {
  const catalog = await createCatalog(service());
  for (const [parameters, part] of [
    [{ category: 'Tools' }, '["Tools","Drills"]'],
    [{ category: '[]' }, '1 to 20'],
    [{ category: '[1]' }, '/category'],
    [{ category: JSON.stringify(Array(21).fill('x')) }, '/category'],
    [{ filter: 'Length' }, 'there is no attribute "Length"'],
    [{ filter: '{' }, '/filter must be'],
    [{ q: 'x', cursor: 'AAAA' }, '/cursor must be the nextCursor'],
    [{ q: 'x', identifierPrefix: 'A' }, 'send identifierPrefix without q, filter and category'],
    [{ name: 'x' }, '/name'],
    [{ attribute: '["Length","in"]' }, '/attribute'],
    [{ format: 'xml' }, '/format'],
    [{ identifierPrefix: 'A\0' }, '/identifierPrefix'],
    [{ format: 'ndjson', q: 'x' }, 'send q without format=ndjson'],
    [{ limit: 0 }, '/limit'],
  ] as const) {
    const answer = await list(catalog, parameters as Parameters);
    assertRefused(answer, 400, 'Your query params are not valid');
    assert.ok(answer.body.details.join().includes(part), JSON.stringify(answer.body));
  }
  const empty = { q: '', filter: '', category: '', identifierPrefix: '', name: '', attribute: '' };
  assert.equal((await list(catalog, empty)).status, 200);
});

test('a page skips product versions that no longer exist (§14.3 rule 6)', async () => {
  const catalog = await createCatalog(service());
  const tools = (name: string) =>
    Array.from({ length: 6_000 }, (_, index) => ({ ...inCategory(`T${index}`, 'Tools'), name }));
  await catalog.load(...tools('first'));
  assert.equal((await find(catalog, { category: category('Tools'), limit: 1000 })).length, 6_000);
  await catalog.load(
    ...tools('second').map((tool) => ({ ...tool, categories: [{ path: ['Sale'] }] })),
    inCategory('NEW', 'Tools'),
  );
  const { items, pages } = await listAll(catalog, { category: category('Tools'), format: 'table' });
  assert.deepEqual(identifiersOf(items), ['NEW']);
  assert.ok(pages <= 2, `${pages} pages`);
  assert.equal((await find(catalog, { category: category('Sale'), limit: 1000 })).length, 6_000);
});
