import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Console, makeExampleProject, startConsole } from './harness.ts';

test('the console as its users expect it to be', async (t) => {
  const given = await startConsole(t);
  const id = await makeExampleProject(given.service);
  await t.test(
    'filters stand in the address and follow the back button, and a list is where one left it (§14.3)',
    comeBack(given, id),
  );
});

const comeBack =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter(`#/projects/${id}/products`);
    const prefix = page.getByLabel('Identifier begins with');
    await prefix.fill('DRILL');
    await page.getByText('18 products', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Products', exact: true }).click();
    await page.getByText('33 products').waitFor();
    assert.equal(await prefix.inputValue(), '', 'the address says that nothing is filtered');
    await page.goBack();
    await page.getByText('18 products', { exact: true }).waitFor();
    assert.equal(await prefix.inputValue(), 'DRILL');
    await page.goBack();
    await page.getByText('33 products').waitFor();

    const grid = page.getByRole('grid');
    await grid.press('End');
    const top = await grid.evaluate((element) => element.scrollTop);
    assert.ok(top > 0);
    await grid.press('Enter');
    await page.getByRole('heading', { name: /Cordless drill/ }).waitFor();
    await page.goBack();
    await page.waitForFunction((was) => document.querySelector('[role=grid]')?.scrollTop === was, top);

    await page.getByRole('link', { name: 'Ontology' }).click();
    await page.getByLabel('Attribute contains').fill('volt');
    await page.getByText('1 attribute', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Voltage' }).waitFor();
    assert.match(page.url(), /contains=volt$/);
    await page.getByRole('link', { name: 'Updates' }).click();
    await page.getByLabel('Status').selectOption('FAILED');
    await page.getByText('No task with this status').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Full update' }).first().waitFor();
    await page.goBack();
    await page.getByText('1 attribute', { exact: true }).waitFor();
  };
