// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const SIZES = ['24 in', '26 in', '28 in', '29 in'];

const makeProducts = (category: string, count: number, valuesOf: (index: number) => Record<string, string>) =>
  Array.from({ length: count }, (_, index) => ({
    identifier: `${category}-${index}`,
    categories: [{ path: ['Bicycles', category] }],
    attributes: Object.entries(valuesOf(index)).map(([key, value]) => ({ key, value })),
  }));

const SHOP = [
  ...makeProducts('Frames', 24, (index) => ({
    'Wheel size': SIZES[index % 4] ?? '',
    Color: `C${index % 5}`,
  })),
  ...makeProducts('Tyres', 24, (index) => ({
    'Wheel size': SIZES[index % 4] ?? '',
    [index < 12 ? 'Color' : 'Colour']: `C${index % 5}`,
    Weight: index === 0 ? 'light' : `${300 + index} g`,
  })),
  ...makeProducts('Bells', 12, (index) => ({ Weight: `${100 + index} g` })),
];

const pathOf = ({ projectId }: TestCatalog, rest = '') => `/management/projects/${projectId}${rest}`;

async function list(catalog: TestCatalog, query = ''): Promise<AnyBody> {
  const { status, body } = await service().call('GET', pathOf(catalog, `/suggestions${query}`));
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const kindsOf = ({ items }: AnyBody): string[] => items.map(({ kind }: AnyBody) => kind);

async function send(method: string, path: string, body?: object): Promise<AnyBody> {
  const answer = await service().call(method, path, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}

test('each suggestion from the data has a draft that its preview accepts, and none is applied (§17.1)', async () => {
  const catalog = await createCatalog(service());
  assert.deepEqual((await list(catalog)).items, [], 'of an empty catalog');
  await catalog.load(...SHOP);
  const before = await send('GET', pathOf(catalog, '/ontology'));
  const { items, ...looked } = await list(catalog);
  assert.deepEqual(looked, {
    products: 60,
    sampled: false,
    sampledProducts: 60,
    catalogVersion: looked.catalogVersion,
  });
  assert.deepEqual(kindsOf({ items }), ['relation', 'attribute', 'duplicate']);
  const [relation, attribute, duplicate] = items;
  assert.deepEqual([relation.evidence.source.withPartner, relation.evidence.target.withPartner], [24, 24]);
  const tried = await send('POST', pathOf(catalog, '/relations/preview'), relation.draft);
  assert.deepEqual([tried.misconfigured, tried.withResults], [false, 24]);

  assert.deepEqual([attribute.draft.attribute.name, attribute.draft.attribute.unitName], ['Weight', 'g']);
  assert.deepEqual(attribute.evidence.misfits, [{ value: 'light', count: 1, identifiers: ['Tyres-0'] }]);
  const typed = await send('POST', pathOf(catalog, '/ontology/preview'), attribute.draft);
  assert.deepEqual([typed.kept, typed.lost.count], [35, 1]);

  const joined = await send('POST', pathOf(catalog, '/ontology/preview'), duplicate.draft);
  assert.deepEqual([joined.withValue, joined.kept, joined.lost.count], [48, 48, 0]);
  assert.deepEqual(await send('GET', pathOf(catalog, '/ontology')), before);
});

test('a stored draft is no longer suggested, and a change of the catalog is counted again (§17.1)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...SHOP);
  const { items } = await list(catalog);
  await send('POST', pathOf(catalog, '/relations'), items[0].draft);
  assert.deepEqual(kindsOf(await list(catalog)), ['attribute', 'duplicate']);
  const { mode, attributes } = await send('GET', pathOf(catalog, '/ontology'));
  const { attribute, deleted } = items[2].draft;
  const joined = attributes
    .filter(({ id }: AnyBody) => !deleted.includes(id))
    .map((candidate: AnyBody) => (candidate.id === attribute.id ? attribute : candidate));
  await send('PUT', pathOf(catalog, '/ontology'), { mode, attributes: joined });
  assert.deepEqual(kindsOf(await list(catalog)), ['attribute']);
  await catalog.patch(
    ...Array.from({ length: 8 }, (_, index) => ({
      identifier: `Bells-${index}`,
      attributes: [{ key: 'Weight', value: 'heavy' }],
    })),
  );
  assert.deepEqual(kindsOf(await list(catalog)), [], 'fewer than 95 % of the values are a number of grams');
});

test('a dismissed suggestion stays dismissed until a user takes it back, and the audit log names the user (§17.5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...SHOP);
  const [relation] = (await list(catalog, '?kind=relation')).items;
  const dismissal = pathOf(catalog, `/suggestions/${relation.id}/dismissal`);
  await send('PUT', dismissal);
  await send('PUT', dismissal);
  assert.deepEqual(kindsOf(await list(catalog)), ['attribute', 'duplicate']);
  await catalog.patch({ identifier: 'Bells-1', attributes: [{ key: 'Weight', value: '99 g' }] });
  assert.deepEqual(
    kindsOf(await list(catalog)),
    ['attribute', 'duplicate'],
    'of another catalog version too',
  );
  const dismissed = (await list(catalog, '?dismissed=true')).items;
  assert.deepEqual(
    dismissed.map(({ id, dismissed: isDismissed }: AnyBody) => [id, isDismissed]),
    [[relation.id, true]],
  );
  await send('DELETE', dismissal);
  assert.deepEqual(kindsOf(await list(catalog)), ['relation', 'attribute', 'duplicate']);
  const log = await send('GET', `/management/audit-log?projectId=${catalog.projectId}&action=suggestion`);
  assert.deepEqual(
    log.items.map(({ action, subject }: AnyBody) => [action, subject.id, subject.name]),
    [
      ['suggestion.restored', relation.id, undefined],
      ['suggestion.dismissed', relation.id, relation.draft.name],
    ],
  );
  for (const unknown of ['relation-0000000000000000', '%00']) {
    const path = pathOf(catalog, `/suggestions/${unknown}/dismissal`);
    assertRefused(await service().call('PUT', path), 404);
    assertRefused(await service().call('DELETE', path), 404);
  }
  assertRefused(await service().call('DELETE', dismissal), 404);
  assertRefused(await service().call('GET', pathOf(catalog, '/suggestions?kind=all')), 400);
});
