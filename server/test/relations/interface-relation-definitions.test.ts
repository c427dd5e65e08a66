// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  rule,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { Stops } from '../support/stops.ts';
import { startTestService, TestClock } from '../support/test-service.ts';
import { createTestStore } from '../support/test-store.ts';

const clock = new TestClock();
const service = shareService({ clock });

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const REFUSED = 'You are not allowed to access the requested resource';
const numbered = (count: number, letter: string) =>
  Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(4, '0')}`);
const numeric = (name: string, unitName?: string) => ({
  name,
  type: 'NUMERIC_ATTRIBUTE',
  ...(unitName !== undefined && { unitName }),
});
const text = (name: string) => ({ name, type: 'TEXT_ATTRIBUTE' });

/** Fields set by the service, which are ignored in requests. */
const SET_BY_SERVICE = ['id', 'state', 'misconfigured', 'problem', 'createdAt', 'updatedAt'];
const definitionOf = (relation: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(relation).filter(([name]) => !SET_BY_SERVICE.includes(name)));

const FULL = {
  name: 'Bits',
  tag: 'accessories',
  description: 'What fits',
  twoWay: true,
  enabled: false,
  source: { all: [under('Drills'), { not: { attribute: 'Price', operator: 'greater', value: 3 } }] },
  target: { any: [under('Bits'), { identifiers: ['B1'] }, { attribute: 'Shank', operator: 'exists' }] },
  match: [{ target: 'Shank', operator: 'equals', source: 'Chuck' }],
  sort: [{ attribute: 'Price', direction: 'desc' }],
  names: [{ locale: 'de-DE', name: 'Bits' }],
  excludeSameGroup: false,
};
const TOOLS = [
  product('D1', 'Drills', { Chuck: 'SDS', Price: '3' }),
  product('B1', 'Bits', { Shank: 'SDS', Price: '1' }),
  product('B2', 'Bits', { Shank: 'SDS', Price: '2' }),
  product('B3', 'Bits', { Shank: 'HEX', Price: '3' }),
];
const FITS = {
  source: under('Drills'),
  target: under('Bits'),
  match: FULL.match,
  sort: [{ attribute: 'Price', direction: 'asc' }],
};

async function createTools(): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...TOOLS);
  return catalog;
}

const listOf = async (catalog: RelationCatalog, identifier: string, { id }: { id: number }) =>
  (await catalog.related(identifier, id))?.groups.flat();

const listBuilds = async (catalog: RelationCatalog): Promise<AnyBody[]> =>
  (await catalog.tasks()).filter(({ name }) => name === 'relation build');

test('a relation is created with its defaults and an id of its project (§12.1 rules 1 and 2)', async () => {
  const catalog = await createTools();
  const { status, body } = await catalog.manage('POST', '', rule());
  assert.equal(status, 201);
  const { state, ...rest } = body;
  assert.ok(state === 'building' || state === 'ready');
  assert.deepEqual(rest, {
    id: 1,
    name: 'Goes with',
    tag: 'accessories',
    twoWay: false,
    enabled: true,
    source: { all: [] },
    target: { all: [] },
    match: [],
    sort: [],
    names: [],
    excludeSameGroup: true,
    misconfigured: false,
    createdAt: clock.now(),
    updatedAt: clock.now(),
  });
  await catalog.settled();
  assert.deepEqual(await catalog.read(1), { ...rest, state: 'ready' });
  const full = await catalog.relate(FULL);
  assert.deepEqual([full.id, full.state, definitionOf(full)], [2, 'ready', FULL]);
  assert.equal((await catalog.manage('DELETE', '/2')).status, 200);
  assert.equal((await catalog.relate(FULL)).id, 3, 'an id is never reused');
});

test('relations are listed, read, replaced and deleted, and unknown ones are 404 (§12.1, §14.2 rules 2 and 8)', async () => {
  const catalog = await createTools();
  assert.deepEqual((await catalog.manage('GET')).body, { items: [], nextCursor: null });
  const made = [await catalog.relate(FITS), await catalog.relate(FULL)];
  assert.deepEqual((await catalog.manage('GET')).body, { items: made, nextCursor: null });
  clock.pass(5_000);
  const [fits] = made;
  const { status, body } = await catalog.manage('PUT', `/${fits.id}`, FULL);
  assert.equal(status, 200);
  assert.deepEqual([body.id, body.createdAt, body.updatedAt], [fits.id, fits.createdAt, clock.now()]);
  await catalog.settled();
  assert.deepEqual(definitionOf(await catalog.read(fits.id)), FULL, 'fields that are left out are reset');
  const deleted = await catalog.manage('DELETE', `/${fits.id}`);
  assert.deepEqual([deleted.status, deleted.body], [200, { status: 'success' }]);
  assert.deepEqual((await catalog.manage('GET')).body.items, made.slice(1));
  const pair = { source: 'D1', target: 'B1' };
  for (const id of [fits.id, 4711]) {
    assertRefused(await catalog.manage('GET', `/${id}`), 404);
    assertRefused(await catalog.manage('PUT', `/${id}`, FULL), 404);
    assertRefused(await catalog.manage('DELETE', `/${id}`), 404);
    assertRefused(await catalog.manage('GET', `/${id}/health`), 404);
    assertRefused(await catalog.manage('POST', `/${id}/explain`, pair), 404);
  }
});

test('PUT accepts the answer of GET, changes nothing and starts no build (§12.1 rule 3)', async () => {
  const catalog = await createTools();
  const broken = { source: { attribute: 'No', operator: 'exists' } };
  for (const definition of [FITS, FULL, { ...FULL, ...broken }]) {
    const relation = await catalog.relate(definition);
    const before = await listBuilds(catalog);
    const { status, body } = await catalog.manage('PUT', `/${relation.id}`, relation);
    assert.deepEqual([status, body], [200, relation]);
    if (relation.state === 'ready') assert.equal((await listBuilds(catalog)).length, before.length);
    await catalog.settled();
    assert.deepEqual(await catalog.read(relation.id), relation);
  }
});

test('names, tag, direction, groups and enabled change immediately, without a build (§12.1 rule 3)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...TOOLS, product('B4', 'Bits', { Shank: 'SDS', Price: '9', group: 'D1' }));
  const { id } = await catalog.relate(FITS);
  const builds = await listBuilds(catalog);
  const change = async (fields: object) => {
    const { status, body } = await catalog.manage('PUT', `/${id}`, rule({ ...FITS, ...fields }));
    assert.deepEqual([status, body.state], [200, 'ready']);
  };
  assert.deepEqual(await listOf(catalog, 'D1', { id }), ['B1', 'B2']);
  await change({ excludeSameGroup: false });
  assert.deepEqual(await listOf(catalog, 'D1', { id }), ['B1', 'B2', 'B4']);
  assert.deepEqual(await listOf(catalog, 'B1', { id }), []);
  await change({ twoWay: true, name: 'Renamed', tag: 'other', names: [{ locale: 'en', name: 'x' }] });
  assert.deepEqual(await listOf(catalog, 'B1', { id }), ['D1']);
  const answer = await catalog.bulk({
    identifiers: ['B1'],
    includeTags: [{ tag: 'accessories' }, { tag: 'other' }],
  });
  const [{ tag, relations }] = answer.B1.tags;
  const [{ searchResult, ...relation }] = relations;
  const names = { localization: { names: [{ locale: 'en', name: 'x' }] } };
  assert.deepEqual([tag, relation], ['other', { name: 'Renamed', id, matchType: 'SECOND_WAY', ...names }]);
  await change({ enabled: false });
  assert.equal(await listOf(catalog, 'D1', { id }), undefined);
  await change({});
  assert.deepEqual(await listOf(catalog, 'D1', { id }), ['B1', 'B2']);
  assert.deepEqual(await listBuilds(catalog), builds);
});

test('answers skip a deleted relation immediately and keep the others (§12.1)', async () => {
  const catalog = await createTools();
  const [first, other] = [await catalog.relate(FITS), await catalog.relate(FITS)];
  assert.deepEqual(await listOf(catalog, 'D1', first), ['B1', 'B2']);
  await catalog.manage('DELETE', `/${first.id}`);
  assert.equal(await listOf(catalog, 'D1', first), undefined);
  await catalog.update(product('B0', 'Bits', { Shank: 'SDS', Price: '0' }));
  assert.deepEqual(await listOf(catalog, 'D1', other), ['B0', 'B1', 'B2']);
});

const ONTOLOGY = [
  ...[
    text('Shank'),
    text('Chuck'),
    numeric('Price'),
    numeric('Length', 'in'),
    numeric('Depth', 'cm'),
    numeric('Weight', 'kg'),
  ],
  ...[
    numeric('Width', 'in'),
    { name: 'New', type: 'BOOLEAN_ATTRIBUTE' },
    { name: 'Since', type: 'DATE_ATTRIBUTE' },
  ],
  { name: 'Note', type: 'UNTYPED_ATTRIBUTE' },
];
const matched = (target: string, operator: string, source: string) => ({
  match: [FULL.match[0], { target, operator, source }],
});
const filtered = (attribute: string, operator: string, value?: unknown) => ({
  target: { all: [under('Bits'), { not: { any: [{ attribute, operator, value }] } }] },
});

/** Definitions that cannot work, with patterns of the problem. */
const BROKEN: readonly [object, ...RegExp[]][] = [
  [matched('Missing', 'equals', 'Chuck'), /"Missing"/],
  [matched('Shank', 'equals', 'Missing'), /"Missing"/],
  [matched('shank', 'equals', 'Chuck'), /"shank"/],
  [{ sort: [{ attribute: 'Missing', direction: 'asc' }] }, /"Missing"/],
  [filtered('Missing', 'exists'), /"Missing"/],
  [{ source: { attribute: 'Missing', operator: 'equals', value: 'x' } }, /"Missing"/],
  [matched('Shank', 'equals', 'Price'), /"Shank"/, /"Price"/],
  [matched('Price', 'less', 'Note'), /"Price"/, /"Note"/],
  [matched('New', 'equals', 'Shank'), /"New"/, /"Shank"/],
  [matched('Since', 'greater', 'Price'), /"Since"/, /"Price"/],
  [matched('Length', 'lessOrEqual', 'Weight'), /"Length"/, /"Weight"/, /\bin\b/, /\bkg\b/],
  [matched('Length', 'equals', 'Price'), /"Length"/, /"Price"/],
  [filtered('Length', 'less', '3 kg'), /"Length"/, /"3 kg"/],
  [filtered('Length', 'less', '1,234 cm'), /"Length"/, /"1,234 cm"/],
  [filtered('Length', 'less', '3'), /"Length"/, /"3"/],
  [filtered('Price', 'less', '3 in'), /"Price"/, /"3 in"/],
  [filtered('Price', 'equals', true), /"Price"/, /true/],
  [filtered('Price', 'in', [1, 'two']), /"Price"/, /"two"/],
  [filtered('Length', 'between', ['1 in', '2 kg']), /"Length"/, /"2 kg"/],
  [filtered('Price', 'contains', '3'), /"Price"/],
  [filtered('Shank', 'equals', 3), /"Shank"/, /\b3\b/],
  [filtered('New', 'equals', 'yes'), /"New"/, /"yes"/],
  [filtered('Since', 'less', 'today'), /"Since"/, /"today"/],
];

test('a definition that cannot work is stored with a reason that names the fault, and answers skip it (§12.4 rule 1)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.putOntology('own', ...ONTOLOGY);
  await catalog.load(...TOOLS);
  for (const [fields, ...named] of BROKEN) {
    const definition = rule({ ...FITS, ...fields });
    const { status, body } = await catalog.manage('POST', '', definition);
    const shown = JSON.stringify(body);
    assert.deepEqual([status, body.state, body.misconfigured], [201, 'misconfigured', true], shown);
    for (const pattern of named) assert.match(body.problem, pattern);
    assert.deepEqual((await catalog.manage('GET', `/${body.id}`)).body, body);
    assert.equal(await listOf(catalog, 'D1', body), undefined);
  }
  await catalog.settled();
  assert.deepEqual(await catalog.single({ identifier: 'D1', includeTags: [{ tag: 'accessories' }] }), {
    tags: [],
  });
  const tasks = await listBuilds(catalog);
  assert.ok(tasks.every(({ taskStatus }) => taskStatus === 'FINISHED'));
});

test('comparable matches work: numbers of one dimension, text with untyped, values as the attribute writes them (§12.2 rules 4 to 7 and 10)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.putOntology('own', ...ONTOLOGY);
  await catalog.load(...TOOLS);
  const works: object[] = [
    matched('Length', 'less', 'Width'),
    matched('Length', 'lessOrEqual', 'Depth'),
    filtered('Length', 'less', '12,5 cm'),
    matched('Shank', 'notEquals', 'Note'),
    matched('Shank', 'less', 'Chuck'),
    matched('New', 'equals', 'New'),
    matched('Since', 'greaterOrEqual', 'Since'),
    filtered('Length', 'less', 3),
    filtered('Length', 'between', [1, '2.5 in']),
    filtered('Price', 'in', [1, '2', -3.5]),
    filtered('New', 'equals', true),
    filtered('New', 'notEquals', 'false'),
    filtered('Since', 'between', ['2026-01-01', '2026-12-31']),
    filtered('Note', 'contains', ''),
    filtered('Shank', 'in', []),
    { match: Array.from({ length: 8 }, () => ({ target: 'Price', operator: 'less', source: 'Price' })) },
  ];
  for (const fields of works) {
    const { state, problem } = await catalog.relate({ ...FITS, ...fields });
    assert.deepEqual([state, problem], ['ready', undefined], JSON.stringify(fields));
  }
});

test('a change of the ontology repairs or breaks a relation once its task is FINISHED (§12.4 rule 3, §11.5)', async () => {
  const catalog = await createRelationCatalog(service());
  const others = [text('Shank'), text('Chuck'), numeric('Price')];
  await catalog.putOntology('own', ...others);
  const sized = TOOLS.map((tool, index) => ({
    ...tool,
    attributes: [...tool.attributes, { key: 'Size', value: `${index} in` }],
  }));
  await catalog.load(...sized, ...numbered(3_000, 'X').map((identifier) => product(identifier, 'Other')));
  const relation = await catalog.relate({
    ...FITS,
    target: { attribute: 'Size', operator: 'greater', value: '1 in' },
    match: [],
  });
  assert.deepEqual([relation.state, await listOf(catalog, 'D1', relation)], ['misconfigured', undefined]);
  assert.match(relation.problem, /"Size"/);
  const extract = async (...attributes: object[]) => {
    await catalog.putOntology('own', ...others, ...attributes);
    const [task] = (await catalog.tasks()).filter(({ name }) => name === 're-extraction');
    assert.equal((await service().ended(task.id)).taskStatus, 'FINISHED');
    return (await catalog.read(relation.id)).state;
  };
  assert.equal(await extract(numeric('Size', 'kg')), 'misconfigured');
  assert.match((await catalog.read(relation.id)).problem, /"1 in"/, 'the reason follows');
  assert.equal(await extract(numeric('Size', 'in')), 'ready');
  assert.deepEqual(await listOf(catalog, 'D1', relation), ['B2', 'B3'], 'it answers immediately');
  const { release } = await catalog.holdBack(() => catalog.putOntology('own', ...others));
  assert.equal((await catalog.read(relation.id)).state, 'ready', 'until the extraction has ended');
  assert.deepEqual(await listOf(catalog, 'D1', relation), ['B2', 'B3']);
  await release();
  await catalog.settled();
  assert.equal((await catalog.read(relation.id)).state, 'misconfigured');
  assert.equal(await listOf(catalog, 'D1', relation), undefined);
  assert.equal(await extract(numeric('Size', 'in')), 'ready');
  assert.deepEqual(await listOf(catalog, 'D1', relation), ['B2', 'B3']);
});

test('a full update that creates a missing attribute repairs the relation by the end of its commit (§12.4 rule 3, §11.2)', async () => {
  const catalog = await createRelationCatalog(service());
  const relation = await catalog.relate(FITS);
  assert.equal(relation.state, 'misconfigured', 'in an empty catalog');
  await catalog.update(...TOOLS);
  assert.equal(
    (await catalog.read(relation.id)).state,
    'misconfigured',
    'only full updates create attributes',
  );
  assert.equal((await catalog.load(...TOOLS)).taskStatus, 'FINISHED');
  assert.equal((await catalog.read(relation.id)).state, 'ready');
  assert.deepEqual(await listOf(catalog, 'D1', relation), ['B1', 'B2']);
});

const nested = (levels: number): object =>
  levels === 1 ? { attribute: 'Price', operator: 'exists' } : { all: [nested(levels - 1)] };
const conditions = (count: number) => ({
  any: Array.from({ length: count }, (_, index) => ({
    attribute: 'Price',
    operator: 'equals',
    value: index,
  })),
});
const condition = (more: object) => ({ source: { attribute: 'Price', ...more } });

/** Members that make a definition invalid, and the text in the refusal that names the fault. */
const MISTAKES: readonly [object, string][] = [
  [{ name: undefined }, "'name'"],
  [{ tag: undefined }, "'tag'"],
  [{ source: undefined }, "'source'"],
  [{ target: undefined }, "'target'"],
  [{ name: '' }, '/name'],
  [{ name: 1 }, '/name'],
  [{ name: 'a\u0000' }, '/name'],
  [{ name: 'x'.repeat(256) }, '/name'],
  [{ tag: '' }, '/tag'],
  [{ description: 1 }, '/description'],
  [{ twoWay: 'true' }, '/twoWay'],
  [{ enabled: 1 }, '/enabled'],
  [{ excludeSameGroup: 'no' }, '/excludeSameGroup'],
  [{ other: 1 }, 'additional'],
  [{ source: [] }, '/source'],
  [{ source: null }, '/source'],
  [{ source: 'all' }, '/source'],
  [{ source: {} }, '/source'],
  [{ target: { every: [] } }, '/target'],
  [{ target: { all: [], any: [] } }, '/target'],
  [{ target: { all: {} } }, '/target/all'],
  [{ target: { any: [{ all: [] }, 1] } }, '/target/any/1'],
  [{ target: { not: [] } }, '/target/not'],
  [{ target: { not: { all: [{ none: [] }] } } }, '/target/not/all/0'],
  [{ source: { category: 'Bits' } }, '/source/category'],
  [{ source: { category: [1] } }, '/source/category'],
  [{ source: { category: numbered(21, 'C') } }, '/source/category'],
  [{ source: { identifiers: 'B1' } }, '/source/identifiers'],
  [{ source: { identifiers: [1] } }, '/source/identifiers'],
  [{ source: { identifiers: ['B1'], category: ['Bits'] } }, '/source'],
  [{ source: { identifiers: numbered(10_001, 'B') } }, '/source/identifiers'],
  [condition({ operator: 'like', value: 1 }), '/source/operator'],
  [condition({ operator: 'Equals', value: 1 }), '/source/operator'],
  [condition({ operator: '__proto__', value: 1 }), '/source/operator'],
  [condition({ value: 1 }), '/source/operator'],
  [condition({ operator: 'equals', value: 1, unit: 'in' }), '/source'],
  [{ source: { attribute: 1, operator: 'exists' } }, '/source/attribute'],
  [condition({ operator: 'equals' }), '/source/value'],
  [condition({ operator: 'equals', value: null }), '/source/value'],
  [condition({ operator: 'less', value: [1] }), '/source/value'],
  [condition({ operator: 'exists', value: 'x' }), '/source/value'],
  [condition({ operator: 'in', value: 1 }), '/source/value'],
  [condition({ operator: 'in', value: [[1]] }), '/source/value'],
  [condition({ operator: 'between', value: [1] }), '/source/value'],
  [condition({ operator: 'between', value: [1, 2, 3] }), '/source/value'],
  [condition({ operator: 'between', value: 1 }), '/source/value'],
  [condition({ operator: 'contains', value: {} }), '/source/value'],
  [{ source: nested(11) }, '/source/all/0/all/0/all/0/all/0/all/0/all/0/all/0/all/0/all/0/all/0'],
  [{ target: conditions(101) }, '/target'],
  [{ target: { all: [conditions(50), { not: conditions(51) }] } }, '/target'],
  [{ match: {} }, '/match'],
  [{ match: [{ target: 'Shank', operator: 'equals' }] }, '/match/0'],
  [{ match: [{ target: 'Shank', operator: 'in', source: 'Chuck' }] }, '/match/0/operator'],
  [{ match: [FULL.match[0], { ...FULL.match[0], unit: 'in' }] }, '/match/1'],
  [{ match: Array.from({ length: 17 }, () => FULL.match[0]) }, '/match'],
  [{ sort: ['Price'] }, '/sort/0'],
  [{ sort: [{ attribute: 'Price' }] }, '/sort/0'],
  [{ sort: [{ attribute: 'Price', direction: 'up' }] }, '/sort/0/direction'],
  [{ sort: Array.from({ length: 9 }, () => FITS.sort[0]) }, '/sort'],
  [
    { match: Array.from({ length: 9 }, () => ({ target: 'Price', operator: 'less', source: 'Price' })) },
    '/match',
  ],
  [{ names: [{ locale: 'de-DE' }] }, '/names/0'],
  [{ names: [{ locale: 1, name: 'x' }] }, '/names/0/locale'],
  [{ names: { 'de-DE': 'x' } }, '/names'],
];

test('an invalid definition is 400 with the path of the fault, and nothing is stored (§12.1, §12.2 rule 2, §7.4)', async () => {
  const catalog = await createTools();
  const stored = await catalog.relate(FULL);
  for (const [fields, detail] of MISTAKES) {
    const definition = rule(fields);
    for (const answer of [
      await catalog.manage('POST', '', definition),
      await catalog.manage('PUT', `/${stored.id}`, definition),
      await catalog.manage('POST', '/preview', definition),
    ]) {
      assertRefused(answer, 400, 'Your body params are not valid');
      const { details } = answer.body;
      assert.ok(
        details.some((line: string) => line.includes(detail)),
        `${detail}: ${JSON.stringify(details).slice(0, 500)}`,
      );
    }
    const imported = await catalog.manage('POST', '/import', { relations: [stored, definition] });
    assertRefused(imported, 400, 'Your body params are not valid');
    const { details } = imported.body;
    assert.ok(
      details.some((line: string) => line.includes('/relations/1') && line.includes(detail)),
      `${detail}: ${JSON.stringify(details).slice(0, 500)}`,
    );
  }
  for (const body of [undefined, '', '{', [], 'x', null]) {
    assertRefused(await catalog.manage('POST', '', body), 400);
    assertRefused(await catalog.manage('PUT', `/${stored.id}`, body), 400);
    assertRefused(await catalog.manage('POST', '/import', body), 400);
  }
  assert.deepEqual((await catalog.manage('GET')).body.items, [stored]);
});

test('100 conditions, a depth of 10 and 16 matches are accepted (§12.1 rule 1, §12.2 rule 2)', async () => {
  const catalog = await createTools();
  const match = Array.from({ length: 16 }, () => FULL.match[0]);
  const { state } = await catalog.relate({ ...FITS, source: nested(10), target: conditions(100), match });
  assert.equal(state, 'ready');
  const both = await catalog.relate({ source: { all: [conditions(50), { not: conditions(50) }] } });
  assert.equal(both.state, 'ready');
});

test('relations are exported as one document, and its import replaces the existing relations (§12.1 rule 4)', async () => {
  const catalog = await createTools();
  const other = await createTools();
  const broken = rule({ name: 'broken', sort: [{ attribute: 'No', direction: 'asc' }] });
  const made = [await catalog.relate(FITS), await catalog.relate(FULL), await catalog.relate(broken)];
  const exported = (await catalog.manage('GET', '/export')).body;
  assert.deepEqual(exported, {
    relations: made.map((relation) => ({ id: relation.id, ...definitionOf(relation) })),
  });
  const builds = await listBuilds(catalog);
  const same = await catalog.manage('POST', '/import', exported);
  assert.deepEqual([same.status, same.body], [200, { items: made, nextCursor: null }]);
  assert.deepEqual((await listBuilds(catalog)).slice(-builds.length), builds);

  await other.relate({ name: 'gone' });
  await other.manage('POST', '/import', exported);
  await other.settled();
  const moved = (await other.manage('GET')).body.items;
  assert.deepEqual(moved.map(definitionOf), made.map(definitionOf), 'in another project');
  assert.equal(moved[2].state, 'misconfigured');
  assert.deepEqual(await listOf(other, 'D1', moved[0]), ['B1', 'B2']);

  const [fits, full] = exported.relations;
  const renamed = { ...fits, name: 'Renamed', sort: [{ attribute: 'Price', direction: 'desc' }] };
  const { id: _, ...byName } = { ...full, enabled: true };
  const added = rule({ name: 'Bits', tag: 'other tag' });
  const sent = { relations: [added, byName, renamed, { ...added, id: 4711, name: 'new' }] };
  const { status, body } = await catalog.manage('POST', '/import', sent);
  assert.equal(status, 200, JSON.stringify(body));
  await catalog.settled();
  const items = (await catalog.manage('GET')).body.items;
  assert.deepEqual(
    items.map(({ id }: AnyBody) => id),
    [made[0].id, made[1].id, 4, 5],
  );
  assert.deepEqual(
    items.map(definitionOf),
    [renamed, byName, added, { ...added, name: 'new' }].map((definition) =>
      definitionOf(rule({ ...DEFAULTS, ...definition })),
    ),
  );
  assert.deepEqual(await listOf(catalog, 'D1', items[0]), ['B2', 'B1']);
  assert.deepEqual((await catalog.manage('POST', '/import', { relations: [] })).body.items, []);
  assert.equal(await listOf(catalog, 'D1', items[0]), undefined);
});

test('an import matches the list by id first, then by the remaining names, and an id never changes its relation (§12.1 rule 4)', async () => {
  const catalog = await createTools();
  const first = await catalog.relate({ ...FITS, name: 'Accessories' });
  const second = await catalog.relate({ ...FITS, name: 'Spare parts' });
  const named = (name: string, id?: number) => ({ ...rule(FITS), name, ...(id !== undefined && { id }) });
  const take = async (...relations: object[]) => {
    const { status, body } = await catalog.manage('POST', '/import', { relations });
    assert.equal(status, 200, JSON.stringify(body));
    return body.items.map(({ id, name }: AnyBody) => [id, name]);
  };
  assert.deepEqual(
    await take(named('Spare parts', first.id), named('Accessories', second.id)),
    [
      [first.id, 'Spare parts'],
      [second.id, 'Accessories'],
    ],
    'two relations exchange names',
  );
  assert.deepEqual(
    await take(named('Accessories'), named('Accessories old', second.id), named('Spare parts', 4711)),
    [
      [first.id, 'Spare parts'],
      [second.id, 'Accessories old'],
      [3, 'Accessories'],
    ],
    'a name is free once an id gives its relation another one, and an unknown id matches nothing',
  );
  assert.deepEqual(
    await take(named('Accessories'), named('Accessories')),
    [
      [3, 'Accessories'],
      [4, 'Accessories'],
    ],
    'one relation is matched once',
  );
  const twice = await catalog.manage('POST', '/import', {
    relations: [named('A', 3), named('B'), named('C', 3)],
  });
  assertRefused(twice, 400, 'Your body params are not valid');
  assert.deepEqual(twice.body.details, ['/relations/2 has the id 3, which /relations/0 already has']);
  assert.equal((await catalog.manage('GET')).body.items.length, 2);
});

const DEFAULTS = { twoWay: false, enabled: true, match: [], sort: [], names: [], excludeSameGroup: true };

test('only changes of a relation have an entry in the audit log, and each has one (§14.4)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate(FITS);
  await catalog.manage('PUT', `/${id}`, { ...rule(FITS), name: 'Renamed' });
  await catalog.manage('POST', '/preview', rule());
  await catalog.manage('POST', '', {});
  await catalog.manage('GET', '/export');
  await catalog.manage('DELETE', `/${id}`);
  await catalog.manage('DELETE', `/${id}`);
  await catalog.manage('POST', '/import', { relations: [] });
  const { body } = await service().call('GET', `/management/audit-log?projectId=${catalog.projectId}`);
  const entries = body.items.filter(({ action }: AnyBody) => action.startsWith('relation'));
  assert.deepEqual(
    entries.map(({ action, subject }: AnyBody) => [action, subject]),
    [
      ['relation.imported', { type: 'project', id: catalog.projectId }],
      ['relation.deleted', { type: 'relation', id, name: 'Renamed' }],
      ['relation.changed', { type: 'relation', id, name: 'Renamed' }],
      ['relation.created', { type: 'relation', id, name: 'Goes with' }],
    ].map(([action, subject]) => [action, subject]),
  );
  for (const { actor, projectId, at } of entries)
    assert.deepEqual([actor.type, projectId, at], ['key', catalog.projectId, clock.now()]);
});

test('a repeated creation under its Idempotency-Key gets the same answer and is done once (§7.5)', async () => {
  const catalog = await createTools();
  const path = `/management/projects/${catalog.projectId}/relations`;
  const create = (body: object) =>
    service().call('POST', path, { body, headers: { 'idempotency-key': `create in ${catalog.projectId}` } });
  const [first, other] = [await create(rule(FITS)), await create(rule(FITS))];
  assert.deepEqual([first.status, other.status], [201, 201]);
  assert.deepEqual(other.body, first.body);
  assert.equal((await catalog.manage('GET')).body.items.length, 1);
  assertRefused(await create(rule(FULL)), 422);
});

test('only keys that may manage a project manage its relations (§14.1)', async () => {
  const catalog = await createTools();
  const foreign = await createTools();
  const { id } = await catalog.relate(FITS);
  const makeKey = async (projectId: number, access: string): Promise<string> => {
    const body = { name: 'k', scope: { type: 'project', id: projectId }, access };
    return (await service().call('POST', '/management/api-keys', { body })).body.key;
  };
  const manager = await makeKey(catalog.projectId, 'manage');
  const [reader, writer] = [
    await makeKey(catalog.projectId, 'read'),
    await makeKey(catalog.projectId, 'write'),
  ];
  const stranger = await makeKey(foreign.projectId, 'manage');
  const home = `/management/projects/${catalog.projectId}/relations`;
  const calls: readonly [method: string, path: string, body?: object][] = [
    ['GET', ''],
    ['POST', '', rule()],
    ['GET', '/export'],
    ['POST', '/preview', rule()],
    ['GET', `/${id}`],
    ['PUT', `/${id}`, rule(FITS)],
    ['GET', `/${id}/health`],
    ['POST', `/${id}/explain`, { source: 'D1', target: 'B1' }],
    ['DELETE', `/${id}`],
    ['POST', '/import', { relations: [] }],
  ];
  for (const [method, path, body] of calls) {
    const call = (key: string | null, query = '', basePath = home) =>
      service().call(method, `${basePath}${path}${query}`, { key, ...(body && { body }) });
    assertRefused(await call(null), 401, 'No token set');
    assertRefused(await call(null, `?apiKey=${manager}`), 401, 'No token set');
    for (const key of [reader, writer, 'unknown']) assertRefused(await call(key), 401, REFUSED);
    assertRefused(await call(stranger), 404);
    assertRefused(await call(service().key, '', '/management/projects/4711/relations'), 404);
    if (path.startsWith(`/${id}`))
      assertRefused(
        await call(service().key, '', `/management/projects/${foreign.projectId}/relations`),
        404,
      );
    assert.ok((await call(manager)).status < 300, `${method} ${path}`);
  }
});

test('a method that a path does not have is 405 with Allow (§7.2 rule 3)', async () => {
  const catalog = await createRelationCatalog(service());
  for (const [path, allowed] of [
    ['', ['GET', 'HEAD', 'POST']],
    ['/1', ['DELETE', 'GET', 'HEAD', 'PUT']],
    ['/1/health', ['GET', 'HEAD']],
    ['/1/explain', ['POST']],
  ] as const) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(
      (method) => !allowed.some((name) => name === method),
    )) {
      const answer = await catalog.manage(method, path);
      assertRefused(answer, 405);
      assert.deepEqual(answer.headers.get('allow')?.split(', '), allowed);
    }
  }
});

/** @returns a catalog of 5,000 products. P0 leads to all others, and a build takes steps of 1,000. */
async function createLarge(of = service()): Promise<{ catalog: RelationCatalog; id: number }> {
  const catalog = await createRelationCatalog(of);
  await catalog.load(
    ...numbered(5_000, 'P').map((identifier, index) => product(identifier, 'All', { Rank: `${index}` })),
  );
  const { id } = await catalog.relate({ sort: [{ attribute: 'Rank', direction: 'asc' }] });
  return { catalog, id };
}
const LAST_FIRST = rule({ sort: [{ attribute: 'Rank', direction: 'desc' }] });

test('a change is a task with progress that is listed before the answer (§12.1 rule 5, §3.2 rule 2)', async () => {
  const { catalog, id } = await createLarge();
  const before = await listBuilds(catalog);
  const { answer, release } = await catalog.holdBack(() => catalog.manage('PUT', `/${id}`, LAST_FIRST));
  const { body } = answer;
  assert.equal(body.state, 'building');
  const [task, ...others] = await listBuilds(catalog);
  assert.deepEqual(others, before);
  assert.ok(['PENDING', 'RUNNING'].includes(task.taskStatus), task.taskStatus);
  const { origin, taskIncrementType, progress, projectId, finishTime } = task;
  assert.deepEqual(
    [origin, taskIncrementType, projectId, finishTime],
    ['LIVE-API', 'STEP_BASED', catalog.projectId, null],
  );
  assert.ok(progress < 100);
  const following = service().call('GET', `/tasks/${task.id}/events`);
  // Progress is saved once a second. Here it is saved for each page, because watchers only see the latest.
  const ticking = setInterval(() => clock.pass(1_000), 1);
  await release();
  const events: string[] = (await following).body.split('\n\n');
  clearInterval(ticking);
  const states = events
    .filter((event) => event.includes('data: '))
    .map((event) => JSON.parse(event.split('data: ')[1] ?? ''));
  const seen = states.map((state) => state.progress);
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  );
  assert.ok(
    seen.some((percent) => percent > 0 && percent < 100),
    `progress was ${seen}`,
  );
  const { taskStatus, progress: last, logCounter, failure } = await service().ended(task.id);
  assert.deepEqual([taskStatus, last, failure], ['FINISHED', 100, false]);
  assert.ok(logCounter > 0);
  assert.equal((await catalog.read(id)).state, 'ready');
});

test('answers use the old definition until the new build is complete (§12.1 rule 3)', async () => {
  const { catalog, id } = await createLarge();
  const orders = { asc: numbered(101, 'P').slice(1), desc: numbered(5_000, 'P').toReversed().slice(0, 100) };
  const definitionFor = (direction: string) => rule({ sort: [{ attribute: 'Rank', direction }] });
  const complete = Object.values(orders).map((list) => JSON.stringify(list));
  assert.deepEqual(await listOf(catalog, 'P0000', { id }), orders.asc);
  for (const [from, to] of [
    ['asc', 'desc'],
    ['desc', 'asc'],
  ] as const) {
    const { release } = await catalog.holdBack(() => catalog.manage('PUT', `/${id}`, definitionFor(to)));
    assert.equal((await catalog.read(id)).state, 'building');
    assert.deepEqual(await listOf(catalog, 'P0000', { id }), orders[from]);
    await release();
    const [{ id: task }] = await listBuilds(catalog);
    for (let isOver = false; !isOver; ) {
      isOver = (await service().call('GET', `/tasks/${task}`)).body.task.finishTime !== null;
      const answered = JSON.stringify(await listOf(catalog, 'P0000', { id }));
      assert.ok(complete.includes(answered), answered);
      if (isOver) assert.equal(answered, JSON.stringify(orders[to]));
    }
  }
});

test('during a build, changed products appear in the old and in the new answers (§12.1 rule 3)', async () => {
  const { catalog, id } = await createLarge();
  await catalog.manage('PUT', `/${id}`, LAST_FIRST);
  await Promise.all([
    catalog.update(product('P0001', 'All', { Rank: '9000' }), product('NEW', 'All', { Rank: '9001' })),
    catalog.patch({ identifier: 'P0002', attributes: { Rank: '8999' } }),
    catalog.done(await catalog.call('DELETE', '/products', { body: ['P4999', 'P0003'] })),
  ]);
  await catalog.settled();
  const related = await listOf(catalog, 'P0000', { id });
  assert.deepEqual(related?.slice(0, 5), ['NEW', 'P0001', 'P0002', 'P4998', 'P4997']);
});

test('a cancelled build leaves the old answers, and the next change starts a new build (§4.7 rule 11)', async () => {
  const { catalog, id } = await createLarge();
  const { release } = await catalog.holdBack(() => catalog.manage('PUT', `/${id}`, LAST_FIRST));
  const [task] = await listBuilds(catalog);
  const cancelling = service().call('POST', `/tasks/${task.id}/cancel`);
  assert.deepEqual(await listOf(catalog, 'P0000', { id }), numbered(101, 'P').slice(1));
  await release();
  const { status, body } = await cancelling;
  assert.deepEqual([status, body.task.taskStatus], [200, 'CANCELLED']);
  assert.deepEqual(await listOf(catalog, 'P0000', { id }), numbered(101, 'P').slice(1));
  await catalog.manage('PUT', `/${id}`, LAST_FIRST);
  await catalog.settled();
  assert.deepEqual((await listOf(catalog, 'P0000', { id }))?.[0], 'P4999');
});

test('a build that a stop interrupts resumes after the next start (§10.4 rule 2)', async (t) => {
  const store = await createTestStore(t);
  const stops = new Stops();
  const former = await startTestService(stops, { store });
  const { catalog, id } = await createLarge(former);
  const { release } = await catalog.holdBack(() => catalog.manage('PUT', `/${id}`, LAST_FIRST));
  const [{ id: task }] = await listBuilds(catalog);
  const stopping = stops.stopAll();
  while (await former.call('GET', '/health/live').catch(() => undefined));
  await release();
  await stopping;
  const latter = await startTestService(t, { store });
  assert.equal((await latter.ended(task)).taskStatus, 'FINISHED');
  const path = `/search/relations/result?projectId=${catalog.projectId}`;
  const body = { identifier: 'P0000', includeRelations: [{ id, limit: 1 }] };
  const [tag] = (await latter.call('POST', path, { body })).body.tags;
  assert.equal(tag.relations[0].searchResult[0].identifier, 'P4999');
});

test('during a build, answers also use the old direction and groups (§12.1 rule 3)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    ...[...TOOLS, product('B4', 'Bits', { Shank: 'SDS', Price: '0', group: 'D1' })],
    ...numbered(3_000, 'X').map((identifier) => product(identifier, 'Other')),
  );
  const { id } = await catalog.relate(FITS);
  const changed = { ...FITS, sort: [], twoWay: true, excludeSameGroup: false };
  const { release } = await catalog.holdBack(() => catalog.manage('PUT', `/${id}`, rule(changed)));
  assert.deepEqual(await listOf(catalog, 'B1', { id }), [], 'one-way');
  assert.deepEqual(await listOf(catalog, 'D1', { id }), ['B1', 'B2'], 'without its group');
  await release();
  await catalog.settled();
  assert.deepEqual(await listOf(catalog, 'B1', { id }), ['D1']);
  assert.deepEqual(await listOf(catalog, 'D1', { id }), ['B1', 'B2', 'B4']);
});
