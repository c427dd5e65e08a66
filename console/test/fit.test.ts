// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBarriers, makeExampleProject, shareConsole, untilBuilt } from './harness.ts';

test('judges chosen products pair by pair, and replaces a product that does not fit by an alternative (§12.10)', async (t) => {
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
  await page.getByText('No rule covers these products').waitFor();
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

  const take = page.getByRole('button', { name: /^Use BIT-1-/ }).first();
  await take.click();
  await page.getByText('They fit together').waitFor();
  await page.goBack();
  await page.getByText('They do not fit together').waitFor();
  await page.getByRole('button', { name: 'Remove BIT-2-04' }).click();
  await add('flea', /BIT-X/);
  await page.getByText('It is unknown whether they fit').waitFor();
  await page.getByRole('link', { name: 'Shank' }).click();
  await page.getByRole('heading', { name: 'Attributes', exact: true }).waitFor();
  assert.equal(await page.getByLabel('Attribute contains').inputValue(), 'Shank');
  await page.getByRole('button', { name: 'Count missing values' }).click();
  await page.getByRole('listitem').filter({ hasText: 'Shank: 1 product' }).waitFor();
});

test('the sentence edits constraints, unknown values, calculations, alternatives and totals (§12.1, §12.3, §12.10)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Sentence');
  const [relation] = await service.relata.relations.list(id);
  const page = await enter(`#/projects/${id}/relations/${relation?.id}`);
  await page.getByRole('switch', { name: 'Must hold to fit' }).click();
  await page.getByRole('button', { name: /^Shank is the requested product/ }).click();
  await page.getByText('Missing values and tables').click();
  await page.getByRole('switch', { name: 'Or unknown' }).click();
  await page.getByRole('button', { name: 'Or another match' }).click();
  const fill = async (label: string, index: number, value: string) => {
    await page.getByLabel(label, { exact: true }).nth(index).fill(value);
    await page.keyboard.press('Enter');
    await page.getByLabel(label, { exact: true }).first().waitFor({ state: 'detached' });
  };
  await page.getByLabel('Attribute of the result', { exact: true }).nth(1).fill('Diameter');
  await page.getByLabel('Attribute of the requested product', { exact: true }).nth(1).fill('Diameter');
  await page.getByText('Calculate with: Attribute of the requested product').nth(1).click();
  await page.getByLabel('Times', { exact: true }).last().fill('1.2');
  await page.getByLabel('Plus', { exact: true }).last().fill('10 mm');
  await page
    .getByText(/, or unknown or Diameter is 1\.2 times its Diameter plus 10 mm/)
    .first()
    .waitFor();
  await page.keyboard.press('Escape');
  assert.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The relation is saved').waitFor();
  const stored = await service.relata.relations.get(id, relation?.id ?? 0);
  assert.deepEqual(
    [stored.value.constraint, stored.value.match],
    [
      true,
      [
        {
          any: [
            { target: 'Shank', operator: 'equals', source: 'Chuck', missing: 'passes' },
            {
              target: 'Diameter',
              operator: 'equals',
              source: { attribute: 'Diameter', times: 1.2, plus: '10 mm' },
            },
          ],
        },
      ],
    ],
  );

  await page.goto(`${page.url().split('#')[0]}#/projects/${id}/relations/new`);
  await page.getByLabel('Kind').selectOption('total');
  await page.getByRole('button', { name: /^the sum of …/ }).click();
  await fill('Attribute to add up', 0, 'Diameter');
  await page.getByRole('button', { name: /^is at most its …/ }).click();
  await fill('Attribute of the limit', 0, 'Diameter');
  await page.getByText('With one of these alone; in a set they are added up.').waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Width of all');
  await page.getByLabel('Tag', { exact: true }).fill('total');
  await page.getByRole('button', { name: 'Create the relation' }).click();
  await page.getByRole('heading', { name: 'Width of all' }).waitFor();
  const total = (await service.relata.relations.list(id)).find(({ kind }) => kind === 'total');
  assert.deepEqual([total?.total, total?.limit], [{ attribute: 'Diameter' }, { attribute: 'Diameter' }]);
});
