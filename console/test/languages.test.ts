// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import de from '../src/languages/de.json' with { type: 'json' };
import { compileMessage } from '../src/languages/messages.ts';
import { makeExampleProject, shareConsole } from './harness.ts';
import { signInByKey } from './people.ts';

/** Names that are also part of the example data. */
const DATA = new Set(['Bits for this drill', 'Tools > Drills']);

/** @returns a pattern for the rendered text; undefined if the text is little more than its inserted values */
function toPattern(text: string): string | undefined {
  const write = (token: unknown): string => {
    if (!Array.isArray(token)) return RegExp.escape(String(token).replaceAll(/<\/?\w+>/g, ''));
    const [, , cases] = token;
    const forms = Object.values((cases ?? {}) as Record<string, unknown[]>);
    return forms.length === 0 ? '.+' : `(?:${forms.map((form) => form.map(write).join('')).join('|')})`;
  };
  const letters = text.replaceAll(/[{<][^}>]*[}>]|[^\p{L}]/gu, '');
  if (text.includes('{') && letters.length < 6) return undefined;
  return compileMessage(text)
    .map((token) => (token === '#' ? '.+' : write(token)))
    .join('')
    .replaceAll('\\#', '.+')
    .replaceAll('#', '.+');
}

const germans = new Set<string>(Object.values(de));
const ENGLISH = Object.keys(de)
  .filter((text) => de[text as keyof typeof de] !== text && !germans.has(text) && !DATA.has(text))
  .flatMap((text) => toPattern(text) ?? []);

/** @returns all texts of a page that a user can read or hear, piece by piece */
const readPage = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const texts: string[] = [document.title.replace(' · Relata', '')];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) texts.push(walker.currentNode.textContent ?? '');
    for (const element of document.querySelectorAll('[aria-label],[title],[placeholder]'))
      for (const name of ['aria-label', 'title', 'placeholder']) texts.push(element.getAttribute(name) ?? '');
    return [...new Set(texts.map((text) => text.trim()))].filter((text) => /\p{L}{2}/u.test(text));
  });

async function findEnglish(page: Page): Promise<string[]> {
  const whole = new RegExp(`^(?:${ENGLISH.join('|')})$`, 'u');
  return (await readPage(page)).filter((text) => whole.test(text) && !germans.has(text));
}

async function show(page: Page, address: string): Promise<void> {
  await page.keyboard.press('Escape');
  await page.evaluate((to) => {
    location.hash = to;
  }, address);
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page.waitForLoadState('networkidle');
  await page.waitForFunction(
    () =>
      !/Wird geladen …|Wird gezählt …/.test(document.body.textContent ?? '') &&
      !document.querySelector('[aria-busy=true]'),
  );
}

test('every page is German after the user chooses German, also after a reload, and drafts are kept', async (t) => {
  const { service, open } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Bohrer');
  const page = await open('#/');
  await page.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
  assert.ok((await findEnglish(page)).length > 5, 'the check finds English texts on an English page');
  await signInByKey(page, service.key);

  await page.evaluate((to) => {
    location.hash = to;
  }, `#/projects/${id}/settings`);
  await page.getByLabel('Tags').fill('not saved');
  await page.getByRole('button', { name: 'Your menu' }).click();
  await page.getByRole('menuitem', { name: 'Deutsch' }).click();
  await page.getByRole('heading', { name: 'Einstellungen', level: 1 }).waitFor();
  assert.equal(await page.getByLabel('Schlagwörter').inputValue(), 'not saved');
  assert.equal(await page.locator('html').getAttribute('lang'), 'de');
  await page.evaluate(() => {
    location.hash = '#/';
  });
  await page.getByRole('button', { name: 'Ohne Speichern verlassen' }).click();

  const seen: string[] = [];
  const views = [
    'products',
    'ontology',
    'relations/new',
    'pipelines/new',
    'channels/new',
    'updates',
    'events',
  ];
  for (const address of ['#/', ...['', ...views].map((view) => `#/projects/${id}/${view}`)]) {
    await show(page, address);
    const english = await findEnglish(page);
    if (english.length > 0) seen.push(`${address}: ${english.join(' | ')}`);
  }
  assert.deepEqual(seen, []);
  await page.setViewportSize({ width: 390, height: 844 });
  for (const view of ['api-access', 'channels/new']) {
    await show(page, `#/projects/${id}/${view}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.equal(over, 0, `${view} is wider than a phone`);
  }

  await show(page, `#/projects/${id}/products`);
  await page.getByText('33 Produkte', { exact: true }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Bei Relata anmelden' }).waitFor();
  assert.deepEqual(await findEnglish(page), []);
});

test('the console uses the language of the browser until the user chooses another one', async (t) => {
  const { open } = await shareConsole(t);
  const page = await open('#/', { locale: 'de-AT' });
  await page.getByRole('heading', { name: 'Bei Relata anmelden' }).waitFor();
  await page.getByLabel('Sprache').selectOption({ label: 'English' });
  await page.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'en');
});
