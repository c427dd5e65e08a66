// runs: deep
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findBarriers, startConsole, untilBuilt } from './harness.ts';

/** Serves clients/web on a page of another origin, as a shop does. */
const FOLDER = join(import.meta.dirname, '../../clients/web');
const COMPONENT = readFileSync(join(FOLDER, 'relata.js'));

async function serveShop(t: TestContext): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const isScript = url.startsWith('/relata.js');
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? COMPONENT : readFileSync(join(FOLDER, 'shop.html')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a product page of a shop shows related products, the reasons, and whether they fit', async (t) => {
  assert.ok(COMPONENT.length < 15_000, 'both elements have less than 15 KB');
  const shop = await serveShop(t);
  const { service, open } = await startConsole(t, { RELATA_CORS_ORIGINS: shop });
  const { relata } = service;
  const group = await relata.projects.createGroup('Bikes');
  const { id: project } = await relata.projects.create({
    name: 'B',
    projectGroupId: group.id,
    locale: 'de-DE',
  });
  const product = (identifier: string, kind: string, width: string) => ({
    identifier,
    name: identifier,
    productUrl: `https://shop.example/${identifier}`,
    attributes: [
      { key: 'Kind', value: kind },
      { key: 'Width', value: width },
    ],
  });
  const products = [
    product('B1', 'bike', '50 mm'),
    { ...product('T40', 'tyre', '40 mm'), name: '<b>City tyre</b>' },
    { ...product('T60', 'tyre', '60 mm'), productUrl: 'javascript:alert(1)' },
  ];
  await relata.products.fullUpdate(products, { projectId: project });
  const kind = (value: string) => ({ attribute: 'Kind', operator: 'equals' as const, value });
  await relata.relations.create(project, {
    name: 'Tyres that fit',
    tag: 'tyres',
    source: kind('bike'),
    target: kind('tyre'),
    constraint: true,
    match: [{ target: 'Width', operator: 'lessOrEqual', source: 'Width' }],
  });
  await untilBuilt(relata, project);
  const scope = { type: 'project', id: project } as const;
  const { key = '' } = await relata.apiKeys.create({ name: 'Shop', scope, page: true });
  const refused = await fetch(`${service.url}/search/products?q=tyre`, {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(refused.status, 401, 'the key of a page has no other access');

  const page = await open();
  const show = (product: string, other: string, lang: string) => {
    const parameters = {
      url: service.url,
      key,
      project: String(project),
      product,
      tags: 'tyres',
      with: other,
      lang,
    };
    return page.goto(`${shop}/shop.html?${new URLSearchParams(parameters)}`);
  };
  await show('B1', 'T40', 'en');
  const card = page.locator('relata-related li');
  await card.waitFor();
  assert.equal(await card.locator('a').textContent(), '<b>City tyre</b>', 'a name is text');
  await card.locator('summary').click();
  assert.match(String(await card.locator('details').textContent()), /Width 40 mm ≤ Width 50 mm/);
  assert.equal(await page.locator('relata-fit strong').textContent(), 'Fits');
  assert.deepEqual(await findBarriers(page), []);

  await show('B1', 'T60', 'de');
  assert.equal(await page.locator('relata-fit strong').textContent(), 'Passt nicht');
  assert.equal(await page.locator('relata-related summary').textContent(), 'Warum?');
  assert.deepEqual(await findBarriers(page), []);
});

test('the demo has a page of a shop with both elements', async (t) => {
  const { service, open } = await startConsole(t, {}, 'demo');
  const output = await service.untilLogged('Press Ctrl+C');
  const page = await open();
  await page.goto(/http:\S+\/demo\/shop\/shop\.html\S+/.exec(output)?.[0] ?? assert.fail(output));
  await page.locator('relata-related li').first().waitFor();
  assert.ok((await page.locator('relata-related li').count()) > 3);
  await page.locator('relata-fit strong').waitFor();
  assert.match(String(await page.locator('relata-fit strong').textContent()), /^(?:Fits|Does not fit)$/);
  assert.deepEqual(await findBarriers(page), []);
});
