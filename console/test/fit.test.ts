import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBarriers, makeExampleProject, shareConsole, untilBuilt } from './harness.ts';

test('products are put together by their words, judged pair by pair, and one that fits takes the place of one that does not (§12.10)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Fit');
  const [relation] = await service.relata.relations.list(id);
  assert.ok(relation);
  await service.relata.relations.put(
    { projectId: id, relationId: relation.id },
    { ...relation, constraint: true },
  );
  const path = [{ path: ['Tools', 'Bits'] }];
  const { task } = await service.relata.products.replace(
    [{ identifier: 'BIT-X', name: 'Bit of a flea market', categories: path, attributes: [] }],
    { projectId: id },
  );
  await service.relata.tasks.wait(task.id);
  await untilBuilt(service.relata, id);

  const page = await enter(`#/projects/${id}/products/DRILL-118-BLUE`);
  await page.locator('#main').getByRole('link', { name: 'Does it fit?' }).click();
  await page.getByRole('heading', { name: 'Does it fit?' }).waitFor();
  await page.getByText('No rule is about these products').waitFor();
  const add = async (words: string, name: RegExp) => {
    await page.getByLabel('Add a product').fill(words);
    await page.getByRole('option', { name }).first().click();
  };
  await add('BIT-2-04', /BIT-2-04/);
  await page.getByText('They do not fit together').waitFor();
  await page
    .getByText(/^Shank would have to be SDS-plus; Shank is Hexagon/)
    .first()
    .waitFor();
  assert.match(
    decodeURIComponent(page.url()),
    /items=\["DRILL-118-BLUE","BIT-2-04"\]$/,
    'the answer has an address',
  );
  assert.deepEqual(await findBarriers(page), []);

  const take = page.getByRole('button', { name: /^Take BIT-1-/ }).first();
  await take.click();
  await page.getByText('They fit together').waitFor();
  await page.goBack();
  await page.getByText('They do not fit together').waitFor();
  await page.getByRole('button', { name: 'Remove BIT-2-04' }).click();
  await add('flea', /BIT-X/);
  await page.getByText('Nobody knows').waitFor();
  await page.getByRole('link', { name: 'Shank' }).click();
  await page.getByRole('heading', { name: 'Ontology' }).waitFor();
  assert.equal(await page.getByLabel('Attribute contains').inputValue(), 'Shank');
});
