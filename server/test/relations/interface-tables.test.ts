// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { embeddedOnly } from '../support/test-store.ts';

const service = shareService();

const MOUNTS = {
  name: 'lens-mounts',
  pairs: [
    ['Sony E', 'M42'],
    ['Sony E', 'Leica M'],
  ],
};
const FITS = {
  source: under('Cameras'),
  target: under('Lenses'),
  match: [{ target: 'Mount', operator: 'equals', source: 'Mount', table: 'lens-mounts' }],
};

/** @param call method and path below the tables */
function onTables(catalog: RelationCatalog, call: string, options: object = {}) {
  const [method = '', path = ''] = call.split(' ');
  return service().call(method, `/management/projects/${catalog.projectId}/tables${path}`, options);
}

/** After this time, a change is waiting for the lock of the catalog. */
const WAITING_MS = 500;

async function createCameras(): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    product('C1', 'Cameras', { Mount: 'Sony E', Price: '600 W' }),
    product('L1', 'Lenses', { Mount: 'Sony E' }),
    product('L2', 'Lenses', { Mount: 'M42' }),
    product('L3', 'Lenses', { Mount: 'Canon EF' }),
  );
  return catalog;
}

test('tables are created, read, listed, replaced and deleted by name, also at their Location (§12.9, §7.6 rule 7)', async () => {
  const catalog = await createCameras();
  const made = await onTables(catalog, 'POST', { body: MOUNTS });
  assert.equal(made.status, 201);
  const { createdAt, updatedAt, ...rest } = made.body;
  assert.deepEqual(rest, MOUNTS);
  assertRefused(await onTables(catalog, 'POST', { body: MOUNTS }), 409);
  const second = { name: '7', description: 'by number', pairs: [] };
  assert.equal((await onTables(catalog, 'POST', { body: second })).status, 201);
  const named = await onTables(catalog, 'POST', { body: { name: 'Größen/2', pairs: [] } });
  const location = String(named.headers.get('location'));
  assert.equal(location, `/management/projects/${catalog.projectId}/tables/Gr%C3%B6%C3%9Fen%2F2`);
  assert.equal((await service().call('GET', location)).body.name, 'Größen/2');
  assert.equal((await service().call('DELETE', location)).status, 200);
  const { items, nextCursor } = (await onTables(catalog, 'GET')).body;
  assert.deepEqual(
    items.map(({ name }: { name: string }) => name),
    ['7', 'lens-mounts'],
  );
  assert.equal(nextCursor, null);
  const page = (await onTables(catalog, 'GET ?limit=1')).body;
  assert.deepEqual([page.items.length, page.nextCursor], [1, '7']);
  const read = await onTables(catalog, 'GET /lens-mounts');
  assert.deepEqual(read.body, made.body);
  const changed = { ...read.body, pairs: [['Sony E', 'M42']] };
  const put = await onTables(catalog, 'PUT /lens-mounts', { body: changed });
  assert.deepEqual([put.status, put.body.pairs], [200, [['Sony E', 'M42']]]);
  const stale = { headers: { 'if-match': read.headers.get('etag') ?? '' } };
  assertRefused(await onTables(catalog, 'DELETE /lens-mounts', stale), 412);
  assertRefused(await onTables(catalog, 'PUT /lens-mounts', { body: second }), 400);
  assertRefused(await onTables(catalog, 'PUT /no', { body: { name: 'no', pairs: [] } }), 404);
  assert.equal((await onTables(catalog, 'DELETE /7')).status, 200);
  assertRefused(await onTables(catalog, 'GET /7'), 404);
  for (const pairs of [[['a']], [['a', 1]], [['a', 'b', 'c']], 'a', [['', 'b']]])
    assertRefused(await onTables(catalog, 'POST', { body: { name: 'bad', pairs } }), 400);
});

test('a table that relations use cannot be deleted, and its change rebuilds them; without it they are misconfigured (§12.4, §12.9)', async () => {
  const catalog = await createCameras();
  const { id, state, problem } = await catalog.relate(FITS);
  assert.deepEqual([state, problem], ['misconfigured', 'there is no table "lens-mounts"']);
  await onTables(catalog, 'POST', { body: MOUNTS });
  await catalog.settled();
  const results = async () => (await catalog.related('C1', id))?.groups.flat();
  assert.deepEqual(await results(), ['L1', 'L2']);
  const refused = await onTables(catalog, 'DELETE /lens-mounts');
  assertRefused(refused, 409);
  assert.deepEqual(refused.body.details, [`relation ${id}, Goes with`]);
  await onTables(catalog, 'PUT /lens-mounts', { body: { ...MOUNTS, pairs: [['Sony E', 'Canon EF']] } });
  await catalog.settled();
  assert.deepEqual(await results(), ['L1', 'L3']);
  const preview = await catalog.manage('POST', '/preview', { name: 'n', tag: 't', ...FITS });
  assert.deepEqual(preview.body.examples, [{ source: 'C1', results: [['L1'], ['L3']] }]);
  const why = await catalog.manage('POST', `/${id}/explain`, { source: 'C1', target: 'L3' });
  assert.deepEqual(
    [why.body.related, why.body.match[0].table, why.body.match[0].targetValues],
    [true, 'lens-mounts', ['Canon EF']],
  );
  await catalog.manage('DELETE', `/${id}`);
  assert.equal((await onTables(catalog, 'DELETE /lens-mounts')).status, 200);
});

test('numbers in a table have their own unit, which may be any of the dimension (§12.9)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    product('S', 'Sources', { Output: '0.6 kW' }),
    product('T1', 'Targets', { Input: '650 W' }),
    product('T2', 'Targets', { Input: '600 W' }),
    product('T3', 'Targets', { Input: '601 W' }),
  );
  await onTables(catalog, 'POST', {
    body: {
      name: 'powers',
      pairs: [
        ['600 W', '0.65 kW'],
        ['600 m', '601 W'],
      ],
    },
  });
  const { id } = await catalog.relate({
    source: under('Sources'),
    target: under('Targets'),
    match: [{ target: 'Input', operator: 'equals', source: 'Output', table: 'powers' }],
  });
  assert.deepEqual((await catalog.related('S', id))?.groups.flat(), ['T1', 'T2']);
});

test('a pipeline of the mode table creates or replaces a table and builds the relations that use it (§12.9 rule 4, §13.9)', async () => {
  const catalog = await createCameras();
  const { id } = await catalog.relate(FITS);
  const pipelines = `/management/projects/${catalog.projectId}/pipelines`;
  const pipeline = {
    name: 'Mounts',
    source: { type: 'upload' },
    format: { type: 'csv' },
    trigger: { type: 'manual' },
    mode: 'table',
    tableName: 'lens-mounts',
    mapping: { source: 'camera', target: 'lens' },
  };
  const made = await catalog.post(pipelines, pipeline);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const upload = async (body: string) => {
    const task = await catalog.done(
      await service().call('POST', `${pipelines}/${made.body.id}/upload`, { body }),
    );
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    return (await catalog.related('C1', id))?.groups.flat();
  };
  assert.deepEqual(await upload('camera,lens\nSony E,M42\nSony E,M42\n'), ['L1', 'L2']);
  assert.deepEqual((await onTables(catalog, 'GET /lens-mounts')).body.pairs, [['Sony E', 'M42']]);
  assert.deepEqual(await upload('camera,lens\nSony E,Canon EF\nNikon F,M42\n'), ['L1', 'L3']);
  const file = { name: 'a.csv', base64: Buffer.from('camera,lens\nSony E,M42\n').toString('base64') };
  const { mapping: _, ...unmapped } = pipeline;
  const preview = await catalog.post(`${pipelines}/preview`, { ...unmapped, file });
  assert.deepEqual(
    [preview.body.suggestion.mapping, preview.body.rows[0].product],
    [pipeline.mapping, { source: 'Sony E', targets: ['M42'] }],
  );
  const { tableName, ...without } = pipeline;
  const refused = await catalog.post(pipelines, { ...without, relationId: id });
  assertRefused(refused, 400);
  assert.deepEqual(refused.body.details.slice(0, 2), [
    '/relationId: must be left out except in mode links',
    '/tableName: is needed in mode table',
  ]);
});

test('health, preview and task reports name products with too many combinations of values (§12.2 rule 11)', async () => {
  const catalog = await createRelationCatalog(service());
  const many = Array.from({ length: 50 }, (_, index) => `v${index}`);
  const source = product('S', 'Sources', { A: many, B: many });
  await catalog.load(source, product('T', 'Targets', { A: 'v1', B: 'v1' }));
  const equal = (name: string) => ({ target: name, operator: 'equals', source: name });
  const definition = {
    name: 'n',
    tag: 't',
    source: under('Sources'),
    target: under('Targets'),
    match: [equal('A'), equal('B')],
  };
  const { id } = await catalog.relate(definition);
  const cut = { count: 1, identifiers: ['S'] };
  assert.deepEqual((await catalog.manage('GET', `/${id}/health`)).body.cut, cut);
  assert.deepEqual((await catalog.manage('POST', '/preview', definition)).body.cut, cut);

  const readReport = async (taskId: string) => {
    const { body } = await service().call('GET', `/tasks/${taskId}/report`);
    return String(body)
      .split('\n')
      .filter((line) => line.includes('combinations_cut'))
      .map((line) => JSON.parse(line));
  };
  const line = {
    identifier: 'S',
    code: 'combinations_cut',
    count: 2_000,
    message: `relation ${id} uses only the first 2,000 combinations of the product's values and misses matches of the others`,
  };
  const build = (await catalog.tasks()).find(({ name }) => name === 'relation build');
  assert.deepEqual(await readReport(build?.id ?? ''), [line]);
  const update = await catalog.update({ ...source, name: 'renamed' });
  assert.deepEqual(await readReport(update.id), [line]);
  const commit = await catalog.load(source, product('T', 'Targets', { A: 'v1' }));
  assert.deepEqual(await readReport(commit.id), [line]);
});

test('a page of tables ends after 4 MiB (§12.9 rule 1)', async () => {
  const catalog = await createCameras();
  const pairs = Array.from({ length: 3_000 }, (_, index) => [`${index} ${'x'.repeat(900)}`, 'M42']);
  for (const name of ['a', 'b', 'c'])
    assert.equal((await onTables(catalog, 'POST', { body: { name, pairs } })).status, 201);
  const first = (await onTables(catalog, 'GET')).body;
  assert.deepEqual([first.items.map(({ name }: { name: string }) => name), first.nextCursor], [['a'], 'a']);
  const second = (await onTables(catalog, 'GET ?cursor=a')).body;
  assert.deepEqual([second.items.map(({ name }: { name: string }) => name), second.nextCursor], [['b'], 'b']);
  const last = (await onTables(catalog, 'GET ?cursor=b')).body;
  assert.deepEqual([last.items.map(({ name }: { name: string }) => name), last.nextCursor], [['c'], null]);
});

test('an export of relations whose tables have more than 32 MiB is refused (§12.9 rule 5)', async () => {
  const catalog = await createCameras();
  const pairs = Array.from({ length: 20_000 }, (_, index) => [`${index} ${'x'.repeat(900)}`, 'M42']);
  const match = [];
  for (const table of ['a', 'b']) {
    assert.equal((await onTables(catalog, 'POST', { body: { name: table, pairs } })).status, 201);
    match.push({ target: 'Mount', operator: 'equals', source: 'Mount', table });
  }
  await catalog.relate({ ...FITS, match });
  const refusal = await catalog.manage('GET', '/export');
  assertRefused(refusal, 400);
  assert.match(JSON.stringify(refusal.body), /the 2 tables of the relations have 35 MiB/);
});

test('a relation that starts to use a table while the table changes is built (§12.9 rule 3)', {
  ...embeddedOnly('a statement here does what another process would do'),
}, async () => {
  const catalog = await createCameras();
  await onTables(catalog, 'POST', { body: MOUNTS });
  const [{ table: _, ...equal } = { table: '' }] = FITS.match;
  const { id, ...definition } = await catalog.relate({ ...FITS, match: [equal] });
  const { store } = service();
  const file = new DatabaseSync(join(store.dataDir, 'catalogs', `${catalog.projectId}.db`));
  file.exec('begin immediate');
  const put = onTables(catalog, 'PUT /lens-mounts', { body: { ...MOUNTS, pairs: [['Sony E', 'Canon EF']] } });
  await delay(WAITING_MS);
  const changed = JSON.stringify({ ...definition, match: FITS.match });
  file.prepare('update relation set definition = ? where id = ?').run(changed, id);
  file.exec('commit');
  file.close();
  assert.equal((await put).status, 200);
  await catalog.settled();
  assert.equal((await catalog.read(id)).state, 'ready');
  assert.deepEqual((await catalog.related('C1', id))?.groups.flat(), ['L1', 'L3']);
});

test('an export of relations includes the tables that they name, and an import creates them (§12.9 rule 5)', async () => {
  const catalog = await createCameras();
  for (const table of [MOUNTS, { name: 'other', pairs: [] }])
    await onTables(catalog, 'POST', { body: table });
  await catalog.relate(FITS);
  const { body: document } = await catalog.manage('GET', '/export');
  assert.deepEqual(
    document.tables.map(({ name, pairs }: typeof MOUNTS) => ({ name, pairs })),
    [MOUNTS],
  );
  const elsewhere = await createCameras();
  assert.equal((await elsewhere.manage('POST', '/import', document)).status, 200);
  await elsewhere.settled();
  const [{ id, state }] = (await elsewhere.manage('GET')).body.items;
  assert.equal(state, 'ready');
  assert.deepEqual((await elsewhere.related('C1', id))?.groups.flat(), ['L1', 'L2']);
  assert.deepEqual((await onTables(elsewhere, 'GET')).body.items.length, 1);
});
