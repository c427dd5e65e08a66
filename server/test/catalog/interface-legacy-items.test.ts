// runs: test (not on postgres: how bodies of another form are translated before anything is stored)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

const service = shareService();

/** A changed article as Shopware 5 sends it: PHP's json_encode without content encoding, sent as JSON. */
const ITEM = {
  articleNumber: 'SW10001',
  groupId: 'SW10000',
  name: 'Tee & Kanne',
  deeplink: 'https:\\/\\/shop.example\\/tee',
  category: 'Küche#Tee',
  secondaryCategories: ['Geschenke#Für sie', ''],
  image: 'https://shop.example/tee.jpg',
  price: 19.99,
  description: '<p>1 + 1 = 2 &amp; mehr</p>',
  ean: '4006381333931',
  manufacturer: 'Haltwell',
  rankingImportance: 3,
  passOn: { inStock: '5', color: '' },
  attributes: { Material: ['Glas', 'Holz'], attr1: null },
  accessories: ['SW10002'],
  appendOnly: false,
};
const form = (items: readonly object[], full = 'false') =>
  `productsJsonArray=${JSON.stringify(items).replaceAll('\\\\', '\\')}&full=${full}`;

const stored = {
  identifier: 'SW10001',
  groupIdentifier: 'SW10000',
  name: 'Tee & Kanne',
  productUrl: 'https://shop.example/tee',
  categories: [{ path: ['Küche', 'Tee'] }, { path: ['Geschenke', 'Für sie'] }],
  images: [{ url: 'https://shop.example/tee.jpg', type: 'LARGE' }],
  attributes: [
    { key: 'SKU', value: 'SW10001' },
    { key: 'price', value: '19.99' },
    { key: 'description', value: '<p>1 + 1 = 2 &amp; mehr</p>' },
    { key: 'EAN', value: '4006381333931' },
    { key: 'manufacturer', value: 'Haltwell' },
    { key: 'rankingImportance', value: '3' },
    { key: 'inStock', value: '5' },
    { key: 'Material', value: 'Glas' },
    { key: 'Material', value: 'Holz' },
  ],
};

const ways = [
  { name: 'as it is', write: (text: string) => text },
  {
    name: 'encoded',
    write: (text: string) =>
      text.replace(
        /=(.*)&full/s,
        (_, list: string) => `=${encodeURIComponent(list).replaceAll('%20', '+')}&full`,
      ),
  },
];
for (const { name, write } of ways)
  test(`the single update of Shopware 5, ${name}, makes the same product as its full update (docs/connectors.md)`, async () => {
    const catalog = await createCatalog(service());
    const answer = await service().call('PUT', `/products?projectId=${catalog.projectId}`, {
      body: write(form([ITEM])),
      headers: { 'content-type': 'application/json' },
    });
    const { status, body } = answer;
    assert.deepEqual([status, body.status, body.nr_of_products], [200, 'success', 1], JSON.stringify(body));
    await catalog.done(answer);
    const lookup = await service().call(
      'GET',
      `/management/projects/${catalog.projectId}/products?format=ndjson`,
    );
    assert.deepEqual(JSON.parse(String(lookup.body)), stored);
  });

test('a full update in this form is refused, and so is a body that is not a list (docs/connectors.md)', async () => {
  const catalog = await createCatalog(service());
  const put = (body: string) => service().call('PUT', `/products?projectId=${catalog.projectId}`, { body });
  assertRefused(await put(form([ITEM], 'true')), 400, 'Your body params are not valid');
  assertRefused(await put('productsJsonArray={}&full=false'), 400, 'Your body params are not valid');
  assertRefused(await put('productsJsonArray=[&full=false'), 400, 'The body is not valid JSON');
  assertRefused(
    await put(form([{ ...ITEM, articleNumber: undefined }])),
    400,
    'Your body params are not valid',
  );
});
