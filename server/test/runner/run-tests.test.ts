// runs: deep
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const RUNNER = fileURLToPath(new URL('./run-tests.ts', import.meta.url));
const onlyLinux = { skip: !existsSync('/proc/self/task') && 'only Linux reports the memory of a process' };

/** Takes 640 MB and keeps them longer than the watch needs to notice. */
const TAKE = `const held = [];
  const timer = setInterval(() => held.push(Buffer.alloc(32 * 2 ** 20, 1)) === 20 && clearInterval(timer), 20);
  setTimeout(() => {}, 60_000);`;

/** Plants test files by their bodies and runs them. @returns the exit code and the lines that the runner prints */
async function runPlanted(t: TestContext, bodies: Readonly<Record<string, string>>, megabytes = '2048') {
  const folder = await mkdtemp(join(tmpdir(), 'relata-planted-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = Object.keys(bodies).map((name) => join(folder, `${name}.test.ts`));
  for (const [index, body] of Object.values(bodies).entries())
    await writeFile(files[index] ?? '', `import { after, test } from 'node:test';\n${body}\n`);
  const env: NodeJS.ProcessEnv = { ...process.env, RELATA_TEST_MEMORY_MB: megabytes };
  // Node's runner runs no files while this variable marks it as a test file.
  delete env.NODE_TEST_CONTEXT;
  return new Promise<{ code: number; printed: string }>((resolve) => {
    const child = execFile(process.execPath, [RUNNER, ...files], { env }, (_, printed) =>
      resolve({ code: child.exitCode ?? 1, printed }),
    );
  });
}

test(
  'the runner ends and names a file that takes too much memory, and runs the others',
  onlyLinux,
  async (t) => {
    const spawn = `(await import('node:child_process')).spawnSync(process.execPath, ['-e', ${JSON.stringify(TAKE)}]);`;
    const { code, printed } = await runPlanted(
      t,
      {
        hungry: `test('hungry', async () => { ${TAKE} await new Promise((end) => setTimeout(end, 60_000)); });`,
        parent: `test('parent', async () => { ${spawn} });`,
        modest: `test('modest', () => {});`,
      },
      '300',
    );
    assert.equal(code, 1);
    for (const name of ['hungry', 'parent'])
      assert.match(printed, new RegExp(`^✖ \\d-${name}: held \\d+ MB, more than 300, and was ended$`, 'm'));
    assert.match(printed, /^1 passed, 2 failed, 0 skipped$/m);
  },
);

test('a test that fails once has failed, because the runner repeats nothing', async (t) => {
  const { code, printed } = await runPlanted(t, {
    unsteady: `import { existsSync, writeFileSync } from 'node:fs';
      const mark = new URL('ran', import.meta.url);
      test('unsteady', () => { if (!existsSync(mark)) { writeFileSync(mark, ''); throw new Error('first run'); } });`,
    steady: `test('steady', () => {});`,
  });
  assert.equal(code, 1);
  assert.match(printed, /^✖ unsteady .*\n {2}Error: first run$/m);
  assert.match(printed, /^1 passed, 1 failed, 0 skipped$/m);
});

const FAULTS: Readonly<Record<string, string>> = {
  'a test that throws': `test('bad', () => { throw new Error('bad'); });`,
  'a failing part of a test': `test('whole', (t) => t.test('part', () => { throw new Error('bad'); }));`,
  'a hook that throws': `after(() => { throw new Error('left open'); }); test('good', () => {});`,
  'an import that is missing': `import './missing.mjs';`,
  'no tests': '',
  'a process that exits early': `test('ends', () => process.exit(1));`,
  'an error after the tests': `test('good', () => {}); after(() => setTimeout(() => { throw new Error('late'); }));`,
};

for (const [fault, body] of Object.entries(FAULTS))
  test(`a file with ${fault} fails`, async (t) => {
    const { code, printed } = await runPlanted(t, { steady: `test('steady', () => {});`, faulty: body });
    assert.equal(code, 1, printed);
    assert.match(printed, /^✖ .*faulty/m);
    assert.doesNotMatch(printed, /^✖ .*steady/m);
  });
