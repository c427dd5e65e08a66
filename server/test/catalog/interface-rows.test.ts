// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRelationCatalog } from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

const service = shareService();

const SLOTS = [
  { key: 'Size', value: '2280', row: 1 },
  { key: 'Key', value: 'M', row: 1 },
  { key: 'Size', value: '2280', row: 'second' },
  { key: 'Key', value: 'E', row: 'second' },
  { key: 'Brand', value: 'Acme' },
];
const board = (identifier: string, attributes: readonly object[] = SLOTS) => ({
  identifier,
  name: identifier,
  categories: [{ path: ['Boards'] }],
  attributes,
});
const drive = (identifier: string, Size: string, Key: string) => ({
  identifier,
  name: identifier,
  categories: [{ path: ['Drives'] }],
  attributes: Object.entries({ Size, Key }).map(([key, value]) => ({ key, value })),
});
const FITS = {
  source: { category: ['Boards'] },
  target: { category: ['Drives'] },
  match: [
    {
      together: [
        { target: 'Size', operator: 'equals', source: 'Size' },
        { target: 'Key', operator: 'equals', source: 'Key' },
      ],
    },
  ],
};

test('uploads, lookups, lists and exports keep rows, and a partial update replaces them with their values (§2.2 rule 9, §2.3, §4.3)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(board('B1'), board('B2', [{ key: 'Size', value: '42', row: null }]));
  const facts = async (identifier: string) => {
    const { body } = await catalog.call('GET', `/product-service/product-by-sku?identifier=${identifier}`);
    return body.facts.map(({ attribute, value, row }: Record<string, unknown>) => [attribute, value, row]);
  };
  assert.deepEqual(await facts('B1'), [
    ['Size', '2280', 1],
    ['Key', 'M', 1],
    ['Size', '2280', 'second'],
    ['Key', 'E', 'second'],
    ['Brand', 'Acme', undefined],
  ]);
  assert.deepEqual(await facts('B2'), [['Size', '42', undefined]]);
  const home = `/management/projects/${catalog.projectId}/products`;
  const listed = (await service().call('GET', home)).body.items;
  assert.deepEqual(listed[0].attributes, SLOTS);
  const { values } = (await service().call('GET', `${home}/B1`)).body;
  assert.deepEqual(values?.[0]?.row ?? listed[0].attributes[0].row, 1);

  await catalog.patch({ identifier: 'B1', attributes: { Key: [{ value: 'B', row: 1 }, 'M'], Brand: null } });
  assert.deepEqual(
    (await service().call('GET', home)).body.items[0].attributes.map(
      ({ key, value, row }: Record<string, unknown>) => [key, value, row],
    ),
    [
      ['Size', '2280', 1],
      ['Key', 'B', 1],
      ['Key', 'M', undefined],
      ['Size', '2280', 'second'],
    ],
  );
  for (const row of ['x'.repeat(65), '', 1.5, true]) {
    const refused = await catalog.post('/products', {
      products: [board('B3', [{ key: 'k', value: 'v', row }])],
    });
    assertRefused(refused, 400);
    assert.match(JSON.stringify(refused.body.validation), /attributes\/0\/row/);
  }
});

test('a relation by rows follows uploads, partial updates and the ontology (§12.3 rule 11)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    board('B1'),
    drive('M-2280', '2280', 'M'),
    drive('E-2280', '2280', 'E'),
    drive('M-2230', '2230', 'M'),
  );
  const { id, state } = await catalog.relate(FITS);
  assert.equal(state, 'ready');
  const results = async () => (await catalog.related('B1', id))?.groups.flat();
  assert.deepEqual(await results(), ['E-2280', 'M-2280']);
  await catalog.patch({ identifier: 'B1', attributes: { Size: [{ value: '2230', row: 1 }] } });
  assert.deepEqual(await results(), ['M-2230'], 'the second slot no longer has a size');
  const { body } = await catalog.call('GET', '/product-service/product-by-sku?identifier=B1');
  assert.equal(body.facts.find(({ attribute }: { attribute: string }) => attribute === 'Size').row, 1);
});

test('a row that lacks a value relates to more products than a complete row (§12.3 rules 9 and 11)', async () => {
  const catalog = await createRelationCatalog(service());
  const numbers = (identifier: string, attributes: readonly object[]) => ({
    identifier,
    name: identifier,
    attributes,
  });
  await catalog.load(
    numbers('source', [
      { key: 'Count', value: '1', row: 1 },
      { key: 'Length', value: '1', row: 1 },
      { key: 'Count', value: '2', row: 2 },
    ]),
    numbers('target', [
      { key: 'Count', value: '2' },
      { key: 'Length', value: '10' },
    ]),
  );
  const { id } = await catalog.relate({
    match: [
      {
        together: [
          { target: 'Count', operator: 'greaterOrEqual', source: 'Count', missing: 'passes' },
          { target: 'Length', operator: 'lessOrEqual', source: 'Length', missing: 'passes' },
        ],
      },
    ],
  });
  assert.deepEqual((await catalog.related('source', id))?.groups.flat(), ['target'], 'by the second row');
});
