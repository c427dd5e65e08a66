// runs: long, slow
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import {
  COLOUR_RULES,
  findBarriers,
  makeExamplePipeline,
  makeExampleProject,
  shareConsole,
} from './harness.ts';
import { enterAsOwner } from './people.ts';
import { listViews, OPEN_VIEWS, showView, type View } from './views.ts';

const LOOKS = [
  { name: 'light', colorScheme: 'light' },
  { name: 'dark', colorScheme: 'dark' },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
] as const;

test('no view has a barrier that axe finds, in light, in dark and on a phone, and none is wider than a phone', async (t) => {
  const console = await shareConsole(t);
  const { open, service } = console;
  const { page: owner } = await enterAsOwner(console);
  const storageState = await owner.context().storageState();
  const projectId = await makeExampleProject(service);
  await makeExamplePipeline(service, projectId);
  const views = await listViews(service.relata, projectId);
  const barriers: string[] = [];
  for (const { name, ...look } of LOOKS) {
    const stranger = await open('#/', look);
    for (const view of OPEN_VIEWS) barriers.push(...(await check(stranger, view, name)));
    await stranger.context().close();
    const page = await open('#/', { ...look, storageState });
    for (const view of views) barriers.push(...(await check(page, view, name)));
    await page.context().close();
  }
  assert.deepEqual(barriers, []);
});

const DOCS = { light: 'tutorial', dark: '', phone: 'operating' } as const;

test('the documentation has no barrier that axe finds, and its search leads to a heading', async (t) => {
  const { open, enter, service } = await shareConsole(t);
  const barriers: string[] = [];
  const owner = await enter();
  const opened = owner.context().waitForEvent('page');
  await owner.getByRole('link', { name: 'Documentation' }).click();
  await (await opened).waitForURL(`${service.url}/docs/`);
  for (const { name, ...look } of LOOKS) {
    const page = await open('', look);
    await page.goto(`${service.url}/docs/${DOCS[name]}`);
    barriers.push(...(await findProblems(page)).map((line) => `${DOCS[name]}, ${name}: ${line}`));
    await page.getByRole('combobox', { name: 'Search the documentation' }).fill('delete guard');
    await page.getByRole('option').first().waitFor();
    barriers.push(...(await findProblems(page)).map((line) => `search, ${name}: ${line}`));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#/);
    assert.ok(await page.locator(':target').count(), page.url());
    await page.context().close();
  }
  assert.deepEqual(barriers, []);
});

async function check(page: Page, view: View, look: string): Promise<string[]> {
  await showView(page, view);
  const rules = look === 'dark' ? COLOUR_RULES : undefined;
  return (await findProblems(page, rules)).map((line) => `${view.name}, ${look}: ${line}`);
}

async function findProblems(page: Page, rules?: readonly string[]): Promise<string[]> {
  const barriers = await findBarriers(page, rules);
  const overhang = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return overhang > 0 ? [...barriers, `${overhang} px wider than the screen`] : barriers;
}
