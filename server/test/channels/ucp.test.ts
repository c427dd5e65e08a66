// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ChannelProject,
  createChannelProject,
  FITS,
  sold,
} from '../support/channels/channel-project.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import type { TestService } from '../support/test-service.ts';
import { openUcpSchemas } from '../support/ucp/validate.ts';

/** A channel of the Universal Commerce Protocol, validated with the protocol's own schemas (§16.9). */

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

let service: TestService;
let project: ChannelProject;
let endpoint: string;
const ucp = openUcpSchemas();

const size = (identifier: string, values: Record<string, string>) =>
  sold(identifier, { Kind: 'drill', System: 'SDS', ...values }, { groupIdentifier: 'G' });

shareService({}, async (started) => {
  service = started;
  project = await createChannelProject(service);
  await project.load(
    size('G-M', { Size: 'M', Price: '19.99 EUR', Colour: 'red' }),
    size('G-L', { Size: 'L', Price: '24.99 EUR', Colour: 'red', Availability: 'out_of_stock' }),
    size('G-L2', { Size: 'L', Price: '34.50 EUR', Colour: 'blue' }),
    sold(
      'B1',
      { Kind: 'bit', System: 'SDS', Price: '5,00 €' },
      { productUrl: 'https://shop.example/größe|1' },
    ),
    sold('B2', { Kind: 'bit', System: 'HEX', Price: '7 EUR' }),
    sold('Y', { Kind: 'saw', Price: '1500 JPY' }),
    sold('FREE', { Kind: 'saw', Price: 'on request' }),
    { ...sold('VIP', { Kind: 'saw', Price: '9 EUR' }), settings: { includeUserGroups: ['vip'] } },
    sold('OUT', { Kind: 'hidden', Price: '9 EUR' }),
  );
  await project.relate('bits', { ...FITS, constraint: true });
  const channel = await project.create({
    name: 'Agents',
    format: { type: 'ucp' },
    relations: [{ tag: 'bits', as: 'accessory' }],
    filter: { not: { attribute: 'Kind', operator: 'equals', value: 'hidden' } },
    mapping: {
      title: { field: 'name' },
      price: { attribute: 'Price' },
      url: { field: 'productUrl' },
      media: { field: 'images' },
      availability: { attribute: 'Availability' },
      Size: { attribute: 'Size' },
      Colour: { attribute: 'Colour' },
    },
  });
  endpoint = new URL(channel.url).pathname;
});

async function post(path: string, body: unknown): Promise<{ status: number; body: AnyBody }> {
  return service.call('POST', `${endpoint}/catalog/${path}`, { body, key: null });
}

const SCHEMAS = {
  search: 'shopping/catalog_search.json#/$defs/search_response',
  lookup: 'shopping/catalog_lookup.json#/$defs/lookup_response',
  product: 'shopping/catalog_lookup.json#/$defs/get_product_response',
} as const;
type Operation = keyof typeof SCHEMAS;

/** @returns the answer, validated with the protocol's schema */
async function ask(operation: Operation, body: unknown, status = 200): Promise<AnyBody> {
  const answer = await post(operation, body);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  const isError = answer.body.ucp.status === 'error';
  const schema = isError ? 'common/types/error_response.json' : SCHEMAS[operation];
  assert.deepEqual(ucp.list(schema, answer.body), [], JSON.stringify(answer.body));
  return answer.body;
}

test('the profile names the address of the channel and needs no key (§16.9 rule 2)', async () => {
  const { status, body } = await service.call('GET', `${endpoint}/profile`, { key: null });
  assert.equal(status, 200);
  assert.deepEqual(ucp.list('profile.json#/$defs/business_schema', body), [], JSON.stringify(body));
  const [rest] = body.ucp.services['dev.ucp.shopping'];
  assert.equal(new URL(rest.endpoint).pathname, endpoint);
});

test('a search answers one product per group with its variants and prices in minor units (§16.9 rules 3 and 4)', async () => {
  const { products, pagination } = await ask('search', { query: 'g-m' });
  assert.deepEqual(pagination, { has_next_page: false });
  const all = await ask('search', { filters: { categories: ['Drills'] }, pagination: { limit: 50 } });
  assert.deepEqual(
    all.products.map(({ id }: AnyBody) => id),
    ['B1', 'B2', 'G', 'Y'],
    'it excludes products without a price, for some customers only, or outside the filter',
  );
  const group = all.products[2];
  assert.deepEqual(group.price_range, {
    min: { amount: 1_999, currency: 'EUR' },
    max: { amount: 3_450, currency: 'EUR' },
  });
  assert.deepEqual(
    group.variants.map(({ id, price, options }: AnyBody) => [id, price.amount, options[0].label]),
    [
      ['G-L', 2_499, 'L'],
      ['G-L2', 3_450, 'L'],
      ['G-M', 1_999, 'M'],
    ],
  );
  assert.deepEqual(group.options[0], { name: 'Size', values: [{ label: 'L' }, { label: 'M' }] });
  assert.equal(products[0].id, 'G');
  const yen = all.products.at(-1);
  assert.deepEqual(yen.variants[0].price, { amount: 1_500, currency: 'JPY' });
  assert.equal(all.products[0].url, 'https://shop.example/gr%C3%B6%C3%9Fe%7C1');
  const cheap = await ask('search', { filters: { price: { max: 800 } } });
  assert.deepEqual(
    cheap.products.map(({ id }: AnyBody) => id),
    ['B1', 'B2'],
  );
});

test('the cursor of a page leads to the next page (§16.9 rule 4)', async () => {
  const identifiers: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const body = { filters: {}, query: 'tools', pagination: { limit: 1, ...(cursor && { cursor }) } };
    const page = await ask('search', body);
    identifiers.push(...page.products.map(({ id }: AnyBody) => id));
    cursor = page.pagination.cursor;
    if (!page.pagination.has_next_page) break;
  }
  assert.deepEqual(identifiers, [...new Set(identifiers)]);
});

test('a lookup reports which product each identifier led to, and which identifiers led to none (§16.9 rule 5)', async () => {
  const { products, messages } = await ask('lookup', { ids: ['G', 'G-M', 'B1', 'VIP', 'OUT', 'B1', 'none'] });
  const variantsById = products.map(({ id, variants }: AnyBody) => [
    id,
    variants.map(({ id: variant, inputs }: AnyBody) => [variant, inputs]),
  ]);
  assert.deepEqual(variantsById, [
    ['B1', [['B1', [{ id: 'B1', match: 'exact' }]]]],
    [
      'G',
      [
        ['G-M', [{ id: 'G-M', match: 'exact' }]],
        ['G-L', [{ id: 'G', match: 'featured' }]],
      ],
    ],
  ]);
  assert.deepEqual(
    messages.map(({ content }: AnyBody) => content),
    ['VIP', 'OUT', 'none'],
  );
  const tooMany = await ask('lookup', { ids: Array.from({ length: 101 }, (_, index) => `${index}`) }, 400);
  assert.equal(tooMany.messages[0].code, 'request_too_large');
});

test('a product shows its choices, and preferences decide which choices are relaxed first (§16.9 rule 6)', async () => {
  const selected = [
    { name: 'Size', label: 'M' },
    { name: 'Colour', label: 'blue' },
  ];
  const { product } = await ask('product', { id: 'G', selected, preferences: ['Colour', 'Size'] });
  assert.deepEqual(product.selected, [{ name: 'Colour', label: 'blue' }]);
  assert.deepEqual(
    product.variants.map(({ id }: AnyBody) => id),
    ['G-L2'],
  );
  const sizes = product.options.find(({ name }: AnyBody) => name === 'Size').values;
  assert.deepEqual(sizes, [
    { label: 'L', available: true, exists: true },
    { label: 'M', available: false, exists: false },
  ]);
  const variant = await ask('product', { id: 'G-M' });
  assert.equal(variant.product.variants[0].id, 'G-M');
  const none = await ask('product', { id: 'OUT' });
  assert.equal(none.messages[0].code, 'not_found');
});

test('related products and fit use the extension, whose schema the service serves (§16.9 rule 7)', async () => {
  const profile = (await service.call('GET', `${endpoint}/profile`, { key: null })).body;
  const [extension] = profile.ucp.capabilities['dev.relata.shopping.compatibility'];
  assert.equal(extension.extends, 'dev.ucp.shopping.catalog.lookup');
  const served = await service.call('GET', new URL(extension.schema).pathname, { key: null });
  const schemas = openUcpSchemas(served.body);
  const definition = `${served.body.$id}#/$defs/dev.ucp.shopping.catalog.lookup/$defs/get_product_response`;
  const body = await ask('product', { id: 'G-M', compatibility: { with: ['B1', 'B2', 'OUT'] } });
  assert.deepEqual(schemas.list(definition, body), []);
  const { related, fit } = body.product.compatibility;
  assert.deepEqual(
    related.map(({ relation, products }: AnyBody) => [
      relation,
      products.map(({ variant }: AnyBody) => variant),
    ]),
    [['accessory', ['B1']]],
  );
  assert.deepEqual([fit.verdict, fit.unknown], ['does_not_fit', ['OUT']]);
  const verdicts = fit.pairs.map(({ source, target, verdict }: AnyBody) => [source, target, verdict]);
  assert.deepEqual(verdicts.toSorted(), [
    ['G-M', 'B1', 'fits'],
    ['G-M', 'B2', 'does_not_fit'],
  ]);
  const wrong = { ...body, product: { ...body.product, compatibility: { related: [{ name: 'x' }] } } };
  assert.notDeepEqual(schemas.list(definition, wrong), [], 'the schema is not empty');
});

test('a channel that is served is not built, and its definition may have neither a trigger nor an expression (§16.9 rule 1)', async () => {
  const channel = await project.create({ name: 'Served', format: { type: 'ucp' } });
  const built = await project.manage('POST', `/${channel.id}/build`);
  assertRefused(built, 400, 'A channel of the format ucp is served live and never built');
  const definition = { ...channel, trigger: { type: 'change' }, mapping: { title: { expression: 'name' } } };
  const refused = await project.manage('PUT', `/${channel.id}`, { body: definition });
  assertRefused(refused, 400);
  assert.equal(refused.body.details.length, 2);
  assertRefused(
    await service.call('POST', '/channels/none/ucp/catalog/search', { body: {}, key: null }),
    404,
  );
});

const REQUESTS = Number(process.env.RELATA_TEST_UCP ?? 300);

test('answers to generated requests always match the schemas (§16.9 rule 8)', async () => {
  let seed = Number(process.env.RELATA_TEST_SEED ?? 1);
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed % below;
  };
  const pick = <One>(all: readonly One[]): One => all[random(all.length)] as One;
  const ids = [
    'G',
    'G-M',
    'G-L',
    'B1',
    'B2',
    'Y',
    'VIP',
    'none',
    '',
    '\u0000',
    '__proto__',
    '🛠️',
    'x'.repeat(2_000),
  ];
  const texts = [
    'drill',
    'drlil',
    'sds bit',
    '',
    ' ',
    '*',
    '_#Tools',
    '"\'*',
    'w '.repeat(20),
    '自転車',
    null,
    7,
    {},
  ];
  const filters = [
    {},
    { categories: [pick(ids)] },
    { price: { min: 500 } },
    { price: { max: -1 } },
    [],
    null,
    { own: 1 },
  ];
  const maybe = (name: string, values: readonly unknown[]) =>
    random(2) === 0 ? {} : { [name]: pick(values) };
  const context = [{ address_country: 'DE' }, {}, 'x'];
  const make: Record<Operation, () => object> = {
    search: () => ({
      ...maybe('query', texts),
      ...maybe('filters', filters),
      ...maybe('context', context),
      ...maybe('pagination', [
        { limit: 1 },
        { limit: 1_000 },
        { cursor: '3' },
        { cursor: 'x' },
        { limit: 0 },
      ]),
    }),
    lookup: () => ({
      ...maybe('ids', [[], ids, [pick(ids)], [pick(ids), pick(ids)], 'G', [null]]),
      ...maybe('filters', filters),
    }),
    product: () => ({
      ...maybe('id', [...ids, null, 7]),
      ...maybe('filters', filters),
      ...maybe('selected', [[], [{ name: 'Size', label: pick(['M', 'L', 'XL']) }], [{ name: 'Size' }], 'M']),
      ...maybe('preferences', [['Size'], [], [1]]),
      ...maybe('compatibility', [{ with: ids }, { with: [] }, {}]),
    }),
  };
  const statuses = new Map<number, number>();
  for (let index = 0; index < REQUESTS; index += 1) {
    const operation = pick(['search', 'lookup', 'product'] as const);
    const body = make[operation]();
    const answer = await post(operation, body);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    assert.ok(answer.status === 200 || answer.status === 400, `${JSON.stringify(body)}: ${answer.status}`);
    const isError = answer.body.ucp?.status === 'error';
    const schema = isError ? 'common/types/error_response.json' : SCHEMAS[operation];
    assert.deepEqual(
      ucp.list(schema, answer.body),
      [],
      `${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`,
    );
  }
  assert.ok(
    [...statuses.values()].every((count) => count > REQUESTS / 10),
    'neither is seldom',
  );
});
