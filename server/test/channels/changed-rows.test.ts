// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ChannelProject,
  createChannelProject,
  FITS,
  sold,
} from '../support/channels/channel-project.ts';
import { shareService } from '../support/shared-service.ts';
import type { TestService } from '../support/test-service.ts';

/** Builds that contain only the changes since the previous build (§16.3 rule 11). */
let service: TestService;
shareService({}, async (started) => {
  service = started;
});

const MAPPING = {
  identifier: { field: 'identifier' },
  name: { field: 'name' },
  price: { attribute: 'Price' },
};

/** A project with three products and a channel that publishes changes. */
async function open(definition: object) {
  const project = await createChannelProject(service);
  await project.load(sold('A'), sold('B'), sold('C'));
  const channel = await project.create({
    name: 'Changes',
    changes: true,
    maxDeletePercent: 100,
    ...definition,
  });
  return { project, channel, lines: () => buildLines(project, channel) };
}

async function buildLines(project: ChannelProject, channel: { id: number; url: string }): Promise<string[]> {
  const task = await project.build(channel);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const text = await (await project.fetch(channel.url)).text();
  return text.split('\n').filter((line) => line !== '');
}

const remove = async (project: ChannelProject, ...identifiers: string[]) =>
  project.done(await project.call('DELETE', '/products', { body: { identifiers } }));
const restore = async (project: ChannelProject) =>
  project.done(await project.post('/products/batch/restore'));

const index = async (project: ChannelProject, { url }: { url: string }) =>
  (await project.fetch(new URL('index.json', url).href)).json() as Promise<{ rows: number; since?: string }>;

test('the first build is complete, and the next build contains changed rows and rows of deleted products (§16.3 rule 11)', async () => {
  const { project, channel, lines } = await open({ format: { type: 'csv' }, mapping: MAPPING });
  assert.deepEqual(await lines(), [
    'identifier,name,price,removed',
    ...['A', 'B', 'C'].map((identifier) => `${identifier},Product ${identifier},19.99 EUR,`),
  ]);
  assert.equal((await index(project, channel)).since, undefined);
  assert.deepEqual(await lines(), ['identifier,name,price,removed']);
  await project.update(sold('A', { Price: '20.00 EUR' }), sold('D'));
  await remove(project, 'B');
  assert.deepEqual(await lines(), [
    'identifier,name,price,removed',
    'A,Product A,20.00 EUR,',
    'D,Product D,19.99 EUR,',
    'B,,,true',
  ]);
  const { rows, since } = await index(project, channel);
  assert.equal(rows, 3);
  assert.ok(since);
  const { lastBuild } = await project.read(channel);
  assert.deepEqual([lastBuild.counts.rows, lastBuild.counts.unchanged, lastBuild.counts.removed], [3, 1, 1]);
});

test('a commit undone between two builds is not a change, and undoing a published commit is one (§16.3 rule 11)', async () => {
  const { project, lines } = await open({ format: { type: 'ndjson' }, mapping: MAPPING });
  await lines();
  await remove(project, 'C');
  await restore(project);
  assert.deepEqual(await lines(), []);
  await remove(project, 'C');
  assert.deepEqual(await lines(), ['{"identifier":"C","removed":true}']);
  await restore(project);
  assert.deepEqual(await lines(), ['{"identifier":"C","name":"Product C","price":"19.99 EUR"}']);
});

test('a failed build loses no change, because the next build is compared with the published one (§16.3 rule 11)', async () => {
  const { project, channel, lines } = await open({
    format: { type: 'ndjson' },
    mapping: MAPPING,
    maxDeletePercent: 40,
  });
  await lines();
  await remove(project, 'A', 'B');
  assert.equal((await project.build(channel)).taskStatus, 'FAILED');
  await project.update(sold('A'), sold('C', { Price: '5.00 EUR' }));
  assert.deepEqual(await lines(), [
    '{"identifier":"C","name":"Product C","price":"5.00 EUR"}',
    '{"identifier":"B","removed":true}',
  ]);
});

test('a build is complete after one that did not reach a destination, because its changes were not sent there (§16.3 rule 11)', async () => {
  // An address that deliveries may not reach, so each delivery is refused immediately.
  const destination = {
    type: 'sftp',
    host: '127.0.0.1',
    port: 1,
    user: 'shop',
    password: 'secret',
    hostKey: `SHA256:${'A'.repeat(43)}`,
  };
  const definition = { name: 'Changes', changes: true, format: { type: 'csv' }, mapping: MAPPING };
  const { project, channel, lines } = await open({ ...definition, destinations: [destination] });
  const { error } = await project.build(channel);
  assert.equal(error.code, 'channel_undelivered');
  const { status } = await project.manage('PUT', `/${channel.id}`, { body: definition });
  assert.equal(status, 200);
  assert.equal((await lines()).length, 4);
  assert.equal((await lines()).length, 1);
});

test('changed columns make the next build complete (§16.3 rule 11)', async () => {
  const { project, channel, lines } = await open({ format: { type: 'csv' }, mapping: MAPPING });
  await lines();
  const { price: _, ...mapping } = MAPPING;
  const body = { name: 'Changes', changes: true, format: { type: 'csv' }, mapping };
  assert.equal((await project.manage('PUT', `/${channel.id}`, { body })).status, 200);
  assert.equal((await lines()).length, 4);
});

test('in shop formats, a row whose related products changed is published, and a deleted product gets empty lists (§16.3 rule 11)', async () => {
  const project = await createChannelProject(service);
  const drill = sold('A', { Kind: 'drill', System: 'SDS' });
  const bit = (identifier: string) => sold(identifier, { Kind: 'bit', System: 'SDS' });
  await project.load(drill, bit('B'), bit('C'));
  await project.relate('bits', FITS);
  const relations = [{ tag: 'bits', as: 'accessory' }];
  const channels = await Promise.all(
    ['magento-csv', 'woocommerce-csv', 'shopify-csv'].map((type) =>
      project.create({ name: type, changes: true, maxDeletePercent: 100, format: { type }, relations }),
    ),
  );
  for (const channel of channels) await buildLines(project, channel);
  await remove(project, 'C');
  const built: string[][] = [];
  for (const channel of channels) built.push((await buildLines(project, channel)).slice(1));
  assert.deepEqual(built, [
    [
      'A,__EMPTY__VALUE__,__EMPTY__VALUE__,__EMPTY__VALUE__',
      'A,B,__EMPTY__VALUE__,__EMPTY__VALUE__',
      'C,__EMPTY__VALUE__,__EMPTY__VALUE__,__EMPTY__VALUE__',
    ],
    ['A,Product A,B,', 'C,,,'],
    ['A,Product A,B,', 'C,Product C,,'],
  ]);
});

const REFUSED: readonly [object, RegExp][] = [
  [{ format: { type: 'google-merchant' } }, /Google removes products that are missing from a file/],
  [{ format: { type: 'openai' } }, /each file replaces the previous one/],
  [{ format: { type: 'json-ld' } }, /schema\.org cannot mark a product as removed/],
  [{ format: { type: 'etim-xchange' } }, /the standard cannot mark a product as removed/],
  [{ format: { type: 'ucp' } }, /served and not built/],
  [{ format: { type: 'csv' }, mapping: { name: { field: 'name' } } }, /must be \{"field":"identifier"\}/],
];

test('a channel of changed rows is refused if its format is always read completely or its mapping has no identifier (§16.3 rule 11)', async () => {
  const project = await createChannelProject(service);
  for (const [definition, expected] of REFUSED) {
    const body = { name: 'x', changes: true, ...definition };
    const { status, body: refusal } = await project.manage('POST', '', { body });
    assert.equal(status, 400, JSON.stringify(definition));
    assert.match(JSON.stringify(refusal.details).replaceAll('\\', ''), expected);
  }
});
