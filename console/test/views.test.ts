import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBarriers, makeExampleProject, startConsole } from './harness.ts';
import { listViews, OPEN_VIEWS, showView } from './views.ts';

const PHONE = { viewport: { width: 390, height: 844 } };

test('axe finds nothing on any view, in light, in dark and on a phone, and no view is wider than a phone', async (t) => {
  const { enter, open, service } = await startConsole(t);
  const projectId = await makeExampleProject(service);
  const views = await listViews(service.relata, projectId);
  const barriers: string[] = [];
  for (const { colorScheme, viewport } of [
    { colorScheme: 'light' as const },
    { colorScheme: 'dark' as const },
    { colorScheme: 'light' as const, ...PHONE },
  ]) {
    const options = { colorScheme, ...(viewport && { viewport }) };
    const stranger = await open('#/', options);
    const page = await enter('#/', options);
    for (const view of [...OPEN_VIEWS, ...views]) {
      const shown = OPEN_VIEWS.includes(view) ? stranger : page;
      await showView(shown, view);
      const name = `${view.name}, ${colorScheme}${viewport ? ', phone' : ''}`;
      for (const barrier of await findBarriers(shown)) barriers.push(`${name}: ${barrier}`);
      const overhang = await shown.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (overhang > 0) barriers.push(`${name}: ${overhang} px wider than the screen`);
    }
    await page.context().close();
    await stranger.context().close();
  }
  assert.deepEqual(barriers, []);
});
