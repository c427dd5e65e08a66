// runs: deep (not on postgres: the output of a format)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import papa from 'papaparse';
import { SaxesParser } from 'saxes';
import {
  type ChannelProject,
  createChannelProject,
  FITS,
  sold,
} from '../support/channels/channel-project.ts';
import { shareService } from '../support/shared-service.ts';

/** Files are read by independent parsers. */

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const TRICKY = 'Tabs\tand\nlines, "quotes" & <tags> – Größe \u{1f6e0}';
let project: ChannelProject;

shareService({}, async (service) => {
  project = await createChannelProject(service);
  await project.load(
    sold('A1', { Kind: 'drill', System: 'SDS', Description: TRICKY }),
    sold('A2', { Kind: 'drill', System: 'SDS', Price: '1.299,00' }, { groupIdentifier: 'G2' }),
    sold('B1', { Kind: 'bit', System: 'SDS', EAN: '4006381333931' }),
    sold('B2', { Kind: 'bit', System: 'SDS', EAN: '4006381333932' }),
    sold('B:3', { Kind: 'bit', System: 'SDS', Availability: 'In Stock', Price: '5,50 €' }),
  );
  await project.relate('bits', FITS);
});

const relations = [{ tag: 'bits', as: 'accessory' }];

/** @returns the bytes of the first file, and the lines of the report */
async function publish(definition: object): Promise<{ bytes: Buffer; report: AnyBody[]; channel: AnyBody }> {
  const channel = await project.create({ name: 'Feed', relations, ...definition });
  const task = await project.build(channel);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const response = await project.fetch(channel.url);
  assert.equal(response.status, 200);
  return { bytes: Buffer.from(await response.arrayBuffer()), report: await project.report(task), channel };
}

const parse = (text: string, delimiter: string, quoteChar = '"'): AnyBody[] =>
  papa.parse(text, { header: true, delimiter, quoteChar, skipEmptyLines: true }).data;
const parseLines = (bytes: Buffer): AnyBody[] =>
  bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const byId = (rows: readonly AnyBody[], id: string) => new Map(rows.map((row) => [row[id], row]));

test('google-merchant as text has a group attribute of related products, prices in ISO form and a report of left-out values (§16.7)', async () => {
  const { bytes, report } = await publish({ format: { type: 'google-merchant' } });
  const rows = byId(parse(bytes.toString(), '\t', '\u0000'), 'id');
  assert.deepEqual([...rows.keys()], ['A1', 'B1', 'B2', 'B:3']);
  const a1 = rows.get('A1');
  assert.equal(a1.related_product, 'accessory:id:B1,accessory:id:B2');
  assert.equal(a1.description, 'Tabs and lines, "quotes" & <tags> – Größe \u{1f6e0}');
  assert.deepEqual([a1.price, a1.availability, a1.product_type], ['19.99 EUR', 'in_stock', 'Tools > Drills']);
  const b3 = rows.get('B:3');
  assert.deepEqual([b3.price, b3.availability, b3.related_product], ['5.50 EUR', 'in_stock', '']);
  assert.deepEqual(
    [rows.get('B1').gtin, rows.get('B2').gtin],
    ['4006381333931', ''],
    'a wrong optional value is left out',
  );
  assert.deepEqual(report.map(({ identifier, code, field }) => [identifier, code, field]).sort(), [
    ['A1', 'related_left_out', 'related'],
    ['A2', 'value_invalid', 'price'],
    ['B2', 'value_invalid', 'gtin'],
  ]);
  const price = report.find(({ field }) => field === 'price');
  assert.equal(price.message, 'left out: price is not a price, such as 19.99 EUR');
});

test('google-merchant as XML is well-formed RSS with nested related products (§16.7)', async () => {
  const { bytes } = await publish({ format: { type: 'google-merchant', variant: 'xml' } });
  const items: Record<string, string[]>[] = [];
  const path: string[] = [];
  const parser = new SaxesParser({ xmlns: true });
  parser.on('opentag', (tag) => {
    path.push(tag.local);
    if (tag.local === 'item') items.push({});
    if (tag.prefix === 'g') assert.equal(tag.uri, 'http://base.google.com/ns/1.0');
  });
  parser.on('text', (text) => {
    const item = items.at(-1);
    if (item === undefined || text.trim() === '') return;
    const name = path.slice(path.indexOf('item') + 1).join('/');
    item[name] = [...(item[name] ?? []), text];
  });
  parser.on('closetag', () => void path.pop());
  parser.on('error', (error) => assert.fail(error));
  parser.write(bytes.toString()).close();
  const [a1] = items;
  assert.deepEqual(a1?.id, ['A1']);
  assert.deepEqual(a1?.description, [TRICKY]);
  assert.deepEqual(a1?.['related_product/identifier'], ['B1', 'B2']);
  assert.deepEqual(a1?.['related_product/relationship_type'], ['accessory', 'accessory']);
  assert.deepEqual(a1?.['related_product/identifier_type'], ['id', 'id']);
});

test('openai has compressed lines with JSON booleans, omits invalid values and requires the fields of its table (§16.7)', async () => {
  const mapping = {
    item_id: { field: 'identifier' },
    title: { template: '{Brand} {name}' },
    description: { attribute: 'Description' },
    url: { field: 'productUrl' },
    brand: { attribute: 'Brand' },
    seller_name: { constant: 'Shop' },
    image_url: { field: 'image' },
    availability: { attribute: 'Availability' },
    price: { expression: '$contains(attributes.Price, "EUR") ? attributes.Price : "7.00 EUR"' },
    is_eligible_search: { constant: 'TRUE' },
    gtin: { attribute: 'EAN' },
    group_id: { field: 'groupIdentifier' },
  };
  const { bytes, channel } = await publish({ format: { type: 'openai' }, mapping });
  assert.match(channel.url, /\/products\.jsonl\.gz$/);
  const rows = byId(parseLines(gunzipSync(bytes)), 'item_id');
  assert.equal(rows.size, 5);
  const { related_product_id, ...a2 } = rows.get('A2');
  assert.deepEqual(a2, {
    item_id: 'A2',
    title: 'Bosch Product A2',
    description: 'A good one',
    brand: 'Bosch',
    url: 'https://shop.test/p/A2',
    seller_name: 'Shop',
    image_url: 'https://shop.test/i/A2.jpg',
    availability: 'in_stock',
    price: '7.00 EUR',
    is_eligible_search: true,
    group_id: 'G2',
    relationship_type: 'accessory',
  });
  assert.deepEqual(related_product_id.split(','), ['B1', 'B2', 'B:3']);
  assert.deepEqual('gtin' in rows.get('B2'), false);
  const { seller_name: _, ...lacking } = mapping;
  const failed = await project.create({
    name: 'Lacks',
    format: { type: 'openai', variant: 'csv' },
    mapping: lacking,
  });
  const task = await project.build(failed);
  assert.equal(task.error.code, 'channel_rows_left_out');
  const [line] = await project.report(task);
  assert.match(line.message, /lacks seller_name, which openai requires: the mapping has no such field/);
});

test('CSV and NDJSON accept any names, and JSON-LD states which product is an accessory for which (§16.7)', async () => {
  const mapping = {
    sku: { field: 'identifier' },
    text: { attribute: 'Description' },
    'image, all': { field: 'images' },
  };
  const table = await publish({ format: { type: 'csv', compression: 'gzip' }, mapping });
  const [a1] = parse(gunzipSync(table.bytes).toString(), ',');
  assert.deepEqual(a1, {
    sku: 'A1',
    text: TRICKY,
    'image, all': 'https://shop.test/i/A1.jpg',
    accessory: 'B1,B2,B:3',
  });
  const lines = byId(parseLines((await publish({ format: { type: 'ndjson' } })).bytes), 'identifier');
  assert.deepEqual(lines.get('A1').accessory, ['B1', 'B2', 'B:3']);
  assert.deepEqual([lines.get('A1').Description, lines.get('A2').groupIdentifier], [TRICKY, 'G2']);
  const documents = byId(parseLines((await publish({ format: { type: 'json-ld' } })).bytes), 'sku');
  const [drill, bit] = [documents.get('A1'), documents.get('B1')];
  assert.deepEqual(
    [drill['@context'], drill['@type'], drill.brand.name],
    ['https://schema.org', 'Product', 'Bosch'],
  );
  assert.deepEqual(drill.offers, {
    '@type': 'Offer',
    price: '19.99',
    priceCurrency: 'EUR',
    availability: 'https://schema.org/InStock',
  });
  const skus = (list: AnyBody[]) => list.map(({ sku }) => sku);
  assert.deepEqual(skus(drill.isRelatedTo), ['B1', 'B2', 'B:3']);
  assert.deepEqual(skus(bit.isAccessoryOrSparePartFor), ['A1', 'A2']);
  assert.deepEqual(documents.get('A2').isVariantOf, { '@type': 'ProductGroup', productGroupID: 'G2' });
});
