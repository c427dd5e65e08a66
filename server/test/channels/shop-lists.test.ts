// runs: deep (not on postgres: how a format writes relations; see channel-related.test.ts)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import papa from 'papaparse';
import {
  type ChannelProject,
  createChannelProject,
  FITS,
  sold,
} from '../support/channels/channel-project.ts';
import { shareService } from '../support/shared-service.ts';
import type { TestService } from '../support/test-service.ts';

/** The formats of pipelines read the import files of shops back as the same links (§16.7 rule 5). */
let project: ChannelProject;
let service: TestService;

shareService({}, async (started) => {
  service = started;
  project = await createChannelProject(service);
  await project.load(
    sold('A1', { Kind: 'drill', System: 'SDS' }),
    sold('A2', { Kind: 'drill', System: 'HEX' }),
    sold('B1', { Kind: 'bit', System: 'SDS' }, { groupIdentifier: 'B' }),
    sold('B2', { Kind: 'bit', System: 'SDS' }, { groupIdentifier: 'B' }),
    sold('C, 1', { Kind: 'bit', System: 'SDS' }),
    sold('D', { Kind: 'bit', System: 'SDS' }),
  );
  await project.relate('bits', FITS);
});

const relations = [{ tag: 'bits', as: 'accessory' }];

async function publish(definition: object): Promise<string> {
  const channel = await project.create({ name: 'Lists', relations, ...definition });
  const task = await project.build(channel);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  return (await project.fetch(channel.url)).text();
}

/** @returns the links that a pipeline of the mode `links` reads from the text */
async function readBack(text: string, definition: object): Promise<[string, string][]> {
  const root = `/management/projects/${project.projectId}`;
  const body = { kind: 'links', name: `back ${performance.now()}`, tag: 'back' };
  const relation = await service.call('POST', `${root}/relations`, { body });
  const pipeline = await service.call('POST', `${root}/pipelines`, {
    body: {
      name: body.name,
      source: { type: 'upload' },
      mode: 'links',
      relationId: relation.body.id,
      trigger: { type: 'manual' },
      ...definition,
    },
  });
  assert.equal(pipeline.status, 201, JSON.stringify(pipeline.body));
  const run = await service.call('POST', `${root}/pipelines/${pipeline.body.id}/upload`, {
    body: text,
    headers: { 'content-type': 'text/csv' },
  });
  const ended = await project.done(run);
  assert.equal(ended.taskStatus, 'FINISHED', JSON.stringify(ended));
  const { body: lines } = await service.call('GET', `${root}/relations/${relation.body.id}/links`);
  return String(lines)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .flatMap(({ source, targets }) => targets.map((target: string): [string, string] => [source, target]));
}

const parse = (text: string) => papa.parse<Record<string, string>>(text, { header: true }).data;

test('magento-csv names related, cross-sell and up-sell products by sku (§16.7 rule 5)', async () => {
  const text = await publish({ format: { type: 'magento-csv' } });
  const [head] = text.split('\n');
  assert.equal(head, 'sku,related_skus,crosssell_skus,upsell_skus');
  const a1 = parse(text).find(({ sku }) => sku === 'A1');
  assert.deepEqual(a1, { sku: 'A1', related_skus: 'B1,D', crosssell_skus: '', upsell_skus: '' });
  const links = await readBack(text, {
    format: { type: 'csv' },
    mapping: { source: 'sku', targets: 'related_skus', separator: ',' },
  });
  assert.deepEqual(links, [
    ['A1', 'B1'],
    ['A1', 'D'],
  ]);
});

test('woocommerce-csv names cross-sells and upsells by SKU (§16.7 rule 5)', async () => {
  const both = [...relations, { tag: 'bits', as: 'substitute', limit: 1 }];
  const text = await publish({ format: { type: 'woocommerce-csv' }, relations: both });
  const a1 = parse(text).find(({ SKU }) => SKU === 'A1');
  assert.deepEqual(a1, { SKU: 'A1', Name: a1?.Name, 'Cross-sells': 'B1, D', Upsells: 'B1' });
  const read = (targets: string) =>
    readBack(text, {
      format: { type: 'woocommerce-csv' },
      mapping: { source: 'SKU', targets, separator: ',' },
    });
  assert.deepEqual(await read('Cross-sells'), [
    ['A1', 'B1'],
    ['A1', 'D'],
  ]);
  assert.deepEqual(await read('Upsells'), [['A1', 'B1']]);
});

test('shopify-csv has one row per Handle and names related products by Handle in a metafield (§16.7 rule 5)', async () => {
  const text = await publish({ format: { type: 'shopify-csv' } });
  const column = (name: string) =>
    `${name} (product.metafields.shopify--discovery--product_recommendation.${name.toLowerCase().replace(' ', '_')})`;
  const rows = parse(text).filter(({ Handle }) => Handle);
  assert.deepEqual(
    rows.map(({ Handle }) => Handle),
    ['A1', 'A2', 'B', 'C, 1', 'D'],
  );
  const complementary = column('Complementary products');
  assert.equal(rows[0]?.[complementary], 'B; C, 1; D');
  const links = await readBack(text, {
    format: { type: 'shopify-csv' },
    mapping: { source: 'Handle', targets: complementary, separator: ';' },
  });
  assert.deepEqual(links, [
    ['A1', 'B'],
    ['A1', 'C, 1'],
    ['A1', 'D'],
  ]);
});
