import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Console, makeExampleProject, startConsole } from './harness.ts';
import { enterAsOwner, fill } from './people.ts';

test('the console as its users expect it to be', async (t) => {
  const given = await startConsole(t);
  const id = await makeExampleProject(given.service);
  await t.test(
    'filters stand in the address and follow the back button, and a list is where one left it (§14.3)',
    comeBack(given, id),
  );
  await t.test(
    'whoever is signed out while something is not saved signs in over it (§5.6 rule 6)',
    signInAgain(given, id),
  );
  await t.test(
    'a dialog begins at its first field, or where least can be done wrong',
    beginAtField(given, id),
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

const signInAgain = (given: Console, id: number) => async () => {
  const { relata } = given.service;
  const [relation] = await relata.relations.list(id);
  const { page, password } = await enterAsOwner(given);
  await page.goto(`${given.service.url}/console/#/projects/${id}/relations/${relation?.id}`);
  const tag = page.getByLabel('Tag', { exact: true });
  await tag.fill('mine');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign in again' });
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await fill(page, { Password: 'wrong' });
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.getByRole('alert').waitFor();
  await fill(page, { Password: password });
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await tag.inputValue(), 'mine');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The relation is saved').waitFor();
  const { value } = await relata.relations.get(id, relation?.id ?? 0);
  assert.equal(value.tag, 'mine');
};

const beginAtField =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter(`#/projects/${id}/settings`);
    const focused = page.locator(':focus');
    await page.getByRole('button', { name: 'Delete the project …' }).click();
    await focused.and(page.getByLabel('Type the name of the project')).waitFor();
    await page.keyboard.press('Escape');
    await focused.and(page.getByRole('button', { name: 'Delete the project …' })).waitFor();
    await page.getByRole('link', { name: 'Updates' }).click();
    await page.getByRole('button', { name: 'Undo the last commit …' }).click();
    await focused.and(page.getByRole('button', { name: 'Cancel' })).waitFor();
  };
