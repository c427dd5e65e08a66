// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeExampleProject, shareConsole } from './harness.ts';

test('shows product data as text, links only to http(s), and sends no requests to other hosts (§14.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const hostile = '<img src=x onerror="document.title=1">';
  const { task } = await service.relata.products.replace(
    [
      {
        identifier: '../../evil?a=b#c',
        name: hostile,
        productUrl: 'javascript:alert(1)',
        images: [{ url: 'javascript:alert(1)', type: 'LARGE' }],
        attributes: [{ key: 'Colour', value: hostile }],
      },
    ],
    { projectId: id },
  );
  await service.relata.tasks.wait(task.id);
  const requestedUrls: string[] = [];
  const page = await enter(`#/projects/${id}/products/${encodeURIComponent('../../evil?a=b#c')}`);
  page.on('request', (request) => requestedUrls.push(request.url()));
  await page.getByRole('heading', { name: hostile }).waitFor();
  assert.equal(await page.locator('img[src="x"]').count(), 0);
  assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
  assert.equal(await page.locator('img[src^="javascript"]').count(), 0);
  await page.getByRole('link', { name: 'Attributes', exact: true }).click();
  await page.getByRole('heading', { name: 'Attributes', exact: true }).waitFor();
  assert.deepEqual(
    requestedUrls.filter((url) => !url.startsWith(service.url)),
    [],
  );
});

test('requests pictures without a referrer (§14.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const picture = `${service.url.replace('127.0.0.1', 'localhost')}/health/live`;
  const { task } = await service.relata.products.replace([{ identifier: 'P', name: 'P', image: picture }], {
    projectId: id,
  });
  await service.relata.tasks.wait(task.id);
  const page = await enter();
  const asking = page.waitForRequest(picture);
  await page.goto(`${service.url}/console/#/projects/${id}/products/P`);
  assert.equal((await (await asking).allHeaders()).referer ?? '', '');
});
