// runs: deep
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { makeExampleProject, startConsole } from './harness.ts';

test('an endpoint is created, tested and switched off, and a delivery is sent again (§6)', async (t) => {
  const { enter, service } = await startConsole(t, { RELATA_FETCH_ALLOW: '127.0.0.1/32' });
  const ids: unknown[] = [];
  const receiver = createServer((request, response) => {
    ids.push(request.headers['webhook-id']);
    response.writeHead(200).end('thank you');
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  t.after(() => receiver.close());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`;
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/events`);
  await page.getByText('No system receives events yet').waitFor();
  await page.getByRole('button', { name: 'New endpoint' }).first().click();
  await page.getByLabel('URL', { exact: true }).fill(url);
  await page.getByLabel('task.failed').check();
  await page.getByRole('button', { name: 'Create the endpoint' }).click();
  const secret = await page.getByLabel('Signing secret', { exact: true }).textContent();
  assert.match(secret ?? '', /^whsec_/);
  await page.getByRole('button', { name: 'I have saved it' }).click();
  const [endpoint] = (await service.relata.webhookEndpoints.list()).items;
  assert.deepEqual(endpoint?.events, ['task.failed', 'products.changed']);

  await page.getByRole('link', { name: url }).click();
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByText(/200 in \d+ ms/).waitFor();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  const request = await page.getByLabel('Request', { exact: true }).textContent();
  assert.match(request ?? '', /webhook-id: msg_[\s\S]*"type":"webhook.test"/);
  assert.match((await page.getByLabel('Answer', { exact: true }).textContent()) ?? '', /thank you/);
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('again', { exact: true }).waitFor();
  await page
    .getByText(/200 in \d+ ms/)
    .nth(1)
    .waitFor();
  assert.equal(ids.length, 2);
  assert.equal(ids[0], ids[1]);

  await page.getByRole('button', { name: 'Actions for the endpoint' }).click();
  await page.getByRole('menuitem', { name: 'Switch off' }).click();
  await page.getByText('off', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Actions for the endpoint' }).click();
  await page.getByRole('menuitem', { name: 'Delete …' }).click();
  await page.getByRole('button', { name: 'Delete the endpoint' }).click();
  await page.getByText('No system receives events yet').waitFor();
});
