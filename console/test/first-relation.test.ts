// runs: deep
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { makeExample } from '../src/state/example.ts';
import { startConsole, untilBuilt } from './harness.ts';
import { enterAsOwner } from './people.ts';

/** The maximum of clicks and time that a new user with a file may need. */
const MOST_CLICKS = 10;
const MOST_MS = 120_000;

/** Rows as a shop exports them, with column names that a shop uses. */
function writeCsv(): string {
  const products = makeExample();
  const keys = [...new Set(products.flatMap(({ attributes }) => (attributes ?? []).map(({ key }) => key)))];
  const rows = products.map(({ identifier, name, categories, attributes }) => [
    ...[identifier, name, categories?.[0]?.path.join(' > ')],
    ...keys.map((key) => attributes?.find((attribute) => attribute.key === key)?.value ?? ''),
  ]);
  return [['SKU', 'Title', 'Category', ...keys], ...rows]
    .map((cells) => cells.map(quote).join(';'))
    .join('\n');
}

const quote = (value: unknown) => `"${String(value).replaceAll('"', '""')}"`;

/**
 * Counts the clicks of a pointer, and saves a picture of each step in the folder that RELATA_TEST_PICTURES
 * names.
 */
async function film(page: Page, folder: string) {
  await page.evaluate(() => {
    const counted = { clicks: 0 };
    Object.assign(globalThis, { counted });
    // A click on the label of a file field causes a second click on the field itself.
    const isOurs = ({ isTrusted, detail, target }: MouseEvent) =>
      isTrusted && detail > 0 && !(target instanceof HTMLInputElement && target.type === 'file');
    addEventListener('click', (event) => isOurs(event) && counted.clicks++, true);
  });
  const pictures: string[] = [];
  return {
    pictures,
    readClicks: () =>
      page.evaluate(() => (globalThis as typeof globalThis & { counted: { clicks: number } }).counted.clicks),
    async take(step: string): Promise<void> {
      const path = join(folder, `${String(pictures.length + 1).padStart(2, '0')}-${step}.png`);
      await page.screenshot({ path });
      pictures.push(path);
    },
  };
}

test('a new user creates a correct relation from a CSV file in 10 clicks and 2 minutes (§13, §12)', async (t) => {
  const console = await startConsole(t);
  const { relata } = console.service;
  const folder = process.env.RELATA_TEST_PICTURES ?? mkdtempSync(join(tmpdir(), 'relata-film-'));
  mkdirSync(folder, { recursive: true });
  if (process.env.RELATA_TEST_PICTURES === undefined) t.after(() => rmSync(folder, { recursive: true }));
  const group = await relata.projects.createGroup('Tools');
  const { id } = await relata.projects.create({ name: 'Tools', projectGroupId: group.id, locale: 'en-GB' });
  const { page } = await enterAsOwner(console);
  await page.getByText('Drop a file with your products').waitFor();
  const begun = Date.now();
  const { take, pictures, readClicks } = await film(page, folder);
  await take('empty');

  const choosing = page.waitForEvent('filechooser');
  await page.getByText('Choose a file …').click();
  const file = { name: 'tools.csv', mimeType: 'text/csv', buffer: Buffer.from(writeCsv()) };
  await (await choosing).setFiles(file);
  await page.getByRole('button', { name: 'Import 33 products' }).waitFor();
  await take('looked-at');
  await page.getByRole('button', { name: 'Import 33 products' }).click();
  await page.getByText('33 products', { exact: true }).waitFor();
  await take('imported');

  await page.getByRole('link', { name: 'Relations', exact: true }).click();
  await page.getByRole('link', { name: 'New relation' }).first().click();
  for (const [chip, category] of [
    ['any product', 'Drills'],
    ['all products', 'Bits'],
  ]) {
    await page.getByRole('button', { name: new RegExp(`^${chip}: Add`) }).click();
    // The category is chosen first. The rest is done with the keyboard.
    await page.getByLabel('Category', { exact: true }).fill(category ?? '');
    await page.getByRole('option', { name: `Tools > ${category}` }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.locator('.chip-editor').waitFor({ state: 'detached' });
  }
  await take('sides');
  await page.getByRole('button', { name: /Add a match$/ }).click();
  await page.getByLabel('Attribute of the result').fill('Shank');
  await page.keyboard.press('Tab');
  const other = page.getByLabel('Attribute of the requested product');
  await other.and(page.locator('[value="Shank"]')).waitFor();
  await other.fill('Chuck');
  await page.keyboard.press('Tab');
  await page.getByText('100% have results').waitFor();
  await take('found');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Continue' }).click();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Bits for Drills');
  await take('named');
  await page.getByRole('button', { name: 'Create the relation' }).click();
  await page.getByRole('heading', { name: 'Bits for Drills' }).waitFor();
  await take('created');
  const tookMs = Date.now() - begun;

  await untilBuilt(relata, id);
  const { relations } = await relata.products.relationsOf(id, 'DRILL-118-BLUE', { limit: 20 });
  const results = relations.flatMap(
    ({ asSource }) => asSource?.results.map(({ identifier }) => identifier) ?? [],
  );
  assert.deepEqual(results.toSorted(), ['BIT-1-04', 'BIT-1-05', 'BIT-1-06', 'BIT-1-08', 'BIT-1-10']);
  const clicks = await readClicks();
  t.diagnostic(
    `${clicks} clicks, ${Math.round(tookMs / 100) / 10} s, ${pictures.length} pictures in ${folder}`,
  );
  assert.ok(clicks > 0 && clicks <= MOST_CLICKS, `${clicks} clicks`);
  assert.ok(tookMs <= MOST_MS, `${tookMs} ms`);
  assert.ok(
    pictures.every((path) => statSync(path).size > 10_000),
    'every step has its picture',
  );
});
