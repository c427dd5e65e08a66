/**
 * `npm run screenshots` writes a picture of every view, in light, in dark and at phone width, to
 * console/screenshots. The pictures show the catalog of `npm run demo`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from './test/browser.ts';
import { enterAsOwner } from './test/people.ts';
import { startService } from './test/service.ts';
import { listViews, OPEN_VIEWS, showView, type View } from './test/views.ts';

const FOLDER = join(import.meta.dirname, 'screenshots');
const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1360, height: 900 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 },
] as const;
const COUNTED_MS = 30_000;
/** A rendered view first looks up the products that it names, and then loads their pictures. */
const LOOKED_UP_MS = 600;

mkdirSync(FOLDER, { recursive: true });
const service = await startService({ command: 'demo' });
const browser = await launchBrowser();
try {
  const views = await listViews(service.relata, 1);
  const { page: owner } = await enterAsOwner({ open, service });
  const storageState = await owner.context().storageState();
  await untilCounted();
  for (const { name, ...look } of LOOKS) {
    const stranger = await open('#/', look);
    for (const view of OPEN_VIEWS) await picture(stranger, view, name);
    const page = await open('#/', { ...look, storageState });
    for (const view of views) await picture(page, view, name);
  }
} finally {
  await browser.close();
  await service.stop();
}

async function open(address = '#/', options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  await page.goto(`${service.url}/console/${address}`);
  return page;
}

/** Each process writes its counts every ten seconds. Until then, the overview is empty. */
async function untilCounted(): Promise<void> {
  const deadline = Date.now() + COUNTED_MS;
  const isCounted = async () => (await service.relata.installation.statistics()).requests.length > 0;
  while (!(await isCounted()) && Date.now() < deadline) await sleep(500);
}

async function picture(page: Page, view: View, look: string): Promise<void> {
  await showView(page, view);
  await sleep(LOOKED_UP_MS);
  await page.evaluate(loadPictures);
  await page.screenshot({ path: join(FOLDER, `${view.name}-${look}.png`), fullPage: true });
}

/** Images outside the visible part are not loaded yet and would be white. */
async function loadPictures(): Promise<void> {
  for (const image of document.images) image.loading = 'eager';
  await Promise.allSettled([...document.images].map((image) => image.decode()));
}
