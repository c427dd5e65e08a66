// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { makeExampleProject, startConsole } from './harness.ts';

/** The number of products of one update. It keeps the service busy while the user opens the next update. */
const MANY = 10_000;
/** The updates that run first take about ten seconds. The task has to be cancelled before its turn. */
const AHEAD = 12;

const makeMany = (name: string) =>
  Array.from({ length: MANY }, (_, index) => ({
    identifier: `${name}-${index}`,
    name,
    attributes: Array.from({ length: 8 }, (_, number) => ({
      key: `Key ${number}`,
      value: `${index} ${number}`,
    })),
  }));

test('a waiting task is cancelled on its page and has no effect (§4.7 rule 11)', async (t) => {
  const { enter, service } = await startConsole(t);
  const { relata } = service;
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/updates`);
  const before = Array.from({ length: AHEAD }, (_, index) => makeMany(`ahead ${index}`));
  await Promise.all(before.map((products) => relata.products.replace(products, { projectId: id })));
  const unwanted = [{ identifier: 'UNWANTED', name: 'Unwanted' }];
  const { task } = await relata.products.replace(unwanted, { projectId: id });
  await goTo(page, `#/projects/${id}/updates/${task.id}`);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('cancelled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' });
  const { taskStatus } = await relata.tasks.get(task.id);
  assert.equal(taskStatus, 'CANCELLED');
  assert.deepEqual(await relata.products.lookUp(['UNWANTED'], { projectId: id }), []);
});

/** Without a reload, because a reload would forget the key. */
async function goTo(page: Page, address: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, address);
}
