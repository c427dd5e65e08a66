import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type RunOptions, run } from 'node:test';
import { spec } from 'node:test/reporters';
import { watchMemory } from './support/memory-watch.ts';
import { findInstalled, hasPackage } from './support/postgres-binaries.ts';
import { type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { findRealCatalog } from './support/real-products.ts';
import {
  listEmbedded,
  listInstalled,
  listPostgres,
  listReadingCatalog,
  listWorkspace,
} from './test-files.ts';

/**
 * All tests on the embedded store, those that touch a store on PostgreSQL too, and a part of them on an installed
 * PostgreSQL of an older version; those that read the real catalog once more without it; then those of the client and of
 * the console, which start the service as a process.
 * `node server/test/run-tests.ts postgres` runs only what it names: passes, or files.
 */

interface Pass {
  readonly name: string;
  readonly files: readonly string[];
  /** The folder of PostgreSQL's programs; `npm`: those of the package; undefined: the embedded store. */
  readonly postgres?: string;
  /** Settings of its tests alone. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How many files run at a time; undefined: as many as there are cores. */
  readonly atOnce: number;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, a line each. */
  readonly failures: readonly string[];
}

/** A test with a thousand crashes may take long; one that hangs has to end. */
const TIMEOUT_MS = 900_000;
/** Of one process; the tests of whole catalogs take up to 1.4 GB. */
const MEMORY_MB = Number(process.env.RELATA_TEST_MEMORY_MB ?? 2_048);
/** What whoever has no real catalog beside the clone meets; what is asked of it is asked of fewer products. */
const GENERATED = { RELATA_TEST_DATA: '/nonexistent', RELATA_TEST_SOURCES: '500' };
/**
 * Files that run at a time. Many tests mostly wait, for processes to start and for the disk; those of several processes
 * for leases to run out too.
 */
const SIDE_BY_SIDE = { embedded: 2, postgres: 3 } as const;
const OLDEST = 14;
const NEWEST = 17;

function listPasses(): Pass[] {
  const given = process.env.RELATA_TEST_POSTGRES_BIN;
  const installed = given || findOldest();
  const console = listWorkspace('console');
  return [
    { name: 'embedded', files: listEmbedded(), atOnce: SIDE_BY_SIDE.embedded },
    {
      name: 'postgres',
      files: listPostgres(),
      postgres: hasPackage() ? 'npm' : (given ?? 'npm'),
      atOnce: SIDE_BY_SIDE.postgres,
    },
    ...(installed && existsSync(installed)
      ? [{ name: 'installed', files: listInstalled(), postgres: installed, atOnce: SIDE_BY_SIDE.postgres }]
      : []),
    ...(findRealCatalog() === undefined
      ? []
      : [
          {
            name: 'generated',
            files: listReadingCatalog(),
            settings: GENERATED,
            atOnce: SIDE_BY_SIDE.embedded,
          },
        ]),
    { name: 'client', files: listWorkspace('client'), atOnce: SIDE_BY_SIDE.embedded },
    { name: 'console', files: console.filter((path) => !measures(path)), atOnce: SIDE_BY_SIDE.embedded },
    { name: 'console-measured', files: console.filter(measures), atOnce: 1 },
  ];
}

/** What another browser beside it would disturb. */
const measures = (path: string) => path.endsWith('long-table.test.ts');

/** @returns the one that differs most from the package's */
function findOldest(): string | undefined {
  return [...findInstalled()].find(([version]) => version >= OLDEST && version <= NEWEST)?.[1];
}

async function runPass({ name, files, postgres, settings, atOnce }: Pass): Promise<Counts> {
  let server: PostgresServer | undefined;
  const { env } = process;
  delete env.RELATA_TEST_POSTGRES_BIN;
  if (postgres !== undefined && postgres !== 'npm') env.RELATA_TEST_POSTGRES_BIN = postgres;
  env.RELATA_TEST_STORE = postgres === undefined ? 'embedded' : 'postgres';
  const begun = performance.now();
  let title = name === 'embedded' ? 'embedded store' : name;
  if (postgres !== undefined) {
    server = await startPostgres();
    env.RELATA_TEST_DATABASE_URL = server.url;
    title = `PostgreSQL ${server.version}, ${postgres}`;
  }
  say(`\n${title}: ${files.length} files\n`);
  try {
    const { failures, ...counts } = await runFiles({
      files,
      concurrency: atOnce,
      env: { ...env, ...settings },
    });
    const seconds = Math.round((performance.now() - begun) / 1000);
    say(`${title}: ${describe(counts)} in ${seconds} s`);
    return { ...counts, failures: failures.map((failure) => `${title}: ${failure}`) };
  } finally {
    await server?.stop();
    delete env.RELATA_TEST_DATABASE_URL;
  }
}

/** As `node --test` does. */
async function runFiles(chosen: Pick<RunOptions, 'files' | 'concurrency' | 'env'>): Promise<Counts> {
  // The console and the tests of the client use the client's source: nothing has to be built for them.
  const events = run({ ...chosen, timeout: TIMEOUT_MS, execArgv: ['--conditions=relata-source'] });
  let counts = { passed: 0, failed: 1, skipped: 0 };
  const failures: string[] = [];
  const unwatch = watchMemory(MEMORY_MB, ({ file, megabytes }) => {
    const failure = `${relative(process.cwd(), file)}: held ${megabytes} MB, more than ${MEMORY_MB}, and was ended`;
    failures.push(failure);
    say(`✖ ${failure}`);
  });
  events.on('test:fail', ({ name, file, details }) => {
    const { failureType } = details.error as { failureType?: string };
    if (failureType !== 'subtestsFailed') failures.push(`${relative(process.cwd(), file ?? '')}: ${name}`);
  });
  events.on('test:summary', ({ file, counts: found }) => {
    // Each file has a summary too.
    if (file !== undefined) return;
    counts = {
      passed: found.passed,
      failed: found.tests - found.passed - found.skipped,
      skipped: found.skipped,
    };
  });
  await pipeline(events, new spec(), process.stdout, { end: false }).finally(unwatch);
  return { ...counts, failures };
}

const describe = ({ passed, failed, skipped }: Omit<Counts, 'failures'>) =>
  `${skipped} skipped, ${passed} passed, ${failed} failed`;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

// Hundreds of processes load the same files: compiled once, each starts in half the processor time.
const compiled = mkdtempSync(join(tmpdir(), 'relata-compiled-'));
process.on('exit', () => rmSync(compiled, { recursive: true, force: true }));
process.env.NODE_COMPILE_CACHE = compiled;

const wanted = process.argv.slice(2);
const named = wanted.filter((name) => name.endsWith('.test.ts')).map((path) => resolve(path));
const passes =
  named.length > 0
    ? [{ name: 'embedded', files: named, atOnce: 1 }]
    : listPasses().filter(({ name }) => wanted.length === 0 || wanted.includes(name));
if (passes.length === 0)
  say(`There are no tests named ${wanted.join(' ')}: ${listPasses().map(({ name }) => name)}.`);
const results: Counts[] = [];
for (const pass of passes) {
  results.push(
    await runPass(pass).catch((error: Error) => {
      say(`${pass.name}: ${error.stack}`);
      return { passed: 0, failed: 1, skipped: 0, failures: [`${pass.name}: ${error.message}`] };
    }),
  );
}
const sum = (count: 'passed' | 'failed' | 'skipped') => results.reduce((total, one) => total + one[count], 0);
for (const failure of results.flatMap(({ failures }) => failures)) say(`✖ ${failure}`);
say(`\nall: ${describe({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') })}`);
process.exitCode = sum('failed') === 0 && sum('passed') > 0 ? 0 : 1;
