/**
 * `npm run screenshots`: every view in light, in dark and at phone width, as pictures in console/screenshots. The catalog is
 * that of `npm run demo`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { launchBrowser } from './test/browser.ts';
import { signInByKey } from './test/harness.ts';
import { startService } from './test/service.ts';
import { listViews, OPEN_VIEWS, showView, type View } from './test/views.ts';

const FOLDER = join(import.meta.dirname, 'screenshots');
const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1360, height: 900 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 },
] as const;

mkdirSync(FOLDER, { recursive: true });
const service = await startService({ command: 'demo' });
const browser = await launchBrowser();
try {
  const views = await listViews(service.relata, 1);
  for (const { name, ...look } of LOOKS) {
    const context = await browser.newContext(look);
    const page = await context.newPage();
    await page.goto(`${service.url}/console/`);
    for (const view of OPEN_VIEWS) await picture(page, view, name);
    await page.goto(`${service.url}/console/#/`);
    await signInByKey(page, service.key);
    for (const view of views) await picture(page, view, name);
    await context.close();
  }
} finally {
  await browser.close();
  await service.stop();
}

async function picture(page: Page, view: View, look: string): Promise<void> {
  await showView(page, view);
  await page.screenshot({ path: join(FOLDER, `${view.name}-${look}.png`), fullPage: look === 'phone' });
}
