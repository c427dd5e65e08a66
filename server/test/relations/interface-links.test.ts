// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import {
  createRelationCatalog,
  describeTags,
  encode,
  product,
  type RelationCatalog,
  SINGLE,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

const service = shareService({ settings: { RELATA_UPLOAD_MAX_MIB: '3' } });

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const LINKS = { name: 'Goes with', tag: 'cross-sell', kind: 'links' };
const line = (source: string, ...targets: string[]) => JSON.stringify({ source, targets });
const listOf = (...lines: string[]) => lines.map((line) => `${line}\n`).join('');

async function createLinks(fields: object = {}, settings?: object) {
  const catalog = await createRelationCatalog(service(), settings);
  const { body, status } = await catalog.manage('POST', '', { ...LINKS, ...fields });
  assert.equal(status, 201, JSON.stringify(body));
  return { catalog, relation: body as AnyBody };
}

/** `call` is a method and path such as `PUT 1/links`. A body of bytes is sent as gzip. */
function send(catalog: RelationCatalog, call: string, body: string | Uint8Array) {
  const [method = '', path = ''] = call.split(' ');
  const packed = typeof body !== 'string' && { 'Content-Encoding': 'gzip' };
  const headers = { 'Content-Type': 'application/x-ndjson', ...packed };
  return service().call(method, `/management/projects/${catalog.projectId}/relations/${path}`, {
    body,
    headers,
  });
}

/** Sends lines. @returns the task once it has ended */
const write = async (catalog: RelationCatalog, call: string, lines: readonly string[]): Promise<AnyBody> =>
  catalog.done(await send(catalog, call, listOf(...lines)));

async function logOf({ id }: { id: string }): Promise<string> {
  const { body } = await service().call('GET', `/tasks/${id}/log`);
  return JSON.stringify(body);
}

async function exported(catalog: RelationCatalog, id: number, query = ''): Promise<string> {
  const { status, body } = await catalog.manage('GET', `/${id}/links${query}`);
  assert.equal(status, 200);
  return body;
}

const groupsOf = async (catalog: RelationCatalog, identifier: string, { id }: { id: number }) =>
  (await catalog.related(identifier, id))?.groups;

test('links relate products in the listed order once both products exist, and survive every update (§12.8)', async () => {
  const { catalog, relation } = await createLinks();
  assert.deepEqual(
    [relation.kind, relation.state, relation.source, relation.match],
    ['links', 'ready', { all: [] }, []],
  );
  await catalog.load(product('A1', 'X'), product('B1', 'X'), product('B2', 'X'));
  assert.equal(await groupsOf(catalog, 'A1', relation), undefined, 'an empty list is left out');
  const task = await write(catalog, `PUT ${relation.id}/links`, [
    line('A1', 'B3', 'B2', 'A1', 'B1'),
    line('Z', 'B1'),
  ]);
  assert.equal(task.taskStatus, 'FINISHED');
  assert.deepEqual(await groupsOf(catalog, 'A1', relation), [['B2'], ['B1']]);
  assert.deepEqual(await groupsOf(catalog, 'B1', relation), []);
  await catalog.update(product('B3', 'X'));
  assert.deepEqual(await groupsOf(catalog, 'A1', relation), [['B3'], ['B2'], ['B1']]);
  await catalog.load(product('A1', 'X'), product('B1', 'X'));
  assert.deepEqual(await groupsOf(catalog, 'A1', relation), [['B1']]);
  await catalog.load(product('A1', 'X'), product('B2', 'X'), product('B3', 'X'));
  assert.deepEqual(await groupsOf(catalog, 'A1', relation), [['B3'], ['B2']]);
});

test('PUT replaces all links, PATCH those of its sources, and GET exports them in their order (§12.8)', async () => {
  const { catalog, relation } = await createLinks();
  const path = `${relation.id}/links`;
  const lines = [line('A2', 'B2', 'B1'), line('ä "1"', 'B9'), line('A1', 'B1')];
  const task = await write(catalog, `PUT ${path}`, [...lines, line('A1', 'B3', 'B1'), line('none'), '']);
  assert.match(await logOf(task), /created 5, deleted 0, unchanged 0 pairs: now 5 of 3 sources/);
  const first = listOf(lines[0] as string, lines[1] as string, line('A1', 'B1', 'B3'));
  assert.equal(await exported(catalog, relation.id), first, 'lines of one source are one list');
  assert.equal(await exported(catalog, relation.id, '?source=A2'), listOf(line('A2', 'B2', 'B1')));
  assert.equal(await exported(catalog, relation.id, '?source=B2'), '');
  const changed = await write(catalog, `PATCH ${path}`, [
    line('A1', 'B1'),
    line('N', 'B4', 'B5'),
    line('ä "1"'),
  ]);
  assert.match(await logOf(changed), /created 2, deleted 2, unchanged 1 pairs: now 5 of 3 sources/);
  const second = listOf(line('A2', 'B2', 'B1'), line('A1', 'B1'), line('N', 'B4', 'B5'));
  assert.equal(await exported(catalog, relation.id), second);
  const packed = await send(catalog, `PUT ${path}`, gzipSync(second));
  assert.match(await logOf(await catalog.done(packed)), /created 0, deleted 0, unchanged 5 pairs/);
  assert.equal(await exported(catalog, relation.id), second, 'an export can be sent back');
  await write(catalog, `PUT ${path}`, [line('A1')]);
  assert.equal(await exported(catalog, relation.id), '');
});

test('the report of a list names each source with over 1,000 targets and keeps its first 1,000 (§12.8)', async () => {
  const { catalog, relation } = await createLinks();
  const targets = Array.from({ length: 600 }, (_, index) => `B${index}`);
  const others = targets.map((target) => `${target}-2`);
  const lines = [line('A1', ...targets), line('A2', 'B1'), line('A1', ...others)];
  const task = await write(catalog, `PUT ${relation.id}/links`, lines);
  assert.deepEqual(
    (await catalog.report(task)).map(({ identifier, code, message }) => [identifier, code, message]),
    [['A1', 'too_many_targets', 'a source has at most 1000 targets; further targets are omitted']],
  );
  const first = [...targets, ...others].slice(0, 1_000);
  assert.equal(await exported(catalog, relation.id), listOf(line('A1', ...first), line('A2', 'B1')));
});

test('the delete guard counts pairs, and allowDeletes must be exact (§12.8)', async () => {
  const { catalog, relation } = await createLinks({}, { maxDeletePercent: 50 });
  const path = `${relation.id}/links`;
  await write(catalog, `PUT ${path}`, [line('A1', 'B1', 'B2'), line('A2', 'B1', 'B2')]);
  const less = listOf(line('A1', 'B2', 'B9'), line('A1', 'B2'));
  const refused = await send(catalog, `PUT ${path}`, less);
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /^The last full update has been rejected because/);
  assert.match(refused.body.details.join(), /would delete 3 of 4 pairs \(75 %\).*links\?allowDeletes=3/);
  const inexact = await send(catalog, `PUT ${path}?allowDeletes=2`, less);
  assertRefused(
    inexact,
    400,
    'The list of links would delete 3 pairs, but allowDeletes is 2: send allowDeletes=3 to confirm these deletes',
  );
  await catalog.done(await send(catalog, `PUT ${path}?allowDeletes=3`, less));
  assert.equal(await exported(catalog, relation.id), listOf(line('A1', 'B2', 'B9')));
  const release = await catalog.hold();
  const late = await send(catalog, `PUT ${path}`, listOf(line('A1', 'B9'), line('A3', 'B1')));
  const before = await send(catalog, `PATCH ${path}`, listOf(line('A4', 'B1')));
  await release();
  assert.equal((await catalog.done(late)).taskStatus, 'FINISHED', 'in the order of their acceptance');
  assert.equal((await catalog.done(before)).taskStatus, 'FINISHED');
  assert.equal(
    await exported(catalog, relation.id),
    listOf(line('A1', 'B9'), line('A3', 'B1'), line('A4', 'B1')),
  );
});

test('a quantity of a target is kept, exported and explained, and does not create another pair (§12.8 rule 10)', async () => {
  const { catalog, relation } = await createLinks({ twoWay: true });
  const path = `${relation.id}/links`;
  await catalog.load(...['A1', 'A2', 'B1'].map((identifier) => product(identifier, 'X')));
  const counted = (identifier: string, quantity: number) => ({ identifier, quantity });
  const lineOf = (source: string, ...targets: unknown[]) => JSON.stringify({ source, targets });
  const sent = [
    lineOf('A1', 'B2', counted('B1', 3), { identifier: 'B3' }, counted('B1', 4)),
    lineOf('A2', counted('B1', 1_000_000)),
    lineOf('A1', counted('B4', 2), counted('B2', 9)),
  ];
  await write(catalog, `PUT ${path}`, sent);
  const first = listOf(
    lineOf('A1', 'B2', counted('B1', 3), 'B3', counted('B4', 2)),
    lineOf('A2', counted('B1', 1_000_000)),
  );
  assert.equal(await exported(catalog, relation.id), first, 'of a repeated target the first counts');
  const again = await catalog.done(await send(catalog, `PUT ${path}`, first));
  assert.match(await logOf(again), /created 0, deleted 0, unchanged 5 pairs/);
  assert.equal(await exported(catalog, relation.id), first, 'an export can be sent back');
  const changed = await write(catalog, `PATCH ${path}`, [lineOf('A2', counted('B1', 2))]);
  assert.match(await logOf(changed), /created 0, deleted 0, unchanged 1 pairs/);
  assert.equal(await exported(catalog, relation.id, '?source=A2'), listOf(lineOf('A2', counted('B1', 2))));
  const { body } = await catalog.manage('POST', `/${relation.id}/explain`, { source: 'A1', target: 'B1' });
  assert.deepEqual(body.listed, { by: 'A1', position: 2, quantity: 3 });
  const request = { identifier: 'B1', explain: true, includeRelations: [{ id: relation.id }] };
  const { body: back } = await catalog.call('GET', `${SINGLE}?${encode(request)}`);
  const reasons = back.tags[0].relations[0].searchResult.map(({ explain }: AnyBody) => explain.listed);
  assert.deepEqual(reasons, [
    { by: 'A1', position: 2, quantity: 3 },
    { by: 'A2', position: 1, quantity: 2 },
  ]);
});

const MISTAKES: readonly [string, RegExp][] = [
  ['', /at least one line/],
  ['{"source":"A1","targets":["B1"]}\n{"source":', /^line 2 is not JSON/],
  ['\n{"source":"","targets":["B1"]}', /^line 2: \/source must be an identifier/],
  ['{"source":"A1","targets":["B1",2]}', /^line 1: \/targets\/1 must be an identifier/],
  ['{"source":"A1","targets":"B1"}', /^line 1: \/targets must be a list/],
  ['{"source":"A1","targets":[],"other":1}', /^line 1: \/other is unknown/],
  [
    '{"source":"A1","targets":[{"identifier":"B1","quantity":0}]}',
    /^line 1: \/targets\/0\/quantity must be an integer/,
  ],
  ['{"source":"A1","targets":[{"quantity":1,"n":2}]}', /^line 1: \/targets\/0\/n is unknown/],
  ['{"source":"A1","targets":[[1,1]]}', /^line 1: \/targets\/0 must be an identifier/],
  ['["A1"]', /^line 1 must be an object/],
  [`{"source":"A1","targets":["${'x'.repeat(256)}"]}`, /^line 1: \/targets\/0 must be an identifier/],
  ['{"source":"A\\u0000","targets":[]}', /^line 1: \/source must be an identifier/],
  [`{"source":"A1","targets":[${Array(1_001).fill('"B"').join()}]}`, /targets must have at most 1000/],
  ['\n'.repeat(1_100_000), /^line 1000001 is too many/],
  [`{"source":"A1","targets":[${' '.repeat(2 * 1024 * 1024)}]}`, /^line 1 must not be longer/],
];

test('a list is refused with the line and the field, and none of it is stored (§12.8)', async () => {
  const { catalog, relation } = await createLinks();
  const path = `${relation.id}/links`;
  for (const [text, mistake] of MISTAKES) {
    const { status, body } = await send(catalog, `PUT ${path}`, text);
    assert.deepEqual([status, body.message], [400, 'Your body params are not valid'], text.slice(0, 60));
    assert.match(body.details[0], mistake);
  }
  const long = gzipSync(listOf(line('A1', 'x'.repeat(200))).repeat(16 * 1024));
  assert.equal((await send(catalog, `PUT ${path}`, long)).status, 413);
  assert.equal(await exported(catalog, relation.id), '');
  const rule = await catalog.relate({ name: 'Rule' });
  for (const method of ['PUT', 'PATCH', 'GET']) {
    const sent = method === 'GET' ? '' : listOf(line('A', 'B'));
    const ask = (id: number) =>
      method === 'GET' ? catalog.manage('GET', `/${id}/links`) : send(catalog, `${method} ${id}/links`, sent);
    assert.equal((await ask(rule.id)).status, 409);
    assertRefused(await ask(99), 404, 'Not Found');
  }
  for (const wrong of [
    { source: { category: ['X'] } },
    { match: [{ target: 'a', operator: 'equals', source: 'b' }] },
  ])
    assert.equal((await catalog.manage('POST', '', { ...LINKS, ...wrong })).status, 400);
  const ofKind = (kind: string) => ({ name: 'n', tag: 't', kind, source: { all: [] }, target: { all: [] } });
  assert.equal((await catalog.manage('PUT', `/${relation.id}`, ofKind('rule'))).status, 400);
  assert.equal((await catalog.manage('PUT', `/${rule.id}`, ofKind('links'))).status, 400);
  assert.equal((await catalog.manage('PUT', `/${rule.id}`, ofKind('rule'))).status, 200);
});

test('explain, preview, health and the product page name the list behind a link (§12.6, §12.7, §12.8)', async () => {
  const { catalog, relation } = await createLinks({ twoWay: true });
  await catalog.load(...['A1', 'A2', 'B1', 'B2'].map((identifier) => product(identifier, 'X')));
  await write(catalog, `PUT ${relation.id}/links`, [
    line('A2', 'Z', 'B1'),
    line('A1', 'B2', 'B1'),
    line('Q', 'B1'),
  ]);
  const request = { identifier: 'B1', explain: true, includeRelations: [{ id: relation.id }] };
  const { body } = await catalog.call('GET', `${SINGLE}?${encode(request)}`);
  const way = body.tags[0].relations[0];
  assert.deepEqual(
    [way.matchType, way.searchResult.map(({ identifier, explain }: AnyBody) => [identifier, explain.listed])],
    [
      'SECOND_WAY',
      [
        ['A2', { by: 'A2', position: 2 }],
        ['A1', { by: 'A1', position: 2 }],
      ],
    ],
  );
  const explained = await catalog.manage('POST', `/${relation.id}/explain`, { source: 'A1', target: 'B1' });
  const { related, matchType, rank, listed, match } = explained.body;
  assert.deepEqual(
    [related, matchType, rank, listed, match],
    [true, 'FIRST_WAY', 2, { by: 'A1', position: 2 }, []],
  );
  const other = await catalog.manage('POST', `/${relation.id}/explain`, { source: 'A2', target: 'B2' });
  assert.deepEqual([other.body.related, other.body.listed], [false, null]);
  const { body: health } = await catalog.manage('GET', `/${relation.id}/health`);
  assert.deepEqual(
    [health.source, health.target, health.withResults, health.links],
    [{ products: 2 }, { products: 2 }, 2, { sources: 3, pairs: 5 }],
  );
  assert.deepEqual(health.examples, [
    { source: 'A1', results: [['B2'], ['B1']] },
    { source: 'A2', results: [['B1']] },
  ]);
  const tried = (await catalog.manage('POST', '/preview', { ...LINKS, id: relation.id })).body;
  assert.deepEqual([tried.misconfigured, tried.links], [false, { sources: 3, pairs: 5 }]);
  assert.deepEqual((await catalog.manage('POST', '/preview', LINKS)).body.links, { sources: 0, pairs: 0 });
  const page = await service().call('GET', `/management/projects/${catalog.projectId}/products/B1/relations`);
  const { asSource, asTarget } = page.body.items?.[0] ?? page.body.relations[0];
  assert.deepEqual([asSource.stands, asTarget.stands], [false, true]);
  assert.deepEqual(
    asTarget.results.map(({ identifier, explain }: AnyBody) => [identifier, explain.listed.by]),
    [
      ['A2', 'A2'],
      ['A1', 'A1'],
    ],
  );
});

test('an import keeps the links of relations that it keeps, and a deleted relation loses its links (§12.8)', async () => {
  const { catalog, relation } = await createLinks();
  await write(catalog, `PUT ${relation.id}/links`, [line('A1', 'B1')]);
  const document = (await catalog.manage('GET', '/export')).body;
  assert.equal(document.relations[0].kind, 'links');
  const renamed = { relations: [{ ...document.relations[0], name: 'Other', twoWay: true }] };
  const { body } = await catalog.manage('POST', '/import', renamed);
  assert.deepEqual(
    [body.items[0].id, body.items[0].name, body.items[0].state],
    [relation.id, 'Other', 'ready'],
  );
  assert.equal(await exported(catalog, relation.id), listOf(line('A1', 'B1')));
  const rule = { ...renamed.relations[0], kind: 'rule' };
  const other = (await catalog.manage('POST', '/import', { relations: [rule] })).body.items;
  assert.notEqual(other[0].id, relation.id, 'a rule is another relation');
  assertRefused(await catalog.manage('GET', `/${relation.id}/links`), 404, 'Not Found');
});

test('the list of a deleted relation ends as FAILED, and a cancelled list changes nothing (§12.8)', async () => {
  const { catalog, relation } = await createLinks();
  await write(catalog, `PUT ${relation.id}/links`, [line('A1', 'B1')]);
  const release = await catalog.hold();
  const cancelled = await send(catalog, `PATCH ${relation.id}/links`, listOf(line('A1', 'B2')));
  assert.equal((await catalog.post(`/tasks/${cancelled.body.task.id}/cancel`)).status, 200);
  assert.equal(await exported(catalog, relation.id), listOf(line('A1', 'B1')));
  const failed = await send(catalog, `PUT ${relation.id}/links`, listOf(line('A1', 'B3')));
  assert.equal((await catalog.manage('DELETE', `/${relation.id}`)).status, 200);
  await release();
  assert.equal((await catalog.done(failed)).taskStatus, 'FAILED');
});

/** A second implementation of §12.8, as simple as possible. */
function relateAsListed(
  {
    lists,
    present,
    twoWay,
    excludes,
  }: {
    lists: readonly [string, readonly string[]][];
    present: ReadonlyMap<string, string>;
    twoWay: boolean;
    excludes: boolean;
  },
  identifier: string,
  limit: number,
) {
  const gather = (targets: readonly string[]) => {
    const groups = new Map<string, string[]>();
    for (const target of targets) {
      const group = present.get(target);
      if (group === undefined || target === identifier || (excludes && group === present.get(identifier)))
        continue;
      groups.set(group, [...(groups.get(group) ?? []), target]);
    }
    return [...groups.values()].slice(0, limit);
  };
  if (!present.has(identifier)) return { matchType: 'FIRST_WAY', groups: [] };
  const first = gather(lists.find(([source]) => source === identifier)?.[1] ?? []);
  const back = gather(lists.filter(([, targets]) => targets.includes(identifier)).map(([source]) => source));
  const isBack = first.length === 0 && twoWay && back.length > 0;
  return isBack ? { matchType: 'SECOND_WAY', groups: back } : { matchType: 'FIRST_WAY', groups: first };
}

test('answers from random lists of links equal those of a brute force over the list (§12.8)', async () => {
  const name = fc.constantFrom(...Array.from({ length: 12 }, (_, index) => `P${index}`));
  const targets = fc.uniqueArray(name, { maxLength: 8 });
  const world = fc.record({
    lists: fc.uniqueArray(fc.tuple(name, targets), {
      selector: ([source]) => source,
      minLength: 1,
      maxLength: 10,
    }),
    changed: fc.uniqueArray(fc.tuple(name, targets), {
      selector: ([source]) => source,
      minLength: 1,
      maxLength: 3,
    }),
    present: fc.uniqueArray(fc.tuple(name, fc.constantFrom('G1', 'G2', 'G3', 'G4')), {
      selector: ([identifier]) => identifier,
      minLength: 6,
    }),
    twoWay: fc.boolean(),
    excludes: fc.boolean(),
    limit: fc.integer({ min: 1, max: 5 }),
  });
  for (const { lists, changed, present, twoWay, excludes, limit } of fc.sample(world, {
    numRuns: 6,
    seed: 15,
  })) {
    const { catalog, relation } = await createLinks({ twoWay, excludeSameGroup: excludes });
    await catalog.load(...present.map(([identifier, group]) => product(identifier, 'X', { group })));
    await write(
      catalog,
      `PUT ${relation.id}/links`,
      lists.map(([source, list]) => line(source, ...list)),
    );
    await write(
      catalog,
      `PATCH ${relation.id}/links`,
      changed.map(([source, list]) => line(source, ...list)),
    );
    const merged = new Map(lists.filter(([, list]) => list.length > 0));
    for (const [source, list] of changed) {
      if (list.length > 0) merged.set(source, list);
      else merged.delete(source);
    }
    const state = { lists: [...merged], present: new Map(present), twoWay, excludes };
    const targetsThere = [...merged.values()].flat().some((target) => state.present.has(target));
    const identifiers = Array.from({ length: 12 }, (_, index) => `P${index}`);
    const answer = await catalog.bulk({ identifiers, includeRelations: [{ id: relation.id, limit }] });
    for (const requested of identifiers) {
      const [answered] = describeTags(answer[requested]);
      const wanted = { id: relation.id, ...relateAsListed(state, requested, limit) };
      assert.deepEqual(
        answered,
        targetsThere ? wanted : undefined,
        JSON.stringify({ asked: requested, known: state, present, limit }),
      );
    }
  }
});

const MAGENTO = `sku,name,related_skus,upsell_skus
A1,Drill,"B2, B1",C1
A2,Saw,,
A1,Drill,B3,
`;
const BMECAT = `<BMECAT version="2005"><HEADER><CATALOG><CURRENCY>EUR</CURRENCY></CATALOG></HEADER><T_NEW_CATALOG>
<PRODUCT><SUPPLIER_PID>A1</SUPPLIER_PID><PRODUCT_DETAILS><DESCRIPTION_SHORT>Drill</DESCRIPTION_SHORT></PRODUCT_DETAILS>
<PRODUCT_REFERENCE type="accessories"><PROD_ID_TO>B2</PROD_ID_TO></PRODUCT_REFERENCE>
<PRODUCT_REFERENCE type="accessories"><PROD_ID_TO>B1</PROD_ID_TO></PRODUCT_REFERENCE>
<PRODUCT_REFERENCE type="similar"><PROD_ID_TO>A2</PROD_ID_TO></PRODUCT_REFERENCE></PRODUCT>
</T_NEW_CATALOG></BMECAT>`;

test('a pipeline of the mode links replaces the links of a relation with those of a file (§13.9)', async () => {
  const { catalog, relation } = await createLinks();
  const pipelines = `/management/projects/${catalog.projectId}/pipelines`;
  const create = (fields: object) =>
    catalog.post(pipelines, {
      name: 'Cross-sell',
      source: { type: 'upload' },
      mode: 'links',
      trigger: { type: 'manual' },
      ...fields,
    });
  const upload = async (id: number, body: string) =>
    catalog.done(await service().call('POST', `${pipelines}/${id}/upload`, { body }));
  const magento = {
    relationId: relation.id,
    format: { type: 'csv' },
    mapping: { source: 'sku', targets: ['related_skus', 'upsell_skus'], separator: ',' },
  };
  const { body: pipeline } = await create(magento);
  const task = await upload(pipeline.id, MAGENTO);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  assert.equal(await exported(catalog, relation.id), listOf(line('A1', 'B2', 'B1', 'C1', 'B3')));
  const runs = await service().call('GET', `${pipelines}/${pipeline.id}/runs`);
  assert.deepEqual([runs.body.items[0].counts.products, runs.body.items[0].counts.created], [3, 4]);
  const shrunk = await upload(pipeline.id, 'sku,related_skus,upsell_skus\nA1,B2,\n');
  assert.equal(shrunk.taskStatus, 'FAILED');
  assert.match(JSON.stringify(shrunk), /would delete 3 of 4 pairs .* maxDeletePercent/);
  const bmecat = { ...magento, format: { type: 'bmecat' }, maxDeletePercent: 100 };
  const mapping = { source: 'SUPPLIER_PID', targets: 'REFERENCE.accessories' };
  const { body: other } = await create({ ...bmecat, mapping });
  assert.equal((await upload(other.id, BMECAT)).taskStatus, 'FINISHED');
  assert.equal(await exported(catalog, relation.id), listOf(line('A1', 'B2', 'B1')));
  const parts = 'sku,part,many\nA1,B1,2\nA1,B2|B3,4|5\nA2,B1|B2,6\nA3,B1,\nA4,B1|B2|B3,1|2\nA5,B1,none\n';
  const { body: counted } = await create({
    relationId: relation.id,
    format: { type: 'csv' },
    maxDeletePercent: 100,
    onRejectedRow: 'continue',
    mapping: { source: 'sku', targets: 'part', quantity: 'many', separator: '|' },
  });
  const some = await upload(counted.id, parts);
  assert.equal(some.taskStatus, 'FINISHED', JSON.stringify(some));
  assert.equal(
    await exported(catalog, relation.id),
    '{"source":"A1","targets":[{"identifier":"B1","quantity":2},{"identifier":"B2","quantity":4},{"identifier":"B3","quantity":5}]}\n' +
      '{"source":"A2","targets":[{"identifier":"B1","quantity":6},{"identifier":"B2","quantity":6}]}\n' +
      `${line('A3', 'B1')}\n`,
  );
  const { body: rejected } = await service().call('GET', `/tasks/${some.id}/report`);
  assert.match(String(rejected), /quantity has 2 values for 3 targets/);
  assert.match(String(rejected), /quantity is not a whole number from 1 to 1000000/);
  const { body: unsplit } = await create({
    relationId: relation.id,
    format: { type: 'csv' },
    maxDeletePercent: 100,
    mapping: { source: 'sku', targets: 'fits' },
  });
  const lists = await upload(unsplit.id, 'sku,fits\nA1,B1|B2\nA2,B2|B3\nA3,B1\n');
  const { body: report } = await service().call('GET', `/tasks/${lists.id}/report`);
  assert.match(
    String(report),
    /"code":"list_unsplit","column":"fits","message":"the column contains 3 different values, separated by \|/,
  );
  const { body: preview } = await catalog.post(`${pipelines}/preview`, {
    source: { type: 'upload' },
    format: { type: 'csv' },
    mode: 'links',
    file: { name: 'a.csv', base64: Buffer.from(MAGENTO).toString('base64') },
  });
  assert.deepEqual(preview.suggestion.mapping, magento.mapping);
  assert.deepEqual(preview.rows[0].product, { source: 'A1', targets: ['B2', 'B1', 'C1'] });
  for (const [wrong, problem] of [
    [{ relationId: undefined }, /relationId: is needed/],
    [{ mapping: undefined }, /mapping: is needed/],
    [{ mapping: { identifier: 'sku', name: 'name' } }, /source and targets are needed/],
    [{ mapping: { ...magento.mapping, name: 'name' } }, /name: must be left out/],
    [{ mapping: { ...magento.mapping, quantity: 'n' } }, /quantity must have as many columns as targets: 2/],
    [{ mode: 'full' }, /relationId: must be left out/],
    [{ format: { type: 'native' }, mapping: undefined }, /a native file contains products/],
  ] as const) {
    const { status, body } = await create({ ...magento, ...wrong });
    assert.equal(status, 400);
    assert.match(body.details.join('\n'), problem);
  }
});
