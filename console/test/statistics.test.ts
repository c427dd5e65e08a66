import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import { findBarriers, makeExampleProject, startConsole } from './harness.ts';

/** Requests are added up every ten seconds, catalogs within a minute. Source: docs/interface.md §14.7. */
const COUNTED_MS = 90_000;

test('the overview draws requests and catalogs, API access the traffic of each key (§14.7)', async (t) => {
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
  await until(async () => {
    const { requests } = await relata.apiKeys.statistics(keyId);
    const { catalogs } = await relata.installation.statistics();
    return requests.length > 0 && catalogs.at(-1)?.products === 33;
  });

  const page = await enter('#/');
  const catalogs = page.getByRole('img', { name: /^33 products; in a day 33 created/ });
  assert.ok((await tallest(catalogs)) > 10, 'bars of the catalogs');
  const requests = page.getByRole('img', { name: /^\d+ requests in a day, \d/ });
  assert.ok((await tallest(requests)) > 10, 'bars of the requests');
  assert.deepEqual(await findBarriers(page), []);

  await page.evaluate((to) => {
    location.hash = to;
  }, `#/projects/${id}/api-access`);
  const traffic = page.getByRole('img', { name: 'Requests of Busy shop: 8 in a day' });
  assert.ok((await tallest(traffic)) > 10, 'bars of the key');
  await page.getByText('5 over the limit').waitFor();
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
