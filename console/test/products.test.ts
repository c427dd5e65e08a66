import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeExampleProject, shareConsole } from './harness.ts';

test('products are narrowed by identifier and category, and found by name and attribute (§14.3)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/products`);
  await page.getByText('33 products').waitFor();

  await page.getByLabel('Identifier begins with').fill('BIT-2');
  await page.getByText('5 products', { exact: true }).waitFor();
  assert.match(page.url(), /prefix=BIT-2$/, 'the view has an address to send');
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByLabel('Category').fill('Tools > Drills');
  await page.getByText('18 products', { exact: true }).waitFor();

  await page.getByLabel('Name contains').fill('12 v');
  await page.getByText(/^9 found, \d+ of \d+ looked at$/).waitFor();
  await page.getByLabel('Attribute').fill('Colour: red');
  await page
    .getByText('No product')
    .or(page.getByText(/^0 found/))
    .waitFor();
  await page.getByLabel('Attribute').fill('Colour: black');
  await page.getByText(/^3 found/).waitFor();
  await page.getByRole('link', { name: 'DRILL-112-BLACK' }).waitFor();
});

test('what a change of an attribute would do is told before it is saved (§11.6)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/ontology`);
  await page.getByText('1 not extracted').waitFor();
  await page.getByRole('button', { name: 'Diameter' }).click();
  await page.getByText('unit_missing').waitFor();
  await page.getByLabel('Unit').fill('');
  await page.getByText('Become facts').first().waitFor();
  await page.getByRole('link', { name: 'BIT-3-10' }).first().waitFor();
});
