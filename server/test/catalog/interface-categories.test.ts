// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

type Path = readonly string[];

interface Wanted {
  readonly under?: Path;
  readonly limit?: number;
}

function pathOf(projectId: number, query: Readonly<Record<string, string>>): string {
  return `/management/projects/${projectId}/categories?${new URLSearchParams(query)}`;
}

const ask = (catalog: TestCatalog, query: Readonly<Record<string, string>> = {}) =>
  service().call('GET', pathOf(catalog.projectId, query));

/** @returns the paths on each page, once the catalog is indexed */
async function listPages({ projectId }: TestCatalog, { under, limit }: Wanted = {}): Promise<Path[][]> {
  const pages: Path[][] = [];
  for (let cursor = ''; ; ) {
    const query = {
      ...(under && { under: JSON.stringify(under) }),
      ...(limit && { limit: String(limit) }),
      ...(cursor && { cursor }),
    };
    const { status, body } = await service().call('GET', pathOf(projectId, query));
    assert.equal(status, 200, JSON.stringify(body));
    if (!body.isComplete) continue;
    pages.push(body.items.map(({ path }: AnyBody) => path));
    if (body.nextCursor === null) return pages;
    cursor = body.nextCursor;
  }
}

const list = async (catalog: TestCatalog, wanted?: Wanted) => (await listPages(catalog, wanted)).flat();

const product = (identifier: string, ...paths: readonly Path[]) => ({
  identifier,
  name: identifier,
  categories: paths.map((path) => ({ path })),
});

test('the categories of a catalog are listed by path, each parent before its children (§14.3 rule 11)', async () => {
  const catalog = await createCatalog(service());
  assert.deepEqual(await list(catalog), []);
  await catalog.load(
    product('A', ['Tools', 'Drills', 'Small']),
    product('B', ['Tools A'], ['Tools', 'Saws']),
    product('C', ['Sale'], ['Tools', 'Saws']),
    product('D'),
  );
  const all = [
    ['Sale'],
    ['Tools'],
    ['Tools', 'Drills'],
    ['Tools', 'Drills', 'Small'],
    ['Tools', 'Saws'],
    ['Tools A'],
  ];
  assert.deepEqual(await list(catalog), all);
  assert.deepEqual(await list(catalog, { under: ['Tools'] }), all.slice(2, 5));
  assert.deepEqual(await list(catalog, { under: ['Tools', 'Drills'] }), [['Tools', 'Drills', 'Small']]);
  for (const under of [['Sale'], ['Tool'], ['Drills'], ['Tools', 'Drills', 'Small']])
    assert.deepEqual(await list(catalog, { under }), [], under.join());
  assert.deepEqual(
    await list(await createCatalog(service())),
    [],
    'a key does not list those of another project',
  );
});

const STRANGE: readonly Path[] = [
  ['"Quoted" \\ [x]', 'a,b'],
  ['%', '_'],
  ["'"],
  ['A > B', '>'],
  ['A', 'B\u0001', 'C'],
  ['A\u0001\u0001B'],
  ['A\u0002'],
  ['Äpfel', '果物', '😀'],
  ['\ue000'],
  Array.from({ length: 20 }, (_, index) => `${index} ${'ü'.repeat(990)}`),
];

test('category names may contain any characters and are returned unchanged (§14.3 rule 11)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...STRANGE.map((path, index) => product(`P${index}`, path)));
  const above = STRANGE.flatMap((path) => path.map((_, index) => path.slice(0, index + 1)));
  const expected = [...new Map(above.map((path) => [JSON.stringify(path), path])).values()];
  const paths = await list(catalog);
  assert.deepEqual(
    new Set(paths.map((path) => JSON.stringify(path))),
    new Set(expected.map((path) => JSON.stringify(path))),
  );
  assert.equal(paths.length, expected.length);
  assert.deepEqual(await list(catalog, { limit: 1 }), paths, 'one per page, in the same order');
  for (const top of expected.filter((path) => JSON.stringify(path).length < 5_000)) {
    const below = paths.filter(
      (path) => path.length > top.length && top.every((name, index) => path[index] === name),
    );
    assert.deepEqual(await list(catalog, { under: top }), below, JSON.stringify(top).slice(0, 100));
  }
});

test('paging lists every category exactly once (§14.3 rule 11)', async () => {
  const catalog = await createCatalog(service());
  const paths = Array.from({ length: 25 }, (_, index) => [
    'All',
    `${index % 5}`,
    `${String(index).padStart(2, '0')}`,
  ]);
  await catalog.load(...paths.map((path, index) => product(`P${index}`, path)));
  const all = await list(catalog);
  assert.equal(all.length, 1 + 5 + 25);
  const pages = await listPages(catalog, { limit: 4 });
  assert.deepEqual(pages.flat(), all);
  assert.deepEqual(
    pages.map((page) => page.length),
    [4, 4, 4, 4, 4, 4, 4, 3],
  );
  const below = all.filter(([, two, three]) => two === '3' && three !== undefined);
  assert.deepEqual(await listPages(catalog, { under: ['All', '3'], limit: 2 }), [
    below.slice(0, 2),
    below.slice(2, 4),
    below.slice(4),
  ]);
});

test('categories appear and disappear with their products (§14.3 rule 13)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(
    product('A', ['Tools', 'Drills']),
    product('B', ['Tools', 'Saws']),
    product('C', ['Sale']),
  );
  assert.deepEqual(await list(catalog), [['Sale'], ['Tools'], ['Tools', 'Drills'], ['Tools', 'Saws']]);
  await catalog.update(product('A', ['Lamps']));
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['C'] }));
  assert.deepEqual(await list(catalog), [['Lamps'], ['Tools'], ['Tools', 'Saws']]);
  assert.deepEqual(await listPages(catalog, { limit: 1 }), [
    [['Lamps']],
    [],
    [['Tools']],
    [],
    [['Tools', 'Saws']],
  ]);
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual(await list(catalog), [['Lamps'], ['Sale'], ['Tools'], ['Tools', 'Saws']]);
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', { products: [product('A', ['New'])] });
  assert.ok(
    !(await list(catalog)).flat().includes('New'),
    'categories of an open full update are not listed',
  );
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await list(catalog), [['New']]);
});

test('a category whose products were removed is still listed only if it had over 5,000 of them (§14.3 rule 13)', async () => {
  const catalog = await createCatalog(service());
  const many = (name: string, count: number, category: string) =>
    Array.from({ length: count }, (_, index) => product(`${name}${index}`, [category]));
  await catalog.load(...many('F', 100, 'Few'), ...many('M', 5_100, 'Many'));
  assert.deepEqual(await list(catalog), [['Few'], ['Many']]);
  await catalog.load(product('NEW', ['Sale']));
  assert.deepEqual(await list(catalog), [['Many'], ['Sale']]);
});

test('each page skips categories without products in a catalog of many categories (§14.3 rule 13)', async () => {
  const catalog = await createCatalog(service());
  const names = Array.from({ length: 300 }, (_, index) => `C${String(index).padStart(3, '0')}`);
  const gone = Array.from({ length: 30_000 }, (_, index) =>
    product(`P${index}`, [names[index % names.length] ?? '']),
  );
  await catalog.load(...gone, product('A', ['B']), product('Z', ['Z']));
  assert.equal((await list(catalog, { limit: 1000 })).length, 302);
  await catalog.load(product('A', ['B']), product('Z', ['Z']));
  const pages = await listPages(catalog, { limit: 100 });
  assert.deepEqual(pages.flat(), [['B'], ['Z']]);
  assert.equal(pages.length, 4);
});

test('an unreadable category is refused, and a name that no product has finds no products (§14.3 rule 9)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['Tools', '\ufffd']));
  for (const [query, part] of [
    [{ under: 'Tools' }, '["Tools","Drills"]'],
    [{ under: '[]' }, '/under must be a JSON list of 1 to 20'],
    [{ under: '{"a":1}' }, '/under'],
    [{ under: '["a",1]' }, '/under'],
    [{ under: JSON.stringify(Array(21).fill('x')) }, '/under'],
    [{ limit: '0' }, '/limit'],
    [{ limit: '1001' }, '/limit'],
  ] as const) {
    const answer = await ask(catalog, query);
    assertRefused(answer, 400, 'Your query params are not valid');
    assert.ok(answer.body.details.join().includes(part), JSON.stringify(answer.body));
  }
  for (const under of ['["\\u0000"]', '["Tools","\\ud800"]'])
    assert.deepEqual((await ask(catalog, { under })).body.items, [], under);
  assertRefused(await ask(catalog, { under: '', cursor: 'AAAA_-8' }), 400, 'Your query params are not valid');
});

test('a key lists the categories of its own project only (§14.1)', async () => {
  const [own, other] = [await createCatalog(service()), await createCatalog(service())];
  const makeKey = async (access: string) => {
    const body = { name: 'k', scope: { type: 'project', id: own.projectId }, access };
    return (await service().call('POST', '/management/api-keys', { body })).body.key;
  };
  const key = await makeKey('manage');
  const by = (key: string | null, { projectId }: TestCatalog) =>
    service().call('GET', pathOf(projectId, {}), { key });
  assert.equal((await by(key, own)).status, 200);
  assertRefused(await by(key, other), 404);
  assertRefused(await by(await makeKey('write'), own), 401);
  assertRefused(await by(null, own), 401);
  assertRefused(await service().call('GET', pathOf(4_711, {})), 404);
});
