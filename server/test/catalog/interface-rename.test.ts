// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

const product = (identifier: string, attributes: Record<string, string>) => ({
  identifier,
  name: identifier,
  attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
});

const PRODUCTS = [
  product('CPU-1', { Kind: 'CPU', Socket: 'AM5', Maker: 'Acme' }),
  product('BOARD-1', { Kind: 'Board', Socket: 'AM5', Maker: 'Acme' }),
];

const side = (kind: string) => ({ attribute: 'Kind', operator: 'equals', value: kind });
const RELATION = {
  name: 'Boards',
  tag: 'boards',
  twoWay: false,
  enabled: true,
  names: [],
  excludeSameGroup: true,
  source: { all: [side('CPU'), { not: { attribute: 'Socket', operator: 'equals', value: 'Socket' } }] },
  target: side('Board'),
  match: [{ target: 'Socket', operator: 'equals', source: 'Socket' }],
  sort: [{ attribute: 'Socket', direction: 'asc' }],
};
const CHANNEL = {
  name: 'For programs',
  format: { type: 'ndjson' },
  filter: { attribute: 'Socket', operator: 'exists' },
  mapping: {
    id: { field: 'identifier' },
    socket: { attribute: 'Socket' },
    words: { template: '{Socket}, {{Socket}}' },
  },
};
const PIPELINE = {
  name: 'Nightly',
  source: { type: 'upload' },
  format: { type: 'csv' },
  mode: 'incremental',
  trigger: { type: 'manual' },
  maxDeletePercent: 30,
  onRejectedRow: 'stop',
  minProducts: 1,
  mapping: { identifier: 'sku', name: 'title', attributes: { Socket: 'socket' } },
};

interface Made extends TestCatalog {
  readonly path: string;
  readonly ids: Readonly<Record<'relation' | 'channel' | 'pipeline', number>>;
}

const read = async (path: string) => (await service().call('GET', path)).body;

async function make(): Promise<Made> {
  const catalog = await createCatalog(service());
  await catalog.load(...PRODUCTS);
  const path = `/management/projects/${catalog.projectId}`;
  const create = async (list: string, sent: object): Promise<number> => {
    const { status, body } = await service().call('POST', `${path}/${list}`, { body: sent });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const ids = {
    relation: await create('relations', RELATION),
    channel: await create('channels', CHANNEL),
    pipeline: await create('pipelines', PIPELINE),
  };
  return { ...catalog, path, ids };
}

/** Sends the ontology with the attribute of this name changed. */
async function change(path: string, name: string, changed: object) {
  const { mode, attributes } = await read(`${path}/ontology`);
  const next = attributes.map((attribute: { name: string }) =>
    attribute.name === name ? { ...attribute, ...changed } : attribute,
  );
  return service().call('PUT', `${path}/ontology`, { body: { mode, attributes: next } });
}

const findNamed = async (path: string, name: string) =>
  (await read(`${path}/ontology`)).attributes.find((attribute: { name: string }) => attribute.name === name);

test('renameTo changes the name wherever the attribute is named and keeps the former name as a synonym (§11.8)', async () => {
  const { path, ids } = await make();
  const before = await findNamed(path, 'Socket');
  const answer = await change(path, 'Socket', { renameTo: 'CPU socket' });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const attribute = await findNamed(path, 'CPU socket');
  assert.deepEqual([attribute.id, attribute.synonyms], [before.id, ['Socket']]);
  assert.equal('renameTo' in attribute, false);

  const relation = await read(`${path}/relations/${ids.relation}`);
  assert.notEqual(relation.state, 'misconfigured', relation.problem);
  assert.deepEqual(relation.match, [{ target: 'CPU socket', operator: 'equals', source: 'CPU socket' }]);
  assert.deepEqual(relation.sort, [{ attribute: 'CPU socket', direction: 'asc' }]);
  assert.deepEqual(relation.source.all[1], {
    not: { attribute: 'CPU socket', operator: 'equals', value: 'Socket' },
  });
  const channel = await read(`${path}/channels/${ids.channel}`);
  assert.equal(channel.filter.attribute, 'CPU socket');
  assert.deepEqual(channel.mapping, {
    id: { field: 'identifier' },
    socket: { attribute: 'CPU socket' },
    words: { template: '{CPU socket}, {{Socket}}' },
  });
  // The upload still sends the same key, because the former name is a synonym.
  assert.deepEqual((await read(`${path}/pipelines/${ids.pipeline}`)).mapping, PIPELINE.mapping);
});

test('a second rename that keeps no synonym reverts the first (§11.8)', async () => {
  const { path, ids } = await make();
  const [ontology, relation] = [
    await read(`${path}/ontology`),
    await read(`${path}/relations/${ids.relation}`),
  ];
  await change(path, 'Socket', { renameTo: 'CPU socket' });
  const back = await change(path, 'CPU socket', { renameTo: 'Socket', keepSynonym: false, synonyms: [] });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.deepEqual(await read(`${path}/ontology`), ontology);
  assert.deepEqual((await read(`${path}/relations/${ids.relation}`)).match, relation.match);
});

test('the brand attribute of a project follows a rename (§11.8)', async () => {
  const { path } = await make();
  await service().call('PATCH', path, { body: { settings: { brandAttribute: 'Maker' } } });
  await change(path, 'Maker', { renameTo: 'Brand name' });
  assert.equal((await read(path)).settings.brandAttribute, 'Brand name');
});

test('two attributes exchange names, and all references to them follow (§11.8)', async () => {
  const { path, ids } = await make();
  const { mode, attributes } = await read(`${path}/ontology`);
  const other: Record<string, string> = { Socket: 'Maker', Maker: 'Socket' };
  const swapped = attributes.map((attribute: { name: string }) =>
    other[attribute.name] ? { ...attribute, renameTo: other[attribute.name], keepSynonym: false } : attribute,
  );
  const answer = await service().call('PUT', `${path}/ontology`, { body: { mode, attributes: swapped } });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { match } = await read(`${path}/relations/${ids.relation}`);
  assert.deepEqual(match, [{ target: 'Maker', operator: 'equals', source: 'Maker' }]);
});

test('a preview lists what a rename affects and stores nothing (§11.8)', async () => {
  const { path, ids } = await make();
  const attribute = { ...(await findNamed(path, 'Socket')), renameTo: 'CPU socket' };
  const { body } = await service().call('POST', `${path}/ontology/preview`, { body: { attribute } });
  assert.deepEqual([body.kept, body.lost.count], [2, 0]);
  assert.deepEqual(body.uses, [
    { kind: 'relation', id: ids.relation, name: 'Boards', isRenamed: true },
    { kind: 'channel', id: ids.channel, name: 'For programs', isRenamed: true },
    { kind: 'pipeline', id: ids.pipeline, name: 'Nightly', isRenamed: false },
  ]);
  assert.ok(await findNamed(path, 'Socket'));
  const dropped = { attribute: { ...attribute, keepSynonym: false } };
  const without = (await service().call('POST', `${path}/ontology/preview`, { body: dropped })).body;
  assert.equal(without.lost.count, 2);
  const { renameTo: _, ...plain } = attribute;
  const usual = await service().call('POST', `${path}/ontology/preview`, { body: { attribute: plain } });
  assert.equal('uses' in usual.body, false);
});

test('a rename of an unknown attribute, or to a name in use, is refused and changes nothing (§11.8)', async () => {
  const { path } = await make();
  const ontology = await read(`${path}/ontology`);
  assertRefused(await change(path, 'Socket', { renameTo: 'Maker' }), 400, 'Your body params are not valid');
  const unknown = { name: 'Nothing', type: 'TEXT_ATTRIBUTE', renameTo: 'Something' };
  const body = { mode: ontology.mode, attributes: [...ontology.attributes, unknown] };
  assertRefused(
    await service().call('PUT', `${path}/ontology`, { body }),
    400,
    'Your body params are not valid',
  );
  assert.deepEqual(await read(`${path}/ontology`), ontology);
});
