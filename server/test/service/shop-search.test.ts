// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';
import type { TestProduct } from '../support/test-service.ts';

/**
 * The search of shop connectors (§4.14): each sends the requests of its plug-in and reads the fields that the plug-in
 * reads.
 */
const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type Read = any;

const product = (
  identifier: string,
  name: string,
  { group = identifier, path = ['Tools', 'Drills'], ...values }: Record<string, string | string[]> = {},
): TestProduct => ({
  identifier,
  groupIdentifier: String(group),
  name,
  categories: [{ path: path as string[] }],
  productUrl: `https://shop.example/${identifier}`,
  images: [{ url: `https://shop.example/${identifier}.jpg`, type: 'LARGE' }],
  attributes: Object.entries(values).map(([key, value]) => ({ key, value: String(value) })),
});

const DRILLS = [
  product('D1-A', 'Cordless drill small', {
    group: 'D1',
    Brand: 'Makita',
    Price: '99.00 EUR',
    Weight: '1.5 kg',
  }),
  product('D1-B', 'Cordless drill large', {
    group: 'D1',
    Brand: 'Makita',
    Price: '149.00 EUR',
    Weight: '2.5 kg',
  }),
  product('D2', 'Hammer drill', { Brand: 'Metabo', Price: '49.00 EUR', Weight: '3 kg' }),
  product('S1', 'Keyboard stand', { path: ['Office'], Brand: 'Metabo', Price: '20.00 EUR' }),
];

async function fill(products: readonly TestProduct[] = DRILLS): Promise<TestCatalog> {
  const catalog = await createCatalog(service());
  await catalog.load(...products);
  return catalog;
}

async function search(catalog: TestCatalog, sent: Readonly<Record<string, string>>): Promise<Read> {
  const { status, body } = await catalog.call('GET', `/search?${new URLSearchParams(sent)}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const groupsOf = ({ searchResults: [products] }: Read): string[][] =>
  products.results.map((group: Read[]) => group.map(({ identifier }) => identifier));

test('groups are counted and paged, with their best hit first (§4.14 rules 3 and 4)', async () => {
  const catalog = await fill();
  const answer = await search(catalog, { query: 'drill' });
  assert.deepEqual(groupsOf(answer), [['D1-A', 'D1-B'], ['D2']]);
  const [{ results, ...totals }] = answer.searchResults;
  assert.deepEqual(totals, {
    type: 'products',
    name: 'Produkte',
    totalResults: 2,
    totalResultsVariants: 3,
    totalResultsHead: 2,
    totalResultsHeadVariants: 3,
  });
  assert.deepEqual(
    results.flat().map((item: Read) => [item.head, item.resultSet]),
    [
      [true, null],
      [false, null],
      [true, null],
    ],
  );
  const { dataPoints, relevance, sxId, ...item } = results[0][0];
  assert.deepEqual(item, {
    identifier: 'D1-A',
    groupId: 'D1',
    name: 'Cordless drill small',
    head: true,
    resultSet: null,
    link: 'https://shop.example/D1-A',
    image: 'https://shop.example/D1-A.jpg',
    images: [{ type: 'LARGE', url: 'https://shop.example/D1-A.jpg' }],
  });
  assert.ok(Number.isInteger(sxId) && relevance === 1_000_000);
  assert.ok(dataPoints.some((point: Read) => point.key === 'Brand' && point.value === 'Makita'));
  assert.deepEqual(groupsOf(await search(catalog, { query: 'drill', offset: '1', limit: '1' })), [['D2']]);
  assert.deepEqual(groupsOf(await search(catalog, { query: 'nothing' })), []);
  assert.deepEqual([answer.redirect, answer.answerText, answer.activeSortingOption], [null, '', {}]);
});

test('all words match by their beginning, * matches everything, and _# matches a category (§4.14 rule 2)', async () => {
  const catalog = await fill();
  assert.deepEqual(groupsOf(await search(catalog, { query: 'cord dri' })), [['D1-A', 'D1-B']]);
  assert.equal((await search(catalog, { query: '*' })).totalResults, 3);
  assert.deepEqual(groupsOf(await search(catalog, { query: '_#Office' })), [['S1']]);
  assert.equal((await search(catalog, { query: '_#Tools#Drills' })).totalResults, 2);
});

test('hits with typing errors follow exact hits: one error from 4 letters, two from 8, none in the first letter (§4.13 rule 4)', async () => {
  const catalog = await fill([
    product('A', 'Canon camera'),
    product('B', 'Cannon ball'),
    product('C', 'Keyboard'),
    product('D', 'Cat'),
  ]);
  const find = async (q: string) =>
    (await catalog.call('GET', `/search/products?q=${q}`)).body.items.map((item: Read) => item.identifier);
  for (const [q, groups] of [
    ['canon', ['A', 'B']],
    ['cannon', ['B', 'A']],
    ['camrea', ['A']],
    ['camra', ['A']],
    ['cmra', []],
    ['keybaord', ['C']],
    ['keybord', ['C']],
    ['kezbaord', ['C']],
    ['kezboad', []],
    ['leyboard', []],
    ['cut', []],
  ] as const) {
    assert.deepEqual(await find(q), groups, q);
    assert.deepEqual(groupsOf(await search(catalog, { query: q })).flat(), groups, q);
  }
  await catalog.update(product('E', 'Telescope'));
  assert.deepEqual(await find('telescpoe'), ['E'], 'including a product that was just uploaded');
});

test('the PHP core can search, filter and sort, and gets the fields that it reads (§4.14)', async () => {
  const catalog = await fill();
  const sent = { query: 'drill', sessionId: '', userGroup: '1-de', offset: '0', limit: '100', filters: '[]' };
  const answer = await search(catalog, sent);
  assert.deepEqual(answer.activeFilterOptions, []);
  const byKey = new Map(answer.filterOptions.map((filter: Read) => [filter.key, filter]));
  assert.deepEqual(byKey.get('category'), {
    key: 'category',
    name: 'Kategorie',
    type: 'TREE',
    categories: [
      {
        key: 'Tools',
        value: 'Tools',
        name: 'Tools',
        count: 3,
        children: [{ key: 'Tools#Drills', value: 'Tools#Drills', name: 'Drills', count: 3, children: [] }],
      },
    ],
  });
  assert.deepEqual(byKey.get('Brand'), {
    key: 'Brand',
    name: 'Brand',
    type: 'COLLECTION',
    values: [
      { value: 'Makita', count: 2, name: 'Makita' },
      { value: 'Metabo', count: 1, name: 'Metabo' },
    ],
  });
  assert.deepEqual(byKey.get('Weight'), {
    key: 'Weight',
    name: 'Weight',
    type: 'RANGE',
    unit: 'kg',
    min: 1.5,
    max: 3,
    counts: { 1.5: 1, 2.5: 1, 3: 1 },
  });
  const brand = { name: 'Brand', values: [{ value: 'Makita' }] };
  const range = { name: 'Weight', min: 2, max: 2.75 };
  const filtered = await search(catalog, { ...sent, filters: JSON.stringify([brand, range]) });
  assert.deepEqual(groupsOf(filtered), [['D1-B']]);
  assert.deepEqual(filtered.activeFilterOptions, [
    { key: 'Brand', name: 'Brand', values: [{ value: 'Makita', name: 'Makita' }] },
    { key: 'Weight', name: 'Weight', min: 2, max: 2.75 },
  ]);
  const inCategory = JSON.stringify([{ name: 'Kategorie', values: [{ value: 'Office' }] }]);
  assert.deepEqual(groupsOf(await search(catalog, { query: '*', filters: inCategory })), [['S1']]);
  const below = JSON.stringify([{ name: 'Kategorie', values: [{ value: 'Tools#Drills' }] }]);
  assert.equal((await search(catalog, { query: '*', filters: below })).totalResults, 2);
  assert.deepEqual(
    answer.sortingOptions.map(({ name }: Read) => name),
    ['Preis aufsteigend', 'Preis absteigend', 'Name A–Z', 'Name Z–A'],
  );
  const cheap = await search(catalog, { ...sent, sort: 'Preis aufsteigend' });
  assert.deepEqual(groupsOf(cheap), [['D2'], ['D1-A', 'D1-B']]);
  assert.deepEqual([cheap.activeSortingOption.key, cheap.activeSortingOption.sort], ['Price', 'ASC']);
  const complex = JSON.stringify({ key: 'name', direction: 'DESC' });
  assert.deepEqual(groupsOf(await search(catalog, { ...sent, sortComplex: complex })), [
    ['D2'],
    ['D1-A', 'D1-B'],
  ]);
});

test('suggestions contain products by groups under Produkte, categories, brands and searches (§4.14 rule 7)', async () => {
  const catalog = await fill();
  const limits = 'limitBrand=2&limitSearch=3&limitCategory=3&limitProduct=1&limitContent=3';
  const { body } = await catalog.call('GET', `/search/suggestions?query=dri&${limits}&userGroup=x`);
  const { resultGroups, searchResults, totalResults, status } = body;
  assert.deepEqual([status, totalResults], ['success', 2]);
  assert.deepEqual(
    resultGroups.Produkte.map((group: Read[]) => group.map(({ identifier }) => identifier)),
    [['D1-A', 'D1-B']],
  );
  const blocks = searchResults.map(({ type, name, results }: Read) => [type, name, results.length]);
  assert.deepEqual(blocks, [
    ['products', 'Produkte', 1],
    ['categories', 'Kategorien', 2],
    ['brands', 'Marken', 2],
    ['searches', 'Suchvorschläge', 1],
  ]);
  assert.deepEqual(
    [resultGroups.Kategorien[0].name, resultGroups.Marken[0].name, resultGroups.Suchvorschläge[0].name],
    ['Drills', 'Makita', 'drill'],
  );
  const nothing = await catalog.call('GET', '/search/suggestions?query=xyz');
  assert.deepEqual(nothing.body.resultGroups.Produkte, []);
});

test('products are sorted by the price attribute of the project (§4.14 rule 6)', async () => {
  const named = (identifier: string, Price: string, Offer: string) =>
    product(identifier, `Drill ${identifier}`, { Price, Offer });
  const catalog = await fill([named('A', '10 EUR', '9 EUR'), named('B', '20 EUR', '5 EUR')]);
  const question = { query: 'drill', sort: 'Price ascending' };
  assert.deepEqual(groupsOf(await search(catalog, question)), [['A'], ['B']]);
  const settings = { priceAttribute: 'Offer' };
  const path = `/management/projects/${catalog.projectId}`;
  assert.equal((await service().call('PATCH', path, { body: { settings } })).status, 200);
  const sorted = await search(catalog, question);
  assert.deepEqual(groupsOf(sorted), [['B'], ['A']]);
  assert.equal(sorted.activeSortingOption.key, 'Offer');
});

test('Shopware 5 can filter by the widest range and sort by the key of a sort order, and gets the head of each group (§4.14)', async () => {
  const catalog = await fill();
  const filters = JSON.stringify([
    { name: 'Price', min: 0, max: 9_999_999_999 },
    { name: 'Brand', values: [{ value: 'Metabo' }] },
  ]);
  const sent = { query: 'drill', offset: '0', limit: '1000000', filters, sessionId: 's' };
  const [option] = (await search(catalog, sent)).sortingOptions;
  const sorted = await search(catalog, { ...sent, sort: option.key, source: 'SHOPWARE_404' });
  assert.deepEqual(groupsOf(sorted), [['D2']]);
  assert.equal(sorted.searchResults[0].results[0][0].head, true);
  const { body } = await catalog.call(
    'GET',
    '/search/suggestions?query=drill&limit=100&limitProduct=3&language=de',
  );
  for (const { type, name, totalResults, results } of body.searchResults)
    assert.ok(type && name && Number.isInteger(totalResults) && Array.isArray(results));
});

test('Shopware 6 can filter by the names of values and sort by a name in lower case, and gets the status success (§4.14)', async () => {
  const catalog = await fill();
  const filters = JSON.stringify([
    { name: 'Brand', values: [{ name: 'Makita' }, { name: 'Metabo' }] },
    { name: 'Weight', min: 2, max: 999_999_999 },
  ]);
  const sorted = await search(catalog, { query: 'drill', filters, sort: 'price descending' });
  assert.deepEqual([sorted.status, groupsOf(sorted)], ['success', [['D1-B'], ['D2']]]);
  assert.ok(!Array.isArray(sorted.interpretedQuery) && typeof sorted.interpretedQuery === 'object');
  for (const { name, key, sort } of sorted.sortingOptions) assert.ok(name && key && sort);
  const suggested = await catalog.call('GET', '/search/suggestions?query=drill&userGroup=');
  assert.deepEqual([suggested.status, suggested.body.status], [200, 'success']);
});

test('a range filter needs a single value within both limits if a product has several values (§4.14 rule 5)', async () => {
  const weights = ['1.5 kg', '3 kg'].map((value) => ({ key: 'Weight', value }));
  const both = { ...product('D3', 'Drill with two batteries'), attributes: weights };
  const catalog = await fill([...DRILLS, both]);
  const find = async (range: object) =>
    groupsOf(await search(catalog, { filters: JSON.stringify([{ name: 'Weight', ...range }]) })).flat();
  assert.deepEqual(await find({ min: 2, max: 2.75 }), ['D1-B']);
  assert.deepEqual((await find({ min: 2.75 })).toSorted(), ['D2', 'D3']);
  assert.deepEqual((await find({ max: 2 })).toSorted(), ['D1-A', 'D3']);
});

test('POST /search/v1/{projectId} accepts the same as JSON, with the key of its project (§4.14 rule 1)', async () => {
  const [catalog, other] = [await fill(), await fill(DRILLS.slice(3))];
  const body = { query: 'drill', filters: [{ name: 'Brand', values: [{ value: 'Metabo' }] }], limit: 5 };
  const path = `/search/v1/${catalog.projectId}`;
  const answer = await service().call('POST', path, { body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(groupsOf(answer.body), [['D2']]);
  const { body: key } = await service().call('POST', '/management/api-keys', {
    body: { name: 'Shop', scope: { type: 'project', id: other.projectId }, access: 'read' },
  });
  assertRefused(await service().call('POST', path, { body, key: key.key }), 401);
  assertRefused(await service().call('POST', `${path}?projectId=${other.projectId}`, { body }), 400);
  const inQuery = await service().call('POST', `${path}?query=hammer`);
  assert.equal(inQuery.status, 200, 'all parameters may be in the query');
  assert.equal(inQuery.body.interpretedQuery.original, 'hammer');
  assertRefused(await service().call('POST', '/search/v1/x', { body }), 400);
});

test('an invalid search is refused and the refusal says how to fix it (§4.14 rule 8)', async () => {
  const catalog = await fill();
  for (const [sent, why] of [
    [{ filters: '{' }, /JSON list/],
    [{ filters: '{"a":1}' }, /JSON list/],
    [{ filters: '[{"name":"Brand"}]' }, /JSON list/],
    [{ filters: '[{"name":"Colour","values":[{"value":"red"}]}]' }, /no such attribute/],
    [{ sort: 'weight' }, /must be one of Price, Price:desc, name, name:desc/],
    [{ query: 'w '.repeat(17) }, /17 words/],
    [{ offset: '-1' }, /offset/],
  ] as const) {
    const answer = await catalog.call(
      'GET',
      `/search?${new URLSearchParams(sent as Record<string, string>)}`,
    );
    assertRefused(answer, 400, 'Your query params are not valid');
    assert.match(answer.body.details.join(), why);
  }
});

test('estimated totals, and counts of only some of the hits, are marked (§4.14 rule 3)', async () => {
  const colourOf = (index: number) => (index < 5_000 ? 'red' : 'blue');
  const products = Array.from({ length: 6_000 }, (_, index) =>
    product(`P${String(index).padStart(4, '0')}`, `Board ${index}`, {
      group: `G${index >> 1}`,
      Colour: colourOf(index),
    }),
  );
  const catalog = await fill(products);
  const untilMade = async (sent: Readonly<Record<string, string>>): Promise<Read> => {
    const answer = await search(catalog, sent);
    return answer.partial ? untilMade(sent) : answer;
  };
  const broad = await untilMade({ query: 'board' });
  assert.deepEqual([broad.isTotalExact, broad.facetsOf], [false, 200]);
  assert.ok(Math.abs(broad.totalResults - 3_000) <= 30, `${broad.totalResults} of 3,000 groups`);
  const suggested = await catalog.call('GET', '/search/suggestions?query=board');
  assert.deepEqual([suggested.body.isTotalExact, suggested.body.facetsOf], [false, 200]);

  const narrow = await untilMade({ query: 'board 59' });
  const matching = products.filter(({ name }) => / 59/.test(String(name)));
  const groups = new Set(matching.map(({ groupIdentifier }) => groupIdentifier));
  const { totalResults, searchResults, isTotalExact, facetsOf } = narrow;
  assert.deepEqual([totalResults, searchResults[0].totalResultsVariants], [groups.size, matching.length]);
  assert.deepEqual([isTotalExact, facetsOf], [undefined, undefined]);
  const [{ values }] = narrow.filterOptions.filter(({ key }: Read) => key === 'Colour');
  const colours = Map.groupBy(matching, ({ identifier }) => colourOf(Number(identifier.slice(1))));
  for (const { value, count } of values) assert.equal(count, colours.get(value)?.length, value);
});
