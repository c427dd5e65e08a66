// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';
import { startTestService, type TestProduct } from '../support/test-service.ts';

const service = shareService();

const product = (identifier: string, name: string, values: Record<string, string> = {}): TestProduct => ({
  identifier,
  name,
  attributes: Object.entries(values).map(([key, value]) => ({ key, value })),
});
const within = (path: readonly string[], product: TestProduct): TestProduct => ({
  ...product,
  categories: [{ path }],
});

const TOOLS = [
  within(
    ['Tools', 'Drills'],
    product('DR-100', 'Cordless drill', { Brand: 'Bösch', Power: '18 V', Weight: '1.5 kg' }),
  ),
  within(
    ['Tools', 'Drills'],
    product('DR-200', 'Hammer drill', { Brand: 'Makita', Power: '230 V', Weight: '2.5 kg' }),
  ),
  within(['Accessories'], product('EX-7', 'Drill bits', { Brand: 'Bösch', Set: 'yes' })),
  within(
    ['Tools', 'Saws'],
    product('SA-1', 'Jig saw', { Brand: 'Makita', Power: '18 V', Use: 'for drilling jigs' }),
  ),
];

type Asked = Record<string, string | number | object>;

async function ask(catalog: TestCatalog, search: Asked) {
  const query = Object.entries(search).map(
    ([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : String(value)] as const,
  );
  return catalog.call(
    'GET',
    `/search/products?${new URLSearchParams(query.map((parameter) => [...parameter]))}`,
  );
}

async function find(catalog: TestCatalog, search: Asked): Promise<string[]> {
  const { status, body } = await ask(catalog, search);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.isTotalExact, true);
  if (search.limit === undefined) assert.equal(body.total, body.items.length);
  return body.items.map(({ identifier }: { identifier: string }) => identifier);
}

async function fill(products: readonly TestProduct[] = TOOLS): Promise<TestCatalog> {
  const catalog = await createCatalog(service());
  await catalog.load(...products);
  return catalog;
}

test('each word is found by its beginning, in any order, ignoring case and accents (§4.13 rules 2 and 3)', async () => {
  const catalog = await fill();
  assert.deepEqual(await find(catalog, { q: 'drill' }), ['DR-100', 'DR-200', 'EX-7', 'SA-1']);
  assert.deepEqual(await find(catalog, { q: 'BOSCH Drill' }), ['DR-100', 'EX-7']);
  assert.deepEqual(await find(catalog, { q: 'drill bösch' }), ['DR-100', 'EX-7']);
  assert.deepEqual(await find(catalog, { q: 'dri bos' }), ['DR-100', 'EX-7']);
  assert.deepEqual(await find(catalog, { q: 'bosch cordl' }), ['DR-100']);
  assert.deepEqual(await find(catalog, { q: 'dr 200' }), ['DR-200']);
  assert.deepEqual(await find(catalog, { q: 'dr200' }), ['DR-200'], 'an identifier without its signs');
  assert.deepEqual(await find(catalog, { q: 'nothing' }), []);
  assert.deepEqual((await find(catalog, {})).length, 4);
  assert.deepEqual(await find(catalog, { q: '"*\' & | ! : ~ <-> NOT AND' }), [], 'signs mean nothing');
});

test('long beginnings are found in one, few and many words (§4.13 rule 3)', async () => {
  const many = Array.from('abcdefghijkl', (end) => product(`C-${end}`, `Fernsehsessel${end}`));
  const catalog = await fill([
    ...many,
    product('M-1', 'Waschmaschine', { Brand: 'Łódźwerkstatt' }),
    product('M-2', 'Cover', { Fits: 'Waschmaschinen' }),
  ]);
  const chairs = many.map(({ identifier }) => identifier);
  assert.deepEqual(await find(catalog, { q: 'fernsehs' }), chairs);
  assert.deepEqual(await find(catalog, { q: 'fernsehsesself' }), [
    'C-f',
    ...chairs.filter((chair) => chair !== 'C-f'),
  ]);
  assert.deepEqual(await find(catalog, { q: 'waschmas' }), ['M-1', 'M-2']);
  assert.deepEqual(await find(catalog, { q: 'waschmas waschmas' }), ['M-1', 'M-2']);
  assert.deepEqual(await find(catalog, { q: 'lodzwerks waschmaschin' }), ['M-1']);
  assert.deepEqual(await find(catalog, { q: 'waschmaschinenfuss' }), []);
  await catalog.update(product('M-3', 'Waschmaschinenfuß'));
  assert.deepEqual(await find(catalog, { q: 'waschmas' }), ['M-1', 'M-3', 'M-2']);
  assert.deepEqual(await find(catalog, { q: 'waschmaschinenfuss' }), ['M-3']);
});

test('characters of four bytes are found by their beginnings and as whole values (§4.13 rules 3 and 5)', async () => {
  const catalog = await fill([
    within(['𐌰𐌱', 'Tools'], product('G-1', '𐌰𐌱𐌲 drill', { 𐌺: '𐌻𐌼' })),
    product('G-2', '𐌰𐌳𐌲 drill', { 𐌺: '𐌻' }),
  ]);
  assert.deepEqual(await find(catalog, { q: '𐌰' }), ['G-1', 'G-2']);
  assert.deepEqual(await find(catalog, { q: '𐌰𐌱' }), ['G-1']);
  assert.deepEqual(await find(catalog, { q: '𐌰𐌱𐌲' }), ['G-1']);
  assert.deepEqual(await find(catalog, { q: '𐌻' }), ['G-1', 'G-2']);
  assert.deepEqual(await find(catalog, { filter: '"𐌺" = "𐌻"' }), ['G-2']);
  assert.deepEqual(await find(catalog, { q: '𐌰', filter: { category: ['𐌰𐌱'] } }), ['G-1']);
});

test('an identifier match ranks first, then words in identifier, name and brand, then words in all values (§4.13 rule 4)', async () => {
  const catalog = await fill([
    product('1', 'Case', { Fits: 'X9' }),
    product('2', 'X9 case'),
    product('3', 'X90 cover'),
    product('X9', 'Camera'),
  ]);
  assert.deepEqual(await find(catalog, { q: 'x9' }), ['X9', '2', '3', '1']);
});

test('a search accepts the filters of relations, or a filter written as a line (§4.13 rule 5)', async () => {
  const catalog = await fill();
  const heavy = { attribute: 'Weight', operator: 'greater', value: 2 };
  assert.deepEqual(await find(catalog, { filter: heavy }), ['DR-200']);
  assert.deepEqual(await find(catalog, { filter: 'Weight > 2' }), ['DR-200']);
  assert.deepEqual(await find(catalog, { filter: 'Weight > 1200 g and Brand = Makita' }), ['DR-200']);
  assert.deepEqual(await find(catalog, { filter: '"Brand" = "Makita" and Power <= 18' }), ['SA-1']);
  assert.deepEqual(await find(catalog, { filter: { any: [heavy, { category: ['Accessories'] }] } }), [
    'DR-200',
    'EX-7',
  ]);
  assert.deepEqual(await find(catalog, { filter: { not: { category: ['Tools'] } } }), ['EX-7']);
  assert.deepEqual(await find(catalog, { filter: 'Set' }), ['EX-7'], 'a name alone: has a value');
  assert.deepEqual(await find(catalog, { filter: 'Brand ~ makit', q: 'drill' }), ['DR-200', 'SA-1']);
  assert.deepEqual(
    await find(catalog, { filter: { attribute: 'Brand', operator: 'in', value: ['Bösch', 'X'] } }),
    ['DR-100', 'EX-7'],
  );
  assert.deepEqual(await find(catalog, { filter: { identifiers: ['SA-1', 'gone'] } }), ['SA-1']);
  assert.deepEqual(await find(catalog, { category: ['Tools'], q: 'drill' }), ['DR-100', 'DR-200', 'SA-1']);
  assert.deepEqual(await find(catalog, { category: ['Tools', 'Saws'] }), ['SA-1']);
});

test('hits are sorted by an attribute, with hits that lack it last, in pages (§4.13 rule 6)', async () => {
  const catalog = await fill();
  assert.deepEqual(await find(catalog, { sort: 'Weight' }), ['DR-100', 'DR-200', 'EX-7', 'SA-1']);
  assert.deepEqual(await find(catalog, { sort: 'Weight:desc' }), ['DR-200', 'DR-100', 'EX-7', 'SA-1']);
  for (const sort of ['relevance', 'Weight:desc']) {
    const whole = await find(catalog, { q: 'drill', sort });
    const paged: string[] = [];
    for (let cursor = ''; cursor !== 'end'; ) {
      const { body } = await ask(catalog, { q: 'drill', sort, limit: 1, ...(cursor && { cursor }) });
      assert.equal(body.total, 4);
      paged.push(...body.items.map(({ identifier }: { identifier: string }) => identifier));
      cursor = body.nextCursor ?? 'end';
    }
    assert.deepEqual(paged, whole);
  }
});

test('facets show the values of the hits with counts and ranges (§4.13 rule 7)', async () => {
  const catalog = await fill();
  const { body } = await ask(catalog, { q: 'drill', category: ['Tools'], limit: 1 });
  assert.equal(body.facetsOf, 3);
  const byName = new Map(body.facets.map((facet: { attribute: string }) => [facet.attribute, facet]));
  assert.deepEqual(byName.get('Brand'), {
    attribute: 'Brand',
    type: 'TEXT_ATTRIBUTE',
    count: 3,
    values: [
      { value: 'Makita', count: 2 },
      { value: 'Bösch', count: 1 },
    ],
  });
  const weight = byName.get('Weight') as { min: number; max: number; unitName: string };
  assert.deepEqual([weight.min, weight.max, weight.unitName], [1.5, 2.5, 'kg']);
});

test('a search answers with the current catalog after any change (§4.13 rule 8)', async () => {
  const catalog = await fill();
  assert.deepEqual(await find(catalog, { q: 'saw' }), ['SA-1']);
  await catalog.update(product('SA-1', 'Scroll machine'), product('SA-2', 'Saw blade'));
  assert.deepEqual(await find(catalog, { q: 'saw' }), ['SA-2']);
  await catalog.patch({ identifier: 'SA-2', attributes: { Brand: 'Felder' } });
  assert.deepEqual(await find(catalog, { q: 'felder blade' }), ['SA-2']);
  await catalog.done(await catalog.post('/products/delete', { identifiers: ['SA-2'] }));
  assert.deepEqual(await find(catalog, { q: 'felder' }), []);
  await catalog.load(product('NEW', 'Band saw'));
  assert.deepEqual(await find(catalog, {}), ['NEW']);
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual(await find(catalog, { q: 'drill' }), ['DR-100', 'DR-200', 'EX-7']);
  const many = Array.from({ length: 2_500 }, (_, index) => product(`N${index}`, `Nail ${index}`));
  await catalog.update(...many);
  assert.equal((await ask(catalog, { q: 'nail' })).body.total, 2_500);
  assert.deepEqual(await find(catalog, { q: 'nail 2499' }), ['N2499']);
});

/** A service whose index can be paused; its searches wait only a moment for it. */
async function startHeld(t: TestContext, searchWaitMs = HELD_WAIT_MS) {
  const held = { walk: Promise.resolve() };
  const steps = { begun: 0, completed: 0 };
  const lagging = await startTestService(t, {
    replace: {
      searchWaitMs,
      searchStore: (real) => ({
        ...real,
        async walkSearch(projectId, walked) {
          steps.begun += 1;
          await held.walk;
          const step = await real.walkSearch(projectId, walked);
          if (step.isComplete) steps.completed += 1;
          return step;
        },
      }),
    },
  });
  const products = `/management/projects/${lagging.projectId}/products`;
  return {
    lagging,
    steps,
    search: async (q: string) => (await lagging.call('GET', `/search/products?q=${q}`)).body,
    list: (query: string) => lagging.call('GET', `${products}?format=table&${query}`),
    categories: () => lagging.call('GET', `/management/projects/${lagging.projectId}/categories`),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.walk = promise;
      return resolve;
    },
  };
}

const HELD_WAIT_MS = 300;
const LONG_WAIT_MS = 60_000;

test('a first search that waits too long for its index returns a part, and calls that need all hits are refused (§4.13 rule 8, §14.3 rules 7 and 12)', async (t) => {
  const { lagging, list, categories, hold } = await startHeld(t);
  await lagging.loadCatalog([within(['Tools'], product('A', 'Drill'))]);
  const release = hold();
  const begun = performance.now();
  const first = await lagging.call('GET', '/search/products?q=drill');
  assert.ok(performance.now() - begun >= HELD_WAIT_MS - 1, 'the search waits for the index');
  const { partial, isComplete, isTotalExact, nextCursor, items } = first.body;
  assert.deepEqual([partial, isComplete, isTotalExact, nextCursor], [true, false, false, null]);
  assert.deepEqual(
    items.map(({ identifier }: { identifier: string }) => identifier),
    ['A'],
  );
  for (const answer of [await list('q=drill'), await list('category=["Tools"]'), await categories()]) {
    assertRefused(answer, 503);
    assert.equal(answer.body.reason, 'search_not_ready');
    assert.equal(answer.headers.get('retry-after'), '2');
    assert.deepEqual(answer.body.details, ['0 of all product versions are in the index']);
  }
  release();
  let answer = await list('q=drill');
  for (; answer.status === 503; answer = await list('q=drill')) await setTimeout(50);
  assert.deepEqual(
    answer.body.items.map(({ identifier }: { identifier: string }) => identifier),
    ['A'],
  );
  assert.deepEqual((await categories()).body, {
    items: [{ path: ['Tools'] }],
    nextCursor: null,
    isComplete: true,
  });
});

test('a first search over many products returns a part immediately, and all hits once the index is complete (§4.13 rule 8)', async (t) => {
  const { lagging, search, hold } = await startHeld(t, LONG_WAIT_MS);
  const nails = Array.from({ length: 5_100 }, (_, index) => product(`N${index}`, `Nail ${index}`));
  await lagging.loadCatalog([product('AB-1', 'Röhrenzange'), product('12-345-67', 'Pliers'), ...nails]);
  const release = hold();
  const begun = performance.now();
  const findIdentifiers = async (q: string) => {
    const { items, partial, nextCursor } = await search(q);
    return [items.map(({ identifier }: { identifier: string }) => identifier), partial, nextCursor];
  };
  for (const words of ['rohrenz', 'ab1', encodeURIComponent('RÖHRENZANGE ab 1')])
    assert.deepEqual(await findIdentifiers(words), [['AB-1'], true, null], words);
  assert.deepEqual(await findIdentifiers('123+4567'), [['12-345-67'], true, null]);
  assert.equal((await search('nail')).items.length, 20);
  const shop = await lagging.call('GET', '/search?query=nail');
  assert.deepEqual([shop.body.partial, shop.body.searchResults[0].results.length], [true, 20]);
  assert.ok(performance.now() - begun < LONG_WAIT_MS, 'the search does not wait for the index');
  release();
  let body = await search('nail');
  for (; body.partial; body = await search('nail')) await setTimeout(50);
  assert.deepEqual([body.total, body.isComplete], [5_100, true]);
});

test('in a project that is searched, the first full update starts the index without another search (§4.13 rule 8)', async (t) => {
  const { lagging, steps, search, hold } = await startHeld(t, LONG_WAIT_MS);
  assert.deepEqual((await search('nail')).items, []);
  const ofNothing = { ...steps };
  const release = hold();
  await lagging.loadCatalog(
    Array.from({ length: 5_100 }, (_, index) => product(`N${index}`, `Nail ${index}`)),
  );
  while (steps.begun === ofNothing.begun) await setTimeout(20);
  const part = await search('nail');
  assert.deepEqual([part.partial, part.isComplete, part.items.length], [true, false, 20]);
  release();
  while (steps.completed === ofNothing.completed) await setTimeout(20);
  const whole = await search('nail');
  assert.deepEqual([whole.partial, whole.isComplete, whole.total], [undefined, true, 5_100]);
});

test('an index that is far behind shows no outdated hits and reports that hits may be missing (§4.13 rule 8, §14.3 rules 7 and 12)', async (t) => {
  const { lagging, search, list, categories, hold } = await startHeld(t);
  const identifiersOf = (body: { items: { identifier: string }[] }) =>
    body.items.map(({ identifier }) => identifier);
  await lagging.loadCatalog([within(['Tools'], product('A', 'Drill one')), product('B', 'Drill two')]);
  assert.deepEqual(identifiersOf(await search('drill')), ['A', 'B']);
  const release = hold();
  const staplers = Array.from({ length: 10_100 }, (_, index) =>
    within(['Office'], product(`S${index}`, 'Stapler')),
  );
  await lagging.loadCatalog([
    within(['Tools'], product('A', 'Hammer')),
    product('B', 'Drill 2'),
    product('C', 'Drill'),
    ...staplers,
  ]);
  const lacking = await search('drill');
  assert.deepEqual([identifiersOf(lacking), lacking.isComplete, lacking.isTotalExact], [['B'], false, false]);
  assert.deepEqual(identifiersOf(await search('hammer')), []);
  const { items, isComplete } = (await categories()).body;
  assert.deepEqual([items, isComplete], [[{ path: ['Tools'] }], false]);
  const refused = await list('q=drill');
  assertRefused(refused, 503);
  assert.equal(refused.body.reason, 'search_not_ready', 'a complete list');
  release();
  let body = await search('drill');
  for (; !body.isComplete; body = await search('drill')) await setTimeout(100);
  assert.deepEqual([identifiersOf(body).toSorted(), body.total], [['B', 'C'], 2]);
  assert.deepEqual(identifiersOf(await search('hammer')), ['A']);
  assert.deepEqual(identifiersOf((await list('q=drill')).body).toSorted(), ['B', 'C']);
  assert.deepEqual((await categories()).body.items, [{ path: ['Office'] }, { path: ['Tools'] }]);
});

test('a project finds only its own products, and the address for people gives the same answer (§4.13 rule 1)', async () => {
  const [firstCatalog, other] = [await fill(), await fill([product('Z', 'Drill stand')])];
  assert.deepEqual(await find(other, { q: 'drill' }), ['Z']);
  const { body: key } = await service().call('POST', '/management/api-keys', {
    body: { name: 'Shop', scope: { type: 'project', id: other.projectId }, access: 'read' },
  });
  const path = '/search/products?q=drill';
  assert.equal((await service().call('GET', path, { key: key.key })).body.items[0].identifier, 'Z');
  assertRefused(
    await service().call('GET', `${path}&projectId=${firstCatalog.projectId}`, { key: key.key }),
    401,
  );
  const below = `/management/projects/${firstCatalog.projectId}/products/search?q=drill`;
  assert.deepEqual((await service().call('GET', below)).body, (await ask(firstCatalog, { q: 'drill' })).body);
});

test('an invalid search is refused with the fault and its place (§4.13 rule 9)', async () => {
  const catalog = await fill();
  const refused: [Asked, RegExp][] = [
    [{ q: 'w '.repeat(17) }, /17 words, but at most 16/],
    [{ q: 'w'.repeat(501) }, /\/q must NOT have more than 500/],
    [{ filter: '{"attribute":' }, /filter must be a filter as JSON/],
    [{ filter: { attribute: 'Weight', operator: 'near', value: 1 } }, /operator must be equal to one of/],
    [{ filter: 'Colour = red' }, /there is no attribute "Colour"/],
    [{ filter: 'Weight > heavy' }, /"heavy" does not fit/],
    [{ sort: 'Colour' }, /there is no attribute "Colour"/],
    [{ category: 'Tools' }, /JSON list/],
    [{ limit: 101 }, /limit must be <= 100/],
    [{ cursor: 'x' }, /nextCursor/],
    [{ filter: '"'.repeat(5_000) }, /filter must be a filter as JSON/],
    [{ filter: 'a and '.repeat(2_000) }, /filter/],
  ];
  for (const [search, why] of refused) {
    const answer = await ask(catalog, search);
    assertRefused(answer, 400, 'Your query params are not valid');
    assert.match(answer.body.details.join(), why);
  }
});
