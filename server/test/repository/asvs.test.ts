// runs: deep
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** The page on the requirements of the OWASP ASVS 5.0.0: docs/asvs.md. */

const ROOT = new URL('../../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/asvs.md', ROOT), 'utf8');

/** The standard's requirements of levels 1 and 2, by chapter. */
const COUNTS = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 7];

const rows = [...PAGE.matchAll(/^\| (\d+\.\d+\.\d+) \| (.*?) \| (.*) \| (.*) \|$/gm)].map(
  ([, id = '', state = '', how = '', tests = '']) => ({ id, state, how, tests }),
);

test('each requirement of levels 1 and 2 has one row, in the order of the standard', () => {
  const counts = COUNTS.map((_, index) => rows.filter(({ id }) => id.startsWith(`${index + 1}.`)).length);
  assert.deepEqual(counts, COUNTS);
  const ids = rows.map(({ id }) => id);
  const sorted = [...new Set(ids)].sort((left, other) => left.localeCompare(other, 'en', { numeric: true }));
  assert.deepEqual(ids, sorted);
});

test('a requirement that is met names the test that shows it, and every named test exists', () => {
  for (const { id, state, how, tests } of rows) {
    assert.ok(['met', 'operator', 'open', 'n/a'].includes(state), `${id}: ${state}`);
    const named = [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    assert.deepEqual(
      named.filter((path) => !path.endsWith('.test.ts') || !existsSync(new URL(path, ROOT))),
      [],
      id,
    );
    if (state === 'met') assert.ok(named.length > 0, `${id} names no test`);
    else assert.ok(how.length > 0, `${id} gives no reason`);
    if (state === 'open') assert.match(`${how} ${id}`, /Cost: |As \d/, `${id} does not state its cost`);
  }
});
