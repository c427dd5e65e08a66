import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const runner = fileURLToPath(new URL('../run-tests.ts', import.meta.url));
const onlyLinux = { skip: !existsSync('/proc/self/task') && 'only Linux says what a process holds' };

/** Takes 640 MB, and holds them longer than the watch needs to notice. */
const TAKE = `const held = [];
  const timer = setInterval(() => held.push(Buffer.alloc(32 * 2 ** 20, 1)) === 20 && clearInterval(timer), 20);
  setTimeout(() => {}, 60_000);`;

const PLANTED = {
  hungry: `${TAKE} await new Promise((resolve) => setTimeout(resolve, 60_000));`,
  parent: `(await import('node:child_process')).spawnSync(process.execPath, ['-e', ${JSON.stringify(TAKE)}]);`,
  modest: '',
};

test('a test that takes too much memory is ended and named, and the others go on', onlyLinux, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'relata-planted-'));
  t.after(() => rm(folder, { recursive: true }));
  const files: string[] = [];
  for (const [name, body] of Object.entries(PLANTED)) {
    const path = join(folder, `${name}.test.ts`);
    await writeFile(path, `import { test } from 'node:test';\ntest('${name}', async () => {${body}});\n`);
    files.push(path);
  }
  const { code, said } = await runTests(files, '300');
  assert.equal(code, 1);
  for (const name of ['hungry', 'parent'])
    assert.match(
      said,
      new RegExp(`^✖ .*${name}\\.test\\.ts: held \\d+ MB, more than 300, and was ended$`, 'm'),
    );
  assert.match(said, /^all: 1 passed, 2 failed, 0 skipped$/m);
});

test('a file that failed is repeated by itself, and the runner says so; what fails twice has failed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'relata-planted-'));
  t.after(() => rm(folder, { recursive: true }));
  const mark = join(folder, 'ran');
  const bodies = {
    steady: '',
    unsteady: `if (!existsSync('${mark}')) { writeFileSync('${mark}', ''); throw new Error('late'); }`,
  };
  const plant = async (name: string, body: string) => {
    const path = join(folder, `${name}.test.ts`);
    const imports = `import { existsSync, writeFileSync } from 'node:fs';\nimport { test } from 'node:test';\n`;
    await writeFile(path, `${imports}test('${name}', () => {${body}});\n`);
    return path;
  };
  const files = [await plant('steady', bodies.steady), await plant('unsteady', bodies.unsteady)];
  const first = await runTests(files, '2048');
  assert.equal(first.code, 0, first.said);
  assert.match(first.said, /^⚠ files: .*unsteady\.test\.ts passed in its second run: unsteady$/m);
  assert.match(first.said, /^all: 2 passed, 0 failed, 0 skipped$/m);

  const second = await runTests([await plant('broken', `throw new Error('always');`)], '2048');
  assert.equal(second.code, 1);
  assert.match(second.said, /^✖ files: .*broken\.test\.ts: broken$/m);
  assert.match(second.said, /^all: 0 passed, 1 failed, 0 skipped$/m);
});

function runTests(files: readonly string[], megabytes: string): Promise<{ code: number; said: string }> {
  const env: NodeJS.ProcessEnv = { ...process.env, RELATA_TEST_MEMORY_MB: megabytes };
  // With it, a runner believes to be a test file, and runs none.
  delete env.NODE_TEST_CONTEXT;
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [runner, ...files], { env }, (_, said) =>
      resolve({ code: child.exitCode ?? 1, said }),
    );
  });
}
