// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import { findBarriers, makeExampleProject, startConsole } from './harness.ts';

/**
 * The service adds up requests every ten seconds and catalogs within a minute. Source: docs/interface §14.7.
 */
const COUNTED_MS = 90_000;

test('the operations page draws requests and catalogs, and API access draws the traffic of each key (§14.7)', async (t) => {
  const { enter, service } = await startConsole(t);
  const { relata, url } = service;
  const id = await makeExampleProject(service);
  const { key, id: keyId } = await relata.apiKeys.create({
    name: 'Busy shop',
    scope: { type: 'project', id },
    access: 'read',
    rateLimit: { requestsPerMinute: 3 },
  });
  for (let sent = 0; sent < 8; sent += 1)
    await fetch(`${url}/projects`, { headers: { authorization: `Bearer ${key}` } });
  const bad = JSON.stringify({ products: [{ identifier: 'A1', password: 'hunter2' }] });
  const headers = { authorization: `Bearer ${service.key}` };
  await fetch(`${url}/products?projectId=${id}`, { method: 'POST', headers, body: bad });
  await until(async () => {
    const { requests } = await relata.apiKeys.statistics(keyId);
    const { catalogs } = await relata.installation.statistics();
    return requests.length > 0 && catalogs.at(-1)?.products === 33;
  });

  const page = await enter('#/operations');
  const catalogs = page.getByRole('img', { name: /^33 products; in a day 33 created/ });
  assert.ok((await tallest(catalogs)) > 10, 'bars of the catalogs');
  const requests = page.getByRole('img', { name: /^\d+ requests in a day, \d/ });
  assert.ok((await tallest(requests)) > 10, 'bars of the requests');
  // The chart shows one value at a time, by keys and by pointer, for other periods, and as a table.
  const cursor = page.getByRole('slider', { name: /33 products; in a day/ });
  await cursor.press('End');
  assert.match(
    (await cursor.getAttribute('aria-valuetext')) ?? '',
    /:00: created 33, changed \d+ and deleted 0$/,
  );
  const card = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Catalogs' }) });
  await card.locator('.chart-tip', { hasText: 'created33' }).waitFor();
  await cursor.press('ArrowLeft');
  await card.locator('.chart-tip', { hasText: 'created0' }).waitFor();
  await cursor.hover({ position: { x: 3, y: 20 } });
  assert.equal(await cursor.getAttribute('aria-valuenow'), '0');
  await page.getByLabel('Period').selectOption('7 days');
  await page.getByRole('img', { name: /^33 products; in 7 days 33 created/ }).waitFor();
  assert.match(page.url(), /range=7/);
  await card.getByText('As a table').first().click();
  await card.getByRole('cell', { name: '33', exact: true }).first().waitFor();
  assert.deepEqual(await findBarriers(page), []);

  await page.evaluate((to) => {
    location.hash = to;
  }, `#/projects/${id}/api-access`);
  const traffic = page.getByRole('img', { name: 'Requests of Busy shop: 8 in a day' });
  assert.ok((await tallest(traffic)) > 10, 'bars of the key');
  await page.getByText('5 over the limit').waitFor();

  // The last failed requests are listed below. The user opens one, reads it without its secret, and can send it
  // again.
  const requestsCard = page.locator('section').filter({ hasText: 'Failed and slow requests' });
  assert.equal(await requestsCard.getByRole('button', { name: 'GET /projects' }).count(), 5);
  await requestsCard.getByRole('button', { name: 'POST /products', exact: true }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Request' });
  await dialog.getByText("A1: must have required property 'name'").waitFor();
  const sent = await dialog.getByRole('group', { name: 'The body of the request' }).textContent();
  assert.equal(sent, bad.replace('hunter2', '•••'));
  const curl = await dialog.getByRole('group', { name: 'The request as curl' }).textContent();
  assert.match(curl ?? '', /^curl -X POST "\$RELATA_URL\/products\?projectId=\d+"/);
  assert.deepEqual(await findBarriers(page), []);
  await page.keyboard.press('Escape');
  await requestsCard.getByLabel('Requests to show').selectOption('slow');
  await requestsCard.getByText('No failed or slow requests.').waitFor();
});

async function tallest(picture: Locator): Promise<number> {
  await picture.waitFor();
  const heights = await picture
    .locator('rect')
    .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('height'))));
  return Math.max(0, ...heights);
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + COUNTED_MS;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `not counted within ${COUNTED_MS} ms`);
    await sleep(500);
  }
}
