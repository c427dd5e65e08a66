import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { prepareProgram } from './program.ts';
import { watchMemory } from './support/memory-watch.ts';
import { findInstalled, hasPackage } from './support/postgres/postgres-binaries.ts';
import { type PostgresServer, startPostgres } from './support/postgres/postgres-server.ts';
import { findRealCatalog } from './support/real-products.ts';
import {
  divideDeep,
  findWork,
  groupFiles,
  listCluster,
  listConsoleSmoke,
  listDeep,
  listFirst,
  listInstalled,
  listPostgres,
  listPostgresSmoke,
  listReadingCatalog,
  listWorkspace,
} from './test-files.ts';
import { type GroupOutcome, type Outcome, runScript, runTestFiles } from './test-process.ts';
import { type Job, runJobs } from './test-schedule.ts';

/**
 * `node server/test/run-tests.ts` shows within minutes that the program works: checks, units, every rule of the interface on the embedded
 * store, a smoke test of PostgreSQL and of the console. `deep` adds both stores, crashes, real data, most of the console, the package; `long` the
 * rest: what takes longest (LATER), all cases of what runs with fewer before, an installed PostgreSQL of an older version, generated
 * data. Names of passes or test files run only those. All passes share the slots of one schedule.
 */

const TIERS = ['first', 'deep', 'long'] as const;
type Tier = (typeof TIERS)[number];

interface Pass {
  readonly name: string;
  /** The run to which it belongs; undefined: each. */
  readonly tier?: Tier;
  readonly files: readonly string[];
  /** Whether each file has a process of its own. */
  readonly isApart?: boolean;
  /** The folder of PostgreSQL's programs; `npm`: the package's; undefined: the embedded store. */
  readonly postgres?: string;
  /** A running coordinator of Citus. */
  readonly cluster?: string;
  /** A module whose hooks run before and after all files of a process. */
  readonly first?: string;
  /** Settings for its tests only. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Scripts of package.json, run in order. */
  readonly scripts?: readonly string[];
}

/** Per process; the tests of whole catalogs take up to 1.4 GB. */
const MEMORY_MB = Number(process.env.RELATA_TEST_MEMORY_MB ?? 2_048);
/** As on a machine without the real catalog: its tests use fewer, generated products. */
const GENERATED = {
  RELATA_TEST_DATA: '/nonexistent',
  RELATA_TEST_BODIES: '2000',
  RELATA_TEST_PRODUCTS: '6000',
  RELATA_TEST_SOURCES: '30',
  RELATA_TEST_PAIRS: '1',
  RELATA_TEST_RUNS: '1',
};
/** The number of random cases that finds an outright broken rule. */
const FEW = { RELATA_TEST_BODIES: '3000', RELATA_TEST_RUNS: '10' };
/** More cases of the tests of which `npm test` runs a few; `long` runs each with all. */
const MORE = {
  RELATA_TEST_BODIES: '10000',
  RELATA_TEST_LOSSES: '1',
  RELATA_TEST_CUTS: '2',
  RELATA_TEST_KEPT_STEPS: '60',
};
/** The whole catalog is for the embedded store; for PostgreSQL's statements a few batches and fewer random cases suffice. */
const FEWER = {
  RELATA_TEST_PRODUCTS: '12000',
  RELATA_TEST_RUNS: '5',
  RELATA_TEST_SOURCES: '60',
  RELATA_TEST_PAIRS: '10000',
};
/** One file keeps a core busy, with a little to spare, as in those of the interface; a waiting file leaves most of it to others. */
const SPARE = { first: 2, deep: 1, long: 1 };
const slotsOf = (tier: Tier) => ({ computes: Math.min(availableParallelism() + SPARE[tier], 8), waits: 2 });
const OLDEST = 14;
const NEWEST = 17;
const CHECK_SECONDS = 60;
/** Files of one run that may fail at first and are repeated; the deep tests have about 300. */
const MOST_REPEATED = 4;

/** Has the browser and the service of the files of a process. */
const CONSOLE_HARNESS = resolve('console/test/harness.ts');

/** The last file of each part of `npm run build`. */
const BUILT = [
  'client/dist/client.js',
  'console/dist/index.html',
  'site/dist/index.html',
  'server/dist/main.mjs',
];

/** Whether the build is newer than every file of the repository, as after `npm test`. */
function isBuilt(): boolean {
  const writtenAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const listed = spawnSync('git', ['ls-files', '-coz', '--exclude-standard'], { encoding: 'utf8' });
  const newest = Math.max(...listed.stdout.split('\0').map(writtenAt));
  return listed.status === 0 && BUILT.every((path) => writtenAt(path) > newest);
}

function listPasses(tier: Tier = 'first'): Pass[] {
  const given = process.env.RELATA_TEST_POSTGRES_BIN;
  const installed = given || findOldest();
  const postgres = hasPackage() ? 'npm' : (given ?? 'npm');
  const smoke = new Set([...listPostgresSmoke(), ...listConsoleSmoke()]);
  const without = (files: readonly string[]) => files.filter((file) => !smoke.has(file));
  const embedded = divideDeep('embedded', listDeep());
  const ofPostgres = divideDeep('postgres', without(listPostgres()));
  const ofConsole = divideDeep('console', without(listWorkspace('console')));
  const hasCatalog = findRealCatalog() !== undefined;
  const cluster = process.env.RELATA_TEST_CITUS;
  const hasInstalled = installed !== undefined && existsSync(installed);
  return [
    { name: 'build', files: [], scripts: [...(tier !== 'first' && isBuilt() ? [] : ['build']), 'browser'] },
    { name: 'check', tier: 'first', files: [], scripts: ['check'] },
    { name: 'embedded', tier: 'first', files: listFirst(), settings: FEW },
    { name: 'postgres-smoke', tier: 'first', files: listPostgresSmoke(), postgres, settings: FEWER },
    { name: 'client', tier: 'first', files: listWorkspace('client') },
    { name: 'console-smoke', tier: 'first', files: listConsoleSmoke(), first: CONSOLE_HARNESS },
    { name: 'embedded-deep', tier: 'deep', files: embedded.soon, settings: MORE },
    { name: 'postgres', tier: 'deep', files: ofPostgres.soon, postgres, settings: FEWER },
    { name: 'console', tier: 'deep', files: ofConsole.soon, first: CONSOLE_HARNESS },
    { name: 'package', tier: 'deep', files: listWorkspace('package') },
    { name: 'embedded-long', tier: 'long', files: embedded.later },
    { name: 'postgres-long', tier: 'long', files: ofPostgres.later, postgres, settings: FEWER },
    { name: 'console-long', tier: 'long', files: ofConsole.later, first: CONSOLE_HARNESS },
    ...(hasInstalled
      ? [{ name: 'installed', tier: 'long' as const, files: listInstalled(), postgres: installed }]
      : []),
    ...(cluster
      ? [{ name: 'citus', tier: 'long' as const, files: listCluster(), cluster, settings: FEWER }]
      : []),
    ...(hasCatalog
      ? [{ name: 'generated', tier: 'long' as const, files: listReadingCatalog(), settings: GENERATED }]
      : []),
  ];
}

/** @returns the version that differs most from the package's */
function findOldest(): string | undefined {
  return [...findInstalled()].find(([version]) => version >= OLDEST && version <= NEWEST)?.[1];
}

function choosePasses(named: readonly string[], tier: Tier): readonly Pass[] {
  const files = named.filter((name) => name.endsWith('.test.ts')).map((path) => resolve(path));
  if (files.length > 0) return [{ name: 'files', files, isApart: true }];
  const isWhole = named.length === 0 || named.includes(tier);
  return listPasses(tier).filter((pass) =>
    isWhole ? (pass.tier ?? tier) === tier : named.includes(pass.name),
  );
}

/** A pass with the environment of its files and their outcomes. */
interface RunningPass extends Pass {
  readonly title: string;
  readonly env: NodeJS.ProcessEnv;
  readonly server?: PostgresServer;
  /** By path of a file, or by the command of scripts. */
  readonly outcomes: Map<string, Omit<Outcome, 'said'>>;
  open: number;
}

async function openPass(pass: Pass): Promise<RunningPass> {
  const { name, postgres, cluster, settings, files, scripts = [] } = pass;
  const common = {
    ...pass,
    outcomes: new Map<string, Omit<Outcome, 'said'>>(),
    open: files.length + Math.sign(scripts.length),
  };
  const { RELATA_TEST_POSTGRES_BIN: _, ...env } = process.env;
  if (cluster !== undefined)
    return {
      ...common,
      title: 'PostgreSQL with Citus',
      env: { ...env, RELATA_TEST_STORE: 'postgres', RELATA_TEST_DATABASE_URL: cluster, ...settings },
    };
  if (postgres === undefined) {
    const title = name === 'embedded' ? 'embedded store' : name;
    return { ...common, title, env: { ...env, RELATA_TEST_STORE: 'embedded', ...settings } };
  }
  const bin = postgres === 'npm' ? {} : { RELATA_TEST_POSTGRES_BIN: postgres };
  delete process.env.RELATA_TEST_POSTGRES_BIN;
  Object.assign(process.env, bin);
  const server = await startPostgres();
  return {
    ...common,
    title: `PostgreSQL ${server.version}, ${postgres}`,
    env: { ...env, ...bin, RELATA_TEST_STORE: 'postgres', RELATA_TEST_DATABASE_URL: server.url, ...settings },
    server,
  };
}

function makeJobs(passes: readonly RunningPass[]): Job[] {
  const scripts = new Map<string, Job>();
  for (const pass of passes.filter((one) => one.scripts !== undefined)) {
    scripts.set(pass.name, { kind: 'computes', seconds: CHECK_SECONDS, run: () => runScripts(pass) });
  }
  // A service that starts during a build of the console would find files that then disappear.
  const built = scripts.get('build');
  const jobs = passes.flatMap((pass) =>
    (pass.isApart ? pass.files.map((file) => [file]) : groupFiles(pass.files)).map((files) => ({
      ...findWork(files),
      ...(built && { after: [built] }),
      run: () => runFiles(pass, files),
    })),
  );
  return [...scripts.values(), ...jobs];
}

const toPath = (file: string) => relative(process.cwd(), file);

const runFiles = (pass: RunningPass, files: readonly string[]) =>
  conclude(pass, files.map(toPath), async () => {
    const { outcomes, said } = await runTestFiles({ files, first: pass.first }, pass.env);
    return { said, outcomes: new Map([...outcomes].map(([file, outcome]) => [toPath(file), outcome])) };
  });

function runScripts(pass: RunningPass) {
  const what = `npm run ${pass.scripts?.join(' && npm run ')}`;
  return conclude(pass, [what], async () => {
    const ran: Outcome[] = [];
    for (const script of pass.scripts ?? []) ran.push(await runScript(script));
    const failures = ran.flatMap((one) => one.failures);
    return {
      outcomes: new Map([[what, { ...addUp(ran), failures }]]),
      said: ran.map(({ said }) => said).join(''),
    };
  });
}

/** Reports the outcome of files that ran together and, after the last file of a pass, the sum of the pass. */
async function conclude(
  pass: RunningPass,
  paths: readonly string[],
  work: () => Promise<GroupOutcome>,
): Promise<void> {
  const begun = performance.now();
  const { outcomes, said } = await work().catch((error: Error) => {
    const failed = { passed: 0, failed: 1, skipped: 0, failures: [error.message] };
    return { outcomes: new Map(paths.map((path) => [path, failed])), said: `${error.stack}\n` };
  });
  for (const [path, outcome] of outcomes) pass.outcomes.set(path, outcome);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const sum = describe(addUp([...outcomes.values()]));
  say(`\n${pass.title}: ${paths.join(', ')}: ${sum} in ${seconds} s\n${said.trimEnd()}`);
  pass.open -= paths.length;
  if (pass.open === 0)
    say(`\n${pass.title}: ${pass.files.length} files, ${describe(addUp([...pass.outcomes.values()]))}`);
}

/**
 * Repeats failed files once, one at a time: next to five others on two cores, a browser or a crash test now and then
 * exceeds its time limit, which says nothing about the program. Files that fail twice have failed, and those that passed
 * in the second run are named. More failures than MOST_REPEATED are not noise, and are not repeated.
 * @param ended  paths of files that were ended for their memory, which are not repeated
 * @returns a line for each file that passed only in the second run
 */
async function repeatFailed(passes: readonly RunningPass[], ended: ReadonlySet<string>): Promise<string[]> {
  const failed = passes.flatMap((pass) =>
    pass.files
      .map((file) => ({ pass, file, path: toPath(file) }))
      .filter(({ path }) => (pass.outcomes.get(path)?.failed ?? 0) > 0 && !ended.has(path)),
  );
  if (failed.length > MOST_REPEATED) return [];
  const unsteady: string[] = [];
  for (const { pass, file, path } of failed) {
    const failures = pass.outcomes.get(path)?.failures ?? [];
    await runFiles(pass, [file]);
    if (pass.outcomes.get(path)?.failed === 0)
      unsteady.push(`${pass.title}: ${path} passed in its second run: ${failures.join('; ')}`);
  }
  return unsteady;
}

type Counts = Pick<Outcome, 'passed' | 'failed' | 'skipped'>;

function addUp(outcomes: readonly Counts[]): Counts {
  const sum = (count: keyof Counts) => outcomes.reduce((total, one) => total + one[count], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

const describe = ({ passed, failed, skipped }: Counts) =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** @returns failures and files that passed only in the second run, one line each, and the sum */
async function runPasses(
  chosen: readonly Pass[],
  tier: Tier,
): Promise<{ failures: string[]; unsteady: string[]; counts: Counts }> {
  const passes: RunningPass[] = [];
  const hungry = new Map<string, string>();
  const unwatch = watchMemory(MEMORY_MB, ({ file, megabytes }) => {
    const path = relative(process.cwd(), file);
    hungry.set(path, `${path}: held ${megabytes} MB, more than ${MEMORY_MB}, and was ended`);
    say(`✖ ${hungry.get(path)}`);
  });
  let unsteady: string[] = [];
  try {
    for (const pass of chosen) passes.push(await openPass(pass));
    await runJobs(makeJobs(passes), slotsOf(tier));
    unsteady = await repeatFailed(passes, new Set(hungry.keys()));
  } finally {
    unwatch();
    for (const { server } of passes) await server?.stop();
  }
  const failed = passes.flatMap(({ title, outcomes }) =>
    [...outcomes].flatMap(([path, { failures }]) =>
      failures.map((failure) => `${title}: ${path}: ${failure}`),
    ),
  );
  const counts = addUp(passes.flatMap(({ outcomes }) => [...outcomes.values()]));
  return { failures: [...hungry.values(), ...failed], unsteady, counts };
}

Object.assign(process.env, await prepareProgram());

const named = process.argv.slice(2);
const tier = TIERS.find((one) => named.includes(one)) ?? 'first';
const chosen = choosePasses(named, tier);
if (chosen.length === 0)
  say(
    `There are no tests named ${named.join(' ')}: deep long ${listPasses()
      .map(({ name }) => name)
      .join(' ')}.`,
  );
if (named.includes('long') && !process.env.RELATA_TEST_CITUS)
  say('citus: not run, as RELATA_TEST_CITUS names no coordinator');
const begun = performance.now();
const { failures, unsteady, counts } = await runPasses(chosen, tier);
for (const line of unsteady) say(`⚠ ${line}`);
for (const failure of failures) say(`✖ ${failure}`);
say(`\n${Math.round((performance.now() - begun) / 1000)} s`);
say(`all: ${describe(counts)}`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
