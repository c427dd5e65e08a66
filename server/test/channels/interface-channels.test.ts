// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createChannelProject, FITS, sold } from '../support/channels/channel-project.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const service = shareService();
const createProject = () => createChannelProject(service());
const NDJSON = { name: 'Everything', format: { type: 'ndjson' } };

const readLines = (text: string): AnyBody[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

test('a build publishes the catalog under an address that needs no key (§16.3, §16.6)', async () => {
  const project = await createProject();
  await project.load(sold('A1'), sold('A2', { Length: '12 in' }));
  const channel = await project.create(NDJSON);
  assert.equal(channel.published, null);
  assert.equal((await project.fetch(channel.url)).status, 404);
  const task = await project.build(channel);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  assert.deepEqual([task.origin, task.name], ['CHANNEL', 'Everything']);
  assert.equal(task.counts.rows, 2);
  const response = await project.fetch(channel.url);
  assert.equal(response.status, 200);
  const rows = readLines(await response.text());
  assert.deepEqual(
    rows.map(({ identifier, name, Length }) => [identifier, name, Length]),
    [
      ['A1', 'Product A1', undefined],
      ['A2', 'Product A2', '12 in'],
    ],
  );
  const { published, lastBuild, url } = await project.read(channel);
  assert.equal(url, channel.url, 'the address stays');
  assert.equal(published.rows, 2);
  assert.deepEqual([lastBuild.taskId, lastBuild.startedBy, lastBuild.counts.rows], [task.id, 'manual', 2]);
  const builds = (await project.manage('GET', `/${channel.id}/builds`)).body;
  assert.deepEqual(
    builds.items.map((build: AnyBody) => build.task.id),
    [task.id],
  );
});

test('published files have an ETag, a date and ranges, and are not packed during transfer (§16.6)', async () => {
  const project = await createProject();
  await project.load(...Array.from({ length: 40 }, (_, index) => sold(`P${index}`)));
  const channel = await project.create({ name: 'Table', format: { type: 'csv' } });
  await project.build(channel);
  const whole = await project.fetch(channel.url, { 'accept-encoding': 'gzip' });
  const bytes = Buffer.from(await whole.arrayBuffer());
  assert.deepEqual(
    ['content-type', 'content-encoding', 'content-length', 'accept-ranges'].map((name) =>
      whole.headers.get(name),
    ),
    ['text/csv; charset=utf-8', null, String(bytes.length), 'bytes'],
  );
  const etag = whole.headers.get('etag') ?? '';
  const modified = whole.headers.get('last-modified') ?? '';
  const [file] = (await project.read(channel)).published.files;
  assert.equal(createHash('sha256').update(bytes).digest('hex'), file.sha256);
  const conditions: readonly Record<string, string>[] = [
    { 'if-none-match': etag },
    { 'if-modified-since': modified },
  ];
  for (const headers of conditions) {
    const unchanged = await project.fetch(channel.url, headers);
    assert.deepEqual([unchanged.status, await unchanged.text()], [304, '']);
  }
  const ranges: readonly [string, Uint8Array][] = [
    ['bytes=0-9', bytes.subarray(0, 10)],
    ['bytes=100-', bytes.subarray(100)],
    ['bytes=-7', bytes.subarray(-7)],
  ];
  for (const [range, expected] of ranges) {
    const part = await project.fetch(channel.url, { range, 'if-range': etag });
    assert.equal(part.status, 206, range);
    assert.match(part.headers.get('content-range') ?? '', new RegExp(`^bytes \\d+-\\d+/${bytes.length}$`));
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), Buffer.from(expected), range);
  }
  const stale = await project.fetch(channel.url, { range: 'bytes=0-9', 'if-range': '"other"' });
  assert.deepEqual([stale.status, (await stale.arrayBuffer()).byteLength], [200, bytes.length]);
  const beyond = await project.fetch(channel.url, { range: `bytes=${bytes.length}-` });
  assert.deepEqual([beyond.status, beyond.headers.get('content-range')], [416, `bytes */${bytes.length}`]);
  const head = await fetch(new URL(new URL(channel.url).pathname, service().address), { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('etag'), await head.text()], [200, etag, '']);
  const index: AnyBody = await (
    await project.fetch(channel.url.replace('products.csv', 'index.json'))
  ).json();
  assert.deepEqual(
    [index.rows, index.files[0].name, index.files[0].sha256],
    [40, 'products.csv', file.sha256],
  );
});

test('one refusal names all unknown tags, attributes and fields (§16.1)', async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  const wrong = {
    name: 'Wrong',
    format: { type: 'google-merchant', variant: 'csv' },
    filter: { attribute: 'Colour of the box', operator: 'exists' },
    mapping: {
      id: { field: 'identifier' },
      title: { attribute: 'Titel' },
      description: { template: '{Brand} {Fehlt} {name}' },
      wheels: { constant: '4' },
      price: { template: '{Price' },
    },
    relations: [{ tag: 'nothing', as: 'accessory' }, { id: 4711, as: 'substitute' }, { as: 'accessory' }],
    trigger: { type: 'schedule', cron: '* * *' },
  };
  const answer = await project.manage('POST', '', { body: wrong });
  assertRefused(answer, 400);
  assert.deepEqual(answer.body.details, [
    '/format/variant: of google-merchant must be one of tsv, xml',
    '/filter: the ontology has no attribute "Colour of the box"',
    '/mapping/wheels: google-merchant has no such field',
    '/mapping/title/attribute: the ontology has no attribute "Titel"',
    '/mapping/description/template: the ontology has no attribute "Fehlt"',
    '/mapping/price/template: has an unmatched brace; write {{ or }} for a literal brace',
    '/relations/0/tag: no relation has the tag "nothing"',
    '/relations/1/id: there is no relation 4711',
    '/relations/2: name either a tag or an id',
    '/trigger/timeZone: is needed for a schedule',
  ]);
  const expression = { ...NDJSON, mapping: { a: { expression: 'name & (' } } };
  assert.match(
    (await project.manage('POST', '', { body: expression })).body.details[0],
    /^\/mapping\/a\/expression: /,
  );
  const two = { ...NDJSON, mapping: { a: { attribute: 'Brand', field: 'name' } } };
  assertRefused(await project.manage('POST', '', { body: two }), 400);
  assert.deepEqual((await project.manage('GET')).body, { items: [], nextCursor: null });
});

test('a channel is read, replaced, moved to a new address and deleted like other definitions (§16.1)', async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  const channel = await project.create(NDJSON);
  const { url: _, published: __, lastBuild: ___, ...definition } = channel;
  assert.deepEqual(
    { ...definition, id: 0, createdAt: 0, updatedAt: 0 },
    {
      ...NDJSON,
      id: 0,
      filter: { all: [] },
      relations: [],
      trigger: { type: 'manual' },
      destinations: [],
      maxDeletePercent: 30,
      maxLeftOutPercent: 100,
      createdAt: 0,
      updatedAt: 0,
    },
  );
  await project.build(channel);
  const same = await project.manage('PUT', `/${channel.id}`, { body: await project.read(channel) });
  assert.deepEqual(
    [same.status, same.body.updatedAt],
    [200, channel.updatedAt],
    'what was read can be put back',
  );
  const stale = { headers: { 'if-match': '"other"' } };
  assertRefused(await project.manage('PUT', `/${channel.id}`, { body: NDJSON, ...stale }), 412);
  const rotated = await project.manage('POST', `/${channel.id}/rotate-url`);
  assert.notEqual(rotated.body.url, channel.url);
  assert.equal((await project.fetch(channel.url)).status, 404, 'the old address has ended');
  assert.equal((await project.fetch(rotated.body.url)).status, 200);
  assert.equal((await project.manage('DELETE', `/${channel.id}`)).status, 200);
  assertRefused(await project.manage('GET', `/${channel.id}`), 404);
  assert.equal((await project.fetch(rotated.body.url)).status, 404);
  const left = (await service().store.listBodies()).filter((name) =>
    name.startsWith(`channel-${channel.id}-`),
  );
  assert.deepEqual(left, [], 'its files are gone');
});

test('a read-only user builds nothing, and a channel of another project is not found (§16.1)', async () => {
  const [project, other] = [await createProject(), await createProject()];
  const channel = await project.create(NDJSON);
  assertRefused(await other.manage('GET', `/${channel.id}`), 404);
  assertRefused(await other.manage('POST', `/${channel.id}/build`), 404);
  const scope = { type: 'project', id: project.projectId };
  const { key } = (
    await service().call('POST', '/management/api-keys', { body: { name: 'reads', scope, access: 'read' } })
  ).body;
  assertRefused(await project.manage('POST', `/${channel.id}/build`, { key }), 401);
  assert.doesNotMatch(
    service().log.join('\n'),
    new RegExp(channel.url.split('/').at(-2)),
    'no log has the address',
  );
});

test('a preview shows the first rows and the missing fields, and stores nothing (§16.5)', async () => {
  const project = await createProject();
  await project.load(
    sold('A1', { Kind: 'drill', System: 'SDS' }),
    sold('B1', { Kind: 'bit', System: 'SDS' }),
    sold('B2', { Kind: 'bit', Price: '' }),
  );
  await project.relate('bits', FITS);
  const definition = {
    name: 'Google',
    format: { type: 'google-merchant' },
    relations: [{ tag: 'bits', as: 'accessory' }],
  };
  const { status, body } = await project.manage('POST', '/preview', { body: definition });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.mapping.price, { attribute: 'Price' });
  const [first] = body.rows;
  assert.deepEqual([first.identifier, first.values.price], ['A1', ['19.99 EUR']]);
  assert.deepEqual(first.related, [{ as: 'accessory', identifiers: ['B1'] }]);
  assert.deepEqual(
    body.missing.map(({ field, products, identifiers }: AnyBody) => [field, products, identifiers]),
    [['price', 1, ['B2']]],
  );
  assert.match(body.missing[0].message, /^lacks price, which google-merchant requires: /);
  assert.match(body.text, /^id\ttitle\t.*\trelated_product\nA1\t.*\taccessory:id:B1\n/);
  assert.deepEqual(body.looked, { products: 3, taken: 3, leftOut: 1 });
  assert.deepEqual((await project.manage('GET')).body.items, []);
  const channel = await project.create(definition);
  const stored = await project.manage('POST', `/${channel.id}/preview`);
  assert.deepEqual(stored.body.rows, body.rows);
  assertRefused(await project.manage('POST', '/preview', { body: { ...definition, filter: { a: 1 } } }), 400);
});
