import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runTestFiles } from '../test-process.ts';

const STEADY = `test('one', () => {}); test('two', { skip: 'not here' }, () => {});`;

async function runTogether(t: TestContext, sources: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'relata-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const files = sources.map((_, at) => join(folder, `${at}.test.mjs`));
  for (const [at, file] of files.entries())
    await writeFile(file, `import { test, after, before } from 'node:test';\n${sources[at]}`);
  // Set by the run that this test belongs to; with it, a run within runs nothing.
  const { NODE_TEST_CONTEXT: context, ...env } = process.env;
  delete process.env.NODE_TEST_CONTEXT;
  const { outcomes } = await runTestFiles({ files }, env).finally(() => {
    if (context !== undefined) process.env.NODE_TEST_CONTEXT = context;
  });
  return files.map((file) => {
    const { passed = 0, failed = 0, skipped = 0, failures = [] } = outcomes.get(file) ?? {};
    return [passed, failed, skipped, ...failures];
  });
}

test('files that share a process have their own hooks and outcomes', async (t) => {
  const hooked = `let isOpen = false; before(() => { isOpen = true; }); after(() => { isOpen = false; });
    test('open', () => { if (!isOpen) throw new Error('closed'); });`;
  assert.deepEqual(await runTogether(t, [STEADY, hooked, hooked]), [
    [1, 0, 1],
    [1, 0, 0],
    [1, 0, 0],
  ]);
});

for (const [what, source, outcome] of [
  ['a test', `test('bad', () => { throw new Error('bad'); });`, [0, 1, 0, 'bad']],
  [
    'a part of a test',
    `test('whole', (t) => t.test('part', () => { throw new Error(); }));`,
    [0, 2, 0, 'part'],
  ],
] as const)
  test(`${what} that fails is a failure of its file, and of no other that shares the process`, async (t) => {
    const [steady, found, next] = await runTogether(t, [STEADY, source, STEADY]);
    assert.deepEqual(
      [steady, next],
      [
        [1, 0, 1],
        [1, 0, 1],
      ],
    );
    assert.deepEqual(found, outcome);
    assert.deepEqual(await runTogether(t, [source]), [outcome], 'alone too');
  });

for (const [what, source] of [
  ['a hook that throws', `after(() => { throw new Error('left open'); }); test('good', () => {});`],
  ['a file that cannot be read', `import './missing.mjs';`],
  ['a file without tests', ''],
] as const)
  test(`${what} is a failure of its file, and of no other that shares the process`, async (t) => {
    const [steady, found, next] = await runTogether(t, [STEADY, source, STEADY]);
    assert.deepEqual(
      [steady, next],
      [
        [1, 0, 1],
        [1, 0, 1],
      ],
    );
    assert.equal(found?.[1], 1);
  });

test('a process that ends early is a failure of each file whose tests did not all run', async (t) => {
  const outcomes = await runTogether(t, [STEADY, `test('ends', () => process.exit(1));`, STEADY]);
  assert.ok(
    outcomes.every(([, failed]) => Number(failed) > 0),
    JSON.stringify(outcomes),
  );
});
