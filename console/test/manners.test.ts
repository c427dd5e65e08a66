// runs: long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Console,
  findBarriers,
  makeExamplePipeline,
  makeExampleProject,
  startConsole,
} from './harness.ts';
import { enterAsOwner, fill, narrowByIdentifier } from './people.ts';

test('the console behaves as users expect', async (t) => {
  const given = await startConsole(t);
  const id = await makeExampleProject(given.service);
  await t.test(
    'filters are part of the address and follow the back button, and a list keeps its scroll position (§14.3)',
    comeBack(given, id),
  );
  await t.test(
    'a user whose session ends with unsaved input signs in on the same page (§5.6 rule 6)',
    signInAgain(given, id),
  );
  await t.test('a dialog focuses its first field, or its safest button', beginAtField(given, id));
  await t.test(
    'keeps the focus at the same position when a row or a button is removed or replaced',
    keepKeyboard(given, id),
  );
  await t.test(
    'does not count the matches of an empty rule, and counts a complete rule as soon as it is shown',
    countWhileDrawn(given, id),
  );
  await t.test('a click on the label of a switch changes it', turnByLabel(given, id));
  await t.test(
    'the report of a run names the row and the column of a value (§4.7 rule 5)',
    reportPlaces(given, id),
  );
  await t.test(
    'a link that is no longer valid says so before the user fills in a form (§5.6 rule 15)',
    tellEnded(given),
  );
  await t.test(
    'the page of updates causes no refused requests if no full update is open (§4.4 rule 32)',
    lookAtUpdates(given, id),
  );
  await t.test('names a missing field in words, at the field (§7.4)', tellAtField(given, id));
  await t.test('the / key focuses the search of a list', searchBySlash(given, id));
  await t.test(
    'Ctrl-K opens a page, a relation or a product by a few letters of its name',
    findByLetters(given, id),
  );
  await t.test('the notice of a deletion undoes it (§4.5)', undoDeletion(given, id));
});

const COUNTED_MS = 3_000;

const comeBack =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter(`#/projects/${id}/products`);
    const chip = page.getByRole('button', { name: 'Remove Identifier begins with: DRILL' });
    await narrowByIdentifier(page, 'DRILL');
    await page.getByText('18 products', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Products', exact: true }).click();
    await page.getByText('33 products', { exact: true }).waitFor();
    assert.equal(await chip.count(), 0, 'the address has no filter');
    await page.goBack();
    await page.getByText('18 products', { exact: true }).waitFor();
    await chip.waitFor();
    await page.goBack();
    await page.getByText('33 products found', { exact: true }).waitFor();
    await page.goBack();
    await page.getByText('33 products', { exact: true }).waitFor();

    const grid = page.getByRole('grid');
    await grid.press('End');
    const top = await grid.evaluate((element) => element.scrollTop);
    assert.ok(top > 0);
    await grid.press('Enter');
    await page.getByRole('heading', { name: /Cordless drill/ }).waitFor();
    await page.goBack();
    await page.waitForFunction((was) => document.querySelector('[role=grid]')?.scrollTop === was, top);

    await page.getByRole('link', { name: 'Attributes', exact: true }).click();
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
  await page.goto(`${given.service.url}/console/#/projects/${id}/relations/${relation?.id}?step=details`);
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
    await page.getByRole('button', { name: 'Undo the last change …' }).click();
    await focused.and(page.getByRole('button', { name: 'Cancel' })).waitFor();
  };

const keepKeyboard = (given: Console, id: number) => async () => {
  const { relata } = given.service;
  const page = await given.enter(`#/projects/${id}/ontology`);
  const focused = page.locator(':focus');
  await page.getByRole('button', { name: 'Shank', exact: true }).click();
  await page.keyboard.press('Escape');
  await focused.and(page.getByRole('button', { name: 'Shank', exact: true })).waitFor();

  const old = await relata.projects.create({ name: 'Old', projectGroupId: 1, locale: 'de-DE' });
  await relata.projects.delete(old.id, 'Old');
  const older = await relata.projects.create({ name: 'Older', projectGroupId: 1, locale: 'de-DE' });
  await relata.projects.delete(older.id, 'Older');
  await page.getByRole('link', { name: 'Projects', exact: true }).click();
  await page.getByRole('row', { name: /^Old / }).getByRole('button').press('Enter');
  await focused.and(page.getByRole('row', { name: /^Older / }).getByRole('button')).waitFor();
};

const countWhileDrawn =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter();
    await page.route('**/relations/preview', async (route) => {
      const { match = [] } = route.request().postDataJSON();
      if (match.length === 0) await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
      await route.continue();
    });
    await page.evaluate((to) => {
      location.hash = to;
    }, `#/projects/${id}/relations/new`);
    await page.getByText('every product to every other product').waitFor();
    await page.waitForLoadState('networkidle');
    await page.getByRole('button', { name: 'Add a match' }).click();
    await page.getByLabel('Attribute of the result').fill('Voltage');
    await page.getByLabel('Attribute of the requested product').fill('Voltage');
    await page.getByText('have results').waitFor();
  };

const turnByLabel =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter(`#/projects/${id}/relations/new`);
    const both = page.getByRole('switch', { name: 'Both ways' });
    assert.equal(await both.getAttribute('aria-checked'), 'false');
    await page.getByText('Both ways', { exact: true }).click();
    await both.and(page.locator('[aria-checked=true]')).waitFor();
  };

const reportPlaces = (given: Console, id: number) => async () => {
  await makeExamplePipeline(given.service, id);
  const [task] = (await given.service.relata.tasks.list({ projectId: id, limit: 1 })).tasks;
  const page = await given.enter(`#/projects/${id}/updates/${task?.id}`);
  await page.getByRole('columnheader', { name: 'Row' }).waitFor();
  await page.getByRole('row', { name: /^3 title row_rejected/ }).waitFor();
};

const tellEnded = (given: Console) => async () => {
  const { relata } = given.service;
  const { link = '', id } = await relata.users.invite('ben@shop.example', 'editor');
  const hash = link.slice(link.indexOf('#'));
  const page = await given.open(hash);
  await page.getByText('You are invited as ben@shop.example, editor').waitFor();
  await relata.users.withdrawInvitation(id);
  await page.reload();
  await page.getByText('This invitation has ended').waitFor();
  assert.equal(await page.getByLabel('Password').count(), 0);
  await page.goto(`${given.service.url}/console/#/welcome/used`);
  await page.getByLabel('Create another owner link', { exact: true }).waitFor();
};

const lookAtUpdates = (given: Console, id: number) => async () => {
  const page = await given.enter(`#/projects/${id}`);
  const refused: string[] = [];
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`);
  });
  await page.getByRole('link', { name: 'Updates', exact: true }).click();
  await page.getByRole('link', { name: 'Full update' }).first().waitFor();
  await page.waitForLoadState('networkidle');
  assert.deepEqual(refused, []);
};

const tellAtField =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter(`#/projects/${id}/pipelines/new`);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Nightly');
    const create = page.getByRole('button', { name: 'Create the pipeline' });
    await create.click();
    const card = page.locator('section', { has: page.getByRole('heading', { name: 'Mapping' }) });
    await card.getByText('is needed for the format csv').waitFor();
    await card.getByText('The mapping as JSON').click();
    await card.getByLabel('Mapping', { exact: true }).fill('{"name":"title"}');
    await create.click();
    await page.getByText('Identifier is missing (Mapping)').waitFor();
    const field = page.getByLabel('Identifier', { exact: true });
    await field.and(page.locator('[aria-invalid="true"]')).waitFor();
  };

const findByLetters =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter(`#/projects/${id}`);
    const find = async (words: string, name: string | RegExp) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Project, page, relation or product' }).fill(words);
      await page.getByRole('option', { name }).first().waitFor();
    };
    await find('bits for', 'Bits for this drill');
    assert.deepEqual(await findBarriers(page), []);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Bits for this drill', level: 1 }).waitFor();
    await find('hexagon 8', /BIT-2-08/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Drill bit 8 mm/ }).waitFor();
    await find('why', 'Why, or why not?');
    await page.keyboard.press('Enter');
    await page.getByLabel('From this product').waitFor();
    await find('o', /Products/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    await page
      .getByRole('combobox', { name: 'Project, page, relation or product' })
      .waitFor({ state: 'detached' });
  };

const searchBySlash =
  ({ enter }: Console, id: number) =>
  async () => {
    const page = await enter(`#/projects/${id}/products`);
    await page.getByRole('grid').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('BIT/');
    assert.equal(await page.getByLabel('Search', { exact: true }).inputValue(), 'BIT/');
  };

const undoDeletion = (given: Console, id: number) => async () => {
  const page = await given.enter(`#/projects/${id}/products/BIT-1-04`);
  await page.getByRole('button', { name: 'Delete …' }).click();
  await page.getByRole('button', { name: 'Delete the product' }).click();
  await page.getByText('BIT-1-04 is deleted').waitFor();
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await page.getByText('BIT-1-04 is back').waitFor();
  await page.getByRole('link', { name: 'BIT-1-04' }).waitFor();
};
