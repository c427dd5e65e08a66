// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { makeExampleProject, startConsole } from './harness.ts';

/** As many as one update takes: it keeps the service busy while somebody looks at the next one. */
const MANY = 10_000;
/** Updates that wait before it: some ten seconds, and it has to be cancelled before its turn. */
const AHEAD = 12;

const makeMany = (name: string) =>
  Array.from({ length: MANY }, (_, at) => ({
    identifier: `${name}-${at}`,
    name,
    attributes: Array.from({ length: 8 }, (_, number) => ({
      key: `Key ${number}`,
      value: `${at} ${number}`,
    })),
  }));

test('a task that waits is cancelled on its page, and nothing of it is done (§4.7 rule 11)', async (t) => {
  const { enter, service } = await startConsole(t);
  const { relata } = service;
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/updates`);
  const before = Array.from({ length: AHEAD }, (_, at) => makeMany(`ahead ${at}`));
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

/** Without a reload, which would forget the key. */
async function goTo(page: Page, address: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, address);
}
