// runs: deep, slow
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { makeExampleProject, shareConsole } from './harness.ts';

test('an open full update shows its deletions, is committed, and is undone (§4.4, §4.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  await service.relata.projects.change(id, { settings: { maxDeletePercent: 10 } });
  await service.relata.products.fullUpdate(
    [
      { identifier: 'NEW', name: '=1+1', attributes: [{ key: 'Voltage', value: '18' }] },
      { identifier: 'BIT-1-04', name: 'Bit' },
    ],
    { projectId: id, confirm: () => false },
  );
  const page = await enter(`#/projects/${id}/updates`);
  await page.getByText('To be deleted: 32 products').waitFor();
  await page.getByRole('button', { name: 'Apply it …', exact: true }).click();
  await page.getByText('more than the 10 %').waitFor();
  await page.getByRole('button', { name: 'Apply and delete 32' }).click();
  await page.getByRole('heading', { name: 'Full update', exact: true }).waitFor();
  await page.getByText('finished', { exact: true }).waitFor();
  await page.getByText('unit_missing').waitFor();

  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as CSV' }).click();
  const csv = await readFile((await (await saving).path()) ?? '', 'utf8');
  assert.match(csv, /^\ufeffidentifier,code,attribute,value,message\r\nNEW,unit_missing,Voltage,18,/);

  await page.getByRole('link', { name: 'Updates' }).first().click();
  await page.getByRole('button', { name: 'Undo the last change …' }).click();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('heading', { name: 'Restore', exact: true }).waitFor();
  await page.getByText('finished', { exact: true }).waitFor();
  assert.equal((await service.relata.products.list(id)).items.length, 33);
});

test('commits only the full update and the deletions that the dialog showed (§4.4 rules 20 and 23)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { products } = service.relata;
  const id = await makeExampleProject(service);
  const present = (await products.list(id, { limit: 1_000 })).items;
  const upload = (...some: { identifier: string; name: string }[]) =>
    products.fullUpdate(some, { projectId: id, confirm: () => false });
  /** The page refreshes every 15 s. This test changes the data between a refresh and the click. */
  const stopLooking = (page: Page) => page.route(/\/full-update$/, () => {});

  await upload({ identifier: 'SHOWN', name: 'Shown' });
  const page = await enter(`#/projects/${id}/updates`);
  await page.getByText('To be deleted: 33 products').waitFor();
  await stopLooking(page);
  await page.getByRole('button', { name: 'Apply it …', exact: true }).click();
  // It would delete the same number, so the number alone does not distinguish them.
  await upload({ identifier: 'OTHER', name: 'Other' });
  await page.getByRole('button', { name: 'Apply and delete 33' }).click();
  await page.getByText('The full update has changed in the meantime. Check it again.').waitFor();

  await upload(...present.map(({ identifier, name }) => ({ identifier, name })));
  const later = await enter(`#/projects/${id}/updates`);
  await later.getByRole('button', { name: 'Apply it …', exact: true }).click();
  await stopLooking(later);
  const { task } = await products.replace([{ identifier: 'LATE', name: 'Late' }], { projectId: id });
  await service.relata.tasks.wait(task.id);
  await later.getByRole('button', { name: 'Apply it', exact: true }).click();
  await later.getByText('Nothing was changed, because another number of deletions was confirmed.').waitFor();

  await upload({ identifier: 'FIRST', name: 'First' });
  const half = await enter(`#/projects/${id}/updates`);
  await half.getByRole('button', { name: 'Apply it …', exact: true }).click();
  await stopLooking(half);
  // A new product does not change the number of deletions.
  await products.upload([{ identifier: 'SECOND', name: 'Second' }], { projectId: id });
  await half.getByRole('button', { name: 'Apply and delete 34' }).click();
  await half.getByText('The full update has changed in the meantime. Check it again.').waitFor();
  assert.equal((await products.list(id, { limit: 1_000 })).items.length, 34);
});

test('the dialog of a commit keeps its first figures, and the page reports a refresh that fails (§4.4 rule 23)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { products } = service.relata;
  const id = await makeExampleProject(service);
  const { fullUpdateId } = await products.initiate({ projectId: id });
  const upload = (identifier: string) =>
    products.upload([{ identifier, name: identifier }], { projectId: id, fullUpdateId });
  await upload('NEW');
  const page = await enter(`#/projects/${id}/updates`);
  /** Leaves the page and returns until the page shows the change. The page refreshes every 15 s. */
  const lookUntil = async (isDone: () => Promise<boolean>) => {
    for (let times = 0; !(await isDone()); times += 1) {
      assert.ok(times < 100, 'the page refreshes when the user returns');
      await page.evaluate(() => dispatchEvent(new Event('visibilitychange')));
      await page.waitForTimeout(200);
    }
  };
  const figures = page.getByText('To be deleted: 32 products');
  await page.getByRole('button', { name: 'Apply it …', exact: true }).click();
  const confirm = page.getByRole('button', { name: 'Apply and delete 33' });
  await confirm.waitFor();
  await upload('DRILL-118-BLUE');
  await lookUntil(() => figures.isVisible());
  await confirm.click();
  await page.getByText('The full update has changed in the meantime. Check it again.').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await confirm.waitFor({ state: 'detached' });

  const look = /\/full-update$/;
  const failure = page.getByRole('alert');
  await page.route(look, (route) => route.fulfill({ status: 500 }));
  await lookUntil(() => failure.isVisible());
  assert.equal(await figures.isVisible(), true);
  await page.unroute(look);
  await lookUntil(async () => !(await failure.isVisible()));

  await page.route(look, async (route) => {
    const response = await route.fetch();
    const { fullUpdate } = await response.json();
    await route.fulfill({ response, json: { fullUpdate: { ...fullUpdate, lastBatch: 'in doubt' } } });
  });
  await lookUntil(() => page.getByText('Some products may be missing').isVisible());
  assert.equal(await page.getByRole('button', { name: 'Apply it …', exact: true }).isDisabled(), true);
});

test('the timeline shows commits with old and new products, and undoes them (§14.8, §4.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { relata } = service;
  const id = await makeExampleProject(service);
  await relata.projects.change(id, { settings: { keptCommits: 5 } });
  const load = (...products: { identifier: string; name: string }[]) =>
    relata.products.fullUpdate(products, { projectId: id });
  await load({ identifier: 'A', name: 'Old name' }, { identifier: 'B', name: 'Stays' });
  await load({ identifier: 'A', name: 'New name' }, { identifier: 'B', name: 'Stays' });
  const { task } = await relata.products.delete(['B'], { projectId: id });
  await relata.tasks.wait(task.id);
  const page = await enter(`#/projects/${id}/updates`);
  const marks = page.getByRole('list', { name: 'Changes by time' }).getByRole('button');
  await marks.nth(3).focus();
  await page.getByText('1 deleted', { exact: true }).waitFor();
  await page.locator('.glance').getByText('Stays').waitFor();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('1 changed', { exact: true }).waitFor();
  await page.locator('summary', { hasText: 'New name' }).click();
  await page.getByRole('row', { name: 'Name Old name New name' }).waitFor();
  await page.getByRole('button', { name: 'Undo …' }).click();
  await page.getByText('The last 2 changes are undone').waitFor();
  await page.getByText('1 product comes back').waitFor();
  await page.getByText('1 product returns to an earlier state').waitFor();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('heading', { name: 'Restore', exact: true }).waitFor();
  await page.getByText('finished', { exact: true }).waitFor();
  const { items } = await relata.products.list(id);
  assert.deepEqual(
    items.map(({ name }) => name),
    ['Old name', 'Stays'],
  );
  await page.goto(`${service.url}/console/#/projects/${id}/products/A`);
  await page.locator('summary', { hasText: 'Full update' }).first().click();
  await page.getByRole('row', { name: 'Name nothing Old name' }).waitFor();
});
