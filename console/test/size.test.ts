// runs: test
import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeExampleProject, startConsole } from './harness.ts';

const DIST = join(import.meta.dirname, '../dist');
/** The maximum that a browser loads before the first view. */
const FIRST_LOAD_BYTES = 250_000;
/** The maximum for a user who has opened every view in both languages. */
const ALL_BYTES = 350_000;

test('the first load is under 250 KB compressed, even for the largest view', async (t) => {
  const { open, enter, service } = await startConsole(t);
  const id = await makeExampleProject(service);
  for (const view of [
    '',
    `projects/${id}/relations/new`,
    `projects/${id}/pipelines/new`,
    `projects/${id}/products`,
  ]) {
    const address = `#/${view}`;
    const page = address === '#/' ? await open(address) : await enter(address);
    await page.waitForLoadState('networkidle');
    const sizes = await page.evaluate(() =>
      [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
        .filter(({ name }) => new URL(name).pathname.startsWith('/console/'))
        .map((entry) => (entry as PerformanceResourceTiming).encodedBodySize),
    );
    const sum = sizes.reduce((total, size) => total + size, 0);
    assert.ok(sum > 50_000 && sum < FIRST_LOAD_BYTES, `${address} loads ${sum} bytes`);
  }
});

test('all scripts and styles together are under 350 KB with brotli, and each has its compressed forms', () => {
  const files = globSync('assets/*.{js,css}', { cwd: DIST }).map((name) => join(DIST, name));
  const packed = files.map((path) => {
    const plain = statSync(path).size;
    return plain < 200 ? plain : statSync(`${path}.br`).size;
  });
  const sum = packed.reduce((total, size) => total + size, 0);
  assert.ok(sum < ALL_BYTES, `${sum} bytes`);
  assert.equal(
    /<script(?![^>]*src=)|<style|style=/.test(readFileSync(join(DIST, 'index.html'), 'utf8')),
    false,
  );
});
