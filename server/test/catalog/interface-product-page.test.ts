// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

const pathOf = ({ projectId }: TestCatalog, identifier: string) =>
  `/management/projects/${projectId}/products/${encodeURIComponent(identifier)}`;

async function read(catalog: TestCatalog, identifier: string) {
  const { status, body } = await service().call('GET', pathOf(catalog, identifier));
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

test('each uploaded value is shown with its fact, or with the reason why it has none (§14.3 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const attributes = [
    { name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'in', synonyms: ['Länge'] },
    { name: 'Pieces', type: 'NUMERIC_ATTRIBUTE' },
    { name: 'Colour', type: 'TEXT_ATTRIBUTE' },
  ];
  await service().call('PUT', `/management/projects/${catalog.projectId}/ontology`, {
    body: { mode: 'own', attributes },
  });
  await catalog.load({
    identifier: 'A',
    attributes: [
      { key: 'Länge', value: '12.5 in' },
      { key: 'Length', value: '12.5' },
      { key: 'Pieces', value: '3' },
      { key: 'Colour', value: 'red', userGroups: ['trade'] },
      { key: 'Weight', value: '5 kg' },
    ],
  });
  const { values, notExtracted, product: served } = await read(catalog, 'A');
  const [length, pieces, colour] = served.facts;
  const fact = ({ attributeId, valueId, type }: typeof length, more = {}) => ({
    attributeId,
    valueId,
    type,
    ...more,
  });
  assert.deepEqual(
    values.map(({ message: _, ...value }: { message?: string }) => value),
    [
      {
        key: 'Länge',
        value: '12.5 in',
        attribute: 'Length',
        fact: fact(length, { number: 12.5, unit: 'in' }),
      },
      { key: 'Length', value: '12.5', attribute: 'Length', fact: null, code: 'unit_missing' },
      { key: 'Pieces', value: '3', attribute: 'Pieces', fact: fact(pieces, { number: 3 }) },
      { key: 'Colour', value: 'red', userGroups: ['trade'], attribute: 'Colour', fact: fact(colour) },
      { key: 'Weight', value: '5 kg', attribute: null, fact: null, code: 'attribute_unknown' },
    ],
  );
  assert.deepEqual(
    notExtracted.map(({ attribute, code }: { attribute: string; code: string }) => [attribute, code]),
    [
      ['Length', 'unit_missing'],
      ['Weight', 'attribute_unknown'],
    ],
  );
});

test('the last change names its task, which is an update or a re-extraction (§14.3 rule 10)', async () => {
  const catalog = await createCatalog(service());
  const loaded = await catalog.load(
    { identifier: 'A', attributes: [{ key: 'Size', value: '5' }] },
    { identifier: 'B' },
  );
  const changeOf = async (identifier: string) => {
    const { lastChange, product: served } = await read(catalog, identifier);
    assert.equal(lastChange.at, served.lastUpdateTs);
    return lastChange.task;
  };
  assert.deepEqual(await changeOf('A'), loaded);
  const updated = await catalog.patch({ identifier: 'B', name: 'other' });
  assert.deepEqual([await changeOf('A'), await changeOf('B')], [loaded, updated]);
  await service().call('PUT', `/management/projects/${catalog.projectId}/ontology`, {
    body: { mode: 'own', attributes: [] },
  });
  const [extraction] = await catalog.tasks();
  const extracted = await service().ended(extraction.id);
  assert.deepEqual([await changeOf('A'), await changeOf('B')], [extracted, updated]);
});

test('the last change names no task after the task expired (§14.3 rule 10, §10.5)', async () => {
  const catalog = await createCatalog(service());
  const task = await catalog.load({ identifier: 'A' });
  await service().store.change(`delete from task where id = '${task.id}'`);
  const { lastChange, product: served } = await read(catalog, 'A');
  assert.deepEqual(lastChange, { at: served.lastUpdateTs, task: null });
});

async function createTools(): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    product('D1', 'Drills', { Chuck: 'SDS', group: 'D' }),
    product('D2', 'Drills', { Chuck: ['HEX', 'SDS'] }),
    product('B1', 'Bits', { Shank: 'SDS', Price: '2' }),
    product('B2', 'Bits', { Shank: 'SDS', Price: '1', group: 'G' }),
    product('B3', 'Bits', { Shank: 'HEX', Price: '3', group: 'G' }),
    product('B4', 'Bits', { Shank: 'SDS', Price: '0', group: 'D' }),
    product('X', 'Other'),
  );
  return catalog;
}
const FITS = {
  source: under('Drills'),
  target: under('Bits'),
  match: [{ target: 'Shank', operator: 'equals', source: 'Chuck' }],
  sort: [{ attribute: 'Price', direction: 'asc' }],
};

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

async function relationsOf(catalog: RelationCatalog, identifier: string, query = ''): Promise<AnyBody[]> {
  const { status, body } = await service().call('GET', `${pathOf(catalog, identifier)}/relations${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.relations;
}

const namesOf = ({ stands, results }: AnyBody) => [
  stands,
  results.map((result: AnyBody) => result.identifier),
];

for (const twoWay of [false, true]) {
  test(`the relations of a product are listed in both directions: twoWay ${twoWay} (§12.7 rules 1 and 2)`, async () => {
    const catalog = await createTools();
    const { id } = await catalog.relate({ ...FITS, twoWay });
    const expected: [string, [boolean, string[]], [boolean, string[]]][] = [
      ['D1', [true, ['B2', 'B1']], [false, []]],
      ['D2', [true, ['B4', 'B2', 'B3', 'B1']], [false, []]],
      ['B1', [false, []], [true, ['D1', 'D2']]],
      ['B4', [false, []], [true, ['D2']]],
      ['X', [false, []], [false, []]],
    ];
    for (const [identifier, asSource, asTarget] of expected) {
      const [relation, ...others] = await relationsOf(catalog, identifier);
      assert.deepEqual(others, []);
      assert.deepEqual([relation.id, relation.name, relation.state], [id, 'Goes with', 'ready']);
      assert.deepEqual(namesOf(relation.asSource), asSource, identifier);
      const [stands, sources] = namesOf(relation.asTarget);
      assert.deepEqual([stands, sources.toSorted()], asTarget, identifier);
    }
  });
}

test('each related product has the fields of a list and the reason (§12.7 rules 2 and 3)', async () => {
  const catalog = await createTools();
  await catalog.relate(FITS);
  const [{ asTarget }] = await relationsOf(catalog, 'B3');
  const [{ explain, ...shown }] = asTarget.results;
  assert.deepEqual(shown, {
    identifier: 'D2',
    groupId: 'D2',
    name: 'D2',
    image: '',
    thumbnail: '',
    category: ['Drills'],
  });
  assert.deepEqual(explain.match, [
    {
      target: 'Shank',
      operator: 'equals',
      source: 'Chuck',
      holds: true,
      targetValues: ['HEX'],
      sourceValues: ['HEX'],
      say: 'HEX = HEX',
    },
  ]);
  assert.deepEqual([explain.source.holds, explain.target.holds], [true, true]);
});

test('the limit counts groups, and disabled or misconfigured relations are listed with their state (§12.7 rules 1 and 4)', async () => {
  const catalog = await createTools();
  await catalog.relate(FITS);
  await catalog.relate({ ...FITS, tag: 'off', enabled: false });
  await catalog.relate({
    ...FITS,
    tag: 'bad',
    match: [{ target: 'Nothing', operator: 'equals', source: 'Chuck' }],
  });
  const [on, off, bad] = await relationsOf(catalog, 'D2', '?limit=2');
  assert.deepEqual(namesOf(on.asSource), [true, ['B4', 'B2', 'B3']]);
  assert.deepEqual([off.enabled, namesOf(off.asSource)], [false, [true, ['B4', 'B2', 'B3']]]);
  assert.deepEqual([bad.state, bad.asSource, bad.asTarget], ['misconfigured', null, null]);
});

test('an unknown product or project is 404, and an invalid limit is 400 (§12.7, §7.2)', async () => {
  const catalog = await createTools();
  assertRefused(await service().call('GET', `${pathOf(catalog, 'never')}/relations`), 404);
  const unknown = await service().call('GET', pathOf(catalog, 'never'));
  assertRefused(unknown, 404);
  assert.deepEqual(unknown.body.details, ['no product "never"']);
  assertRefused(await service().call('GET', '/management/projects/4711/products/D1/relations'), 404);
  for (const limit of ['0', '101', 'x'])
    assertRefused(await service().call('GET', `${pathOf(catalog, 'D1')}/relations?limit=${limit}`), 400);
});
