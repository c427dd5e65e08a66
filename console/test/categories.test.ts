// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeExampleProject, shareConsole } from './harness.ts';

test('suggests categories where products are narrowed, and accepts free text (§14.3)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { relata } = service;
  const id = await makeExampleProject(service);
  const odd = { identifier: 'ODD', name: 'Odd', categories: [{ path: ['Tools', 'Saws > "fine"'] }] };
  await relata.tasks.wait((await relata.products.replace([odd], { projectId: id })).task.id);
  const page = await enter(`#/projects/${id}/products`);
  await page.getByText('34 products').waitFor();

  await page.getByRole('button', { name: 'Filters' }).click();
  const field = page.getByRole('combobox', { name: 'Category' });
  await field.click();
  await page.getByRole('option', { name: 'Tools > Bits', exact: true }).waitFor();
  assert.deepEqual(await page.getByRole('option').allTextContents(), [
    'Tools',
    'Tools > Bits',
    'Tools > Drills',
    'Tools > "Saws > \\"fine\\""',
  ]);
  await field.pressSequentially('DRÍ');
  await page.getByRole('option', { name: 'Tools > Drills', exact: true }).click();
  assert.equal(await field.inputValue(), 'Tools > Drills');
  await page.getByText('18 products found', { exact: true }).waitFor();

  await field.fill('saws');
  await page.getByRole('option').click();
  await page.getByRole('link', { name: 'ODD' }).waitFor();
  await field.fill('Tools > bits');
  await page.getByText('No product matches all of these').waitFor();
  await field.fill('Tools > Bits');
  await page.getByText('15 products found', { exact: true }).waitFor();
});

test('a category of a relation is chosen from the categories of the project, or typed (§12.2)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { relata } = service;
  const id = await makeExampleProject(service);
  const [relation] = await relata.relations.list(id);
  const ids = { projectId: id, relationId: relation?.id ?? 0 };
  const page = await enter(`#/projects/${id}/relations/${ids.relationId}`);
  await page.getByText('More: both sides as a form').click();
  const [source, target] = [page.getByLabel('Category').first(), page.getByLabel('Category').last()];
  await source.fill('bits');
  await page.getByRole('option', { name: 'Tools > Bits', exact: true }).click();
  await target.fill('Lamps > "A > B"');
  await target.press('Tab');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The relation is saved').waitFor();
  const { value } = await relata.relations.get(id, ids.relationId);
  assert.deepEqual(value.source, { all: [{ category: ['Tools', 'Bits'] }] });
  assert.deepEqual(value.target, { all: [{ category: ['Lamps', 'A > B'] }] });
});
