// runs: long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { makeExampleProject, shareConsole } from './harness.ts';

/** Holds the requests of a method to a path until the function that it returns is called. */
async function hold(page: Page, method: string, path: RegExp): Promise<() => void> {
  let release = () => {};
  const isFree = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(path, async (route) => {
    if (route.request().method() === method) await isFree;
    await route.continue();
  });
  return release;
}

test('marks an unfinished match, leaves it out of the preview, and does not allow a save (§12.6)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Unfinished');
  const page = await enter(`#/projects/${id}/relations/new`);
  await page.getByRole('button', { name: 'Add a match' }).click();
  const editor = page.getByRole('dialog', { name: 'What must match' });
  await editor.getByLabel('Attribute of the result').fill('Shank');
  await page.getByRole('option', { name: 'Shank', exact: true }).click();
  // The same attribute is filled in on the other side automatically.
  const other = editor.getByLabel('Attribute of the requested product');
  await other.and(page.locator('[value="Shank"]')).waitFor();
  await other.fill('');
  await page.keyboard.press('Tab');
  await editor.getByRole('button', { name: 'Done' }).click();
  await page.getByText('A part of the sentence is unfinished and left out').waitFor();
  assert.equal(await page.locator('.sentence-chip.unfinished').count(), 1);
  const create = page.getByRole('button', { name: 'Continue' });
  assert.equal(await create.isDisabled(), true);
  await page.locator('.sentence-chip.unfinished').click();
  await editor.getByLabel('Attribute of the requested product').fill('Chuck');
  await page.getByRole('option', { name: 'Chuck', exact: true }).click();
  await editor.getByRole('button', { name: 'Done' }).click();
  await page.locator('.sentence-chip.unfinished').waitFor({ state: 'detached' });
  assert.equal(await create.isEnabled(), true);
});

test('asks before a relation without any condition is created (§12.1)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Empty');
  const page = await enter(`#/projects/${id}/relations/new`);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Everything');
  await page.getByLabel('Tag', { exact: true }).fill('everything');
  await page.getByRole('button', { name: 'Create the relation' }).click();
  await page.getByText('This relation relates every product to every other one.').waitFor();
  await page.getByRole('button', { name: 'Stay here' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal((await service.relata.relations.list(id)).length, 1);
});

test('a save that finishes after the user has left the page does not open another page (§14.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Left');
  const [relation] = await service.relata.relations.list(id);
  const page = await enter(`#/projects/${id}/relations/${relation?.id}?step=details`);
  const release = await hold(page, 'PUT', /\/relations\/\d+$/);
  await page.getByLabel('Tag', { exact: true }).fill('left');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: 'Attributes', exact: true }).click();
  await page.getByRole('button', { name: 'Leave without saving' }).click();
  await page.getByRole('heading', { name: 'Attributes', exact: true }).waitFor();
  release();
  await page.getByText('The relation is saved').waitFor();
  assert.equal(new URL(page.url()).hash, `#/projects/${id}/ontology`);
});

test('saving a channel waits for its preview, and a notice does not cover the buttons of a dialog (§14.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Waits');
  const page = await enter(`#/projects/${id}/settings`);
  await page.getByLabel('Tags').fill('noticed');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const notice = page.locator('.toast');
  await notice.waitFor();
  await page.getByRole('button', { name: 'Delete the project …' }).click();
  const button = page.getByRole('dialog').getByRole('button', { name: 'Delete the project', exact: true });
  const [noticeBox, buttonBox] = [await notice.boundingBox(), await button.boundingBox()];
  assert.ok(noticeBox && buttonBox);
  assert.ok(
    noticeBox.y + noticeBox.height < buttonBox.y || noticeBox.x > buttonBox.x + buttonBox.width,
    'the notice lies beside the button',
  );
  await page.keyboard.press('Escape');

  const release = await hold(page, 'POST', /\/channels\/preview$/);
  await page.goto(`${service.url}/console/#/projects/${id}/channels/new`);
  await page.getByLabel('Name', { exact: true }).fill('Too early');
  await page.locator('button[aria-disabled]', { hasText: 'One moment' }).waitFor();
  release();
  await page.getByRole('button', { name: 'Create the channel' }).and(page.locator(':enabled')).waitFor();
});

test('an import sends its file for only one preview, and its button becomes ready once (§13.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Sent once');
  const page = await enter(`#/projects/${id}/import`);
  let previews = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/pipelines/preview')) previews += 1;
  });
  const buffer = Buffer.from('sku;title;category\nA;First;Old\nB;Second;New\nA;Last;New\n');
  await page.locator('input[type=file]').setInputFiles({ name: 'two.csv', mimeType: 'text/csv', buffer });
  const button = page.getByRole('button', { name: 'Import 2 products' });
  await button.and(page.locator(':enabled')).waitFor();
  await page.getByText('Last', { exact: true }).waitFor();
  assert.equal(await page.getByText('First', { exact: true }).count(), 0);
  // The delay between a change and its preview.
  await page.waitForTimeout(1_000);
  assert.equal(previews, 1);
  assert.equal(await button.isEnabled(), true);
});
