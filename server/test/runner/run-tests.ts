import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { prepareProgram } from '../program.ts';
import { watchMemory } from '../support/memory-watch.ts';
import { openPasses, readTier } from './passes.ts';
import { ROOT, TIERS } from './test-marks.ts';
import { type Pass, writeGroups } from './test-processes.ts';

/**
 * `node server/test/runner/run-tests.ts [test|deep|long] [PASS…]` runs the test files that belong to the tier. `node
 * server/test/runner/run-tests.ts FILE…` runs these files, on PostgreSQL if RELATA_TEST_STORE is `postgres`. Node's own
 * runner runs the files. This folder adds what Node lacks: tiers, stores, one PostgreSQL for all files, several files
 * in a process, and a memory limit. The runner repeats no test.
 */

/** The memory limit of a process in MB. The tests of whole catalogs take up to 1.4 GB. */
const MEMORY_MB = Number(process.env.RELATA_TEST_MEMORY_MB ?? 2_048);
/** Some files mostly wait for leases and other processes, so there are two more processes than cores. */
const CONCURRENCY = Math.min(availableParallelism() + 2, 8);
/** Long enough for a test with a thousand crashes. A file that hangs has to end. */
const TIMEOUT_MS = 900_000;

const counts = { passed: 0, failed: 0, skipped: 0 };
const print = (text: string) => process.stdout.write(`${text}\n`);

/** Runs a script of package.json, which counts as one test. Prints its output if it fails. */
function runScript(name: string): Promise<void> {
  const startedAt = performance.now();
  return new Promise((done) => {
    execFile('npm', ['run', '--silent', name], { cwd: ROOT, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      counts[error === null ? 'passed' : 'failed'] += 1;
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      print(error === null ? `✔ npm run ${name} (${seconds} s)` : `✖ npm run ${name}\n${stdout}${stderr}`);
      done();
    });
  });
}

/** Adds the tests of a run to the counts. Node reports the tests of a file, then its suite, then those of the next file. */
function countTests(events: ReturnType<typeof run>): void {
  let testsOfFile = 0;
  const endFile = (name: string) => {
    if (testsOfFile === 0) {
      counts.failed += 1;
      print(`✖ ${name}: has no tests`);
    }
    testsOfFile = 0;
  };
  const add = (outcome: keyof typeof counts) => {
    testsOfFile += 1;
    counts[outcome] += 1;
  };
  events.on('test:pass', ({ name, nesting, skip = false, details }) => {
    if (details.type !== 'suite') add(skip === false ? 'passed' : 'skipped');
    else if (nesting === 0) endFile(name);
  });
  events.on('test:fail', ({ name, nesting, details }) => {
    const { failureType } = details.error as { failureType?: string };
    // A suite that fails outside its tests, such as in a hook or an import, counts as a failed test.
    if (details.type !== 'suite' || failureType !== 'subtestsFailed') add('failed');
    if (nesting === 0) endFile(name);
  });
}

/** Runs modules, each in its own process, and prints the output of Node's reporter. */
async function runModules(files: readonly string[], concurrency: number): Promise<void> {
  if (files.length === 0) return;
  // The console and the tests of the client use the client's source, so no build is needed.
  const events = run({ files, concurrency, timeout: TIMEOUT_MS, execArgv: ['--conditions=relata-source'] });
  countTests(events);
  for await (const text of events.compose(new spec())) process.stdout.write(text);
}

/** Runs the files of all passes in one queue, and then those that must be alone. */
async function runPasses(passes: readonly Pass[]): Promise<void> {
  // memory-watch.ts recognizes the processes by this name.
  const folder = mkdtempSync(join(tmpdir(), 'relata-groups-'));
  const pick = (isAlone: boolean) =>
    passes.flatMap((pass) => {
      const files = pass.files.filter(({ flags }) => flags.has('alone') === isAlone);
      return writeGroups({ ...pass, files }, join(folder, String(isAlone)));
    });
  try {
    await runModules(startInTurn(pick(false)), CONCURRENCY);
    await runModules(pick(true), 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Orders the processes of all passes by their rank within the pass, so that the slow processes of each pass start
 * first.
 */
const startInTurn = (modules: readonly string[]) =>
  modules.toSorted((a, b) => Number.parseInt(basename(a), 10) - Number.parseInt(basename(b), 10));

const words = process.argv.slice(2);
const isWhole = words.every((word) => TIERS.some((tier) => tier === word));
const startedAt = performance.now();
Object.assign(process.env, await prepareProgram());
const unwatch = watchMemory(MEMORY_MB, ({ file, megabytes }) =>
  print(`✖ ${basename(file, '.mjs')}: held ${megabytes} MB, more than ${MEMORY_MB}, and was ended`),
);
const { passes, server } = await openPasses(words);
try {
  const checked = isWhole && readTier(words) === 'test' ? runScript('check') : undefined;
  // A service that starts while the console is built would serve files that then disappear.
  if (isWhole) await runScript('build');
  if (passes.some(({ name }) => name === 'console')) await runScript('browser');
  await runPasses(passes);
  await checked;
} finally {
  await server?.stop();
  unwatch();
}
print(`${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
print(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
