// runs: deep
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

/** Workflows have rights on the repository. They pin actions to commits, and their jobs have no unneeded rights. */

const FOLDER = new URL('../../../.github/workflows/', import.meta.url);

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: Readonly<Record<string, string>> | string;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly strategy?: { readonly matrix: { readonly include: readonly { os: string; node: number }[] } };
  readonly permissions?: Readonly<Record<string, string>> | string;
  readonly 'timeout-minutes'?: number;
  readonly steps: readonly Step[];
}

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

/** The allowed write permissions of jobs. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  'release.yml publish': ['contents', 'id-token'],
  'codeql.yml analyze': ['security-events'],
  'scorecard.yml analyze': ['security-events', 'id-token'],
};

/** @returns the faults of a workflow, one sentence each */
function lint(name: string, text: string): string[] {
  const { on, permissions, jobs } = parse(text) as Workflow;
  const pinned = [...text.matchAll(/^\s*-? ?uses: (.*)$/gm)]
    .map(([, action = '']) => action)
    .filter((action) => !/^[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action));
  return [
    ...pinned.map((action) => `${action} is not pinned to a commit, with its version as a comment`),
    ...(JSON.stringify(permissions) === '{}' ? [] : ['the workflow gives permissions to all of its jobs']),
    ...('pull_request_target' in on
      ? ['the change of a stranger runs with the permissions of the repository']
      : []),
    ...Object.entries(jobs).flatMap(([job, about]) => lintJob(`${name} ${job}`, about)),
  ];
}

function lintJob(name: string, { permissions, steps, ...job }: Job): string[] {
  const given = typeof permissions === 'object' ? Object.entries(permissions) : [];
  const writes = given.filter(([, right]) => right !== 'read').map(([what]) => what);
  const needless = writes.filter((what) => !WRITES[name]?.includes(what));
  return [
    ...(typeof permissions === 'object' ? [] : [`${name} does not state its permissions`]),
    ...needless.map((what) => `${name} may write ${what} without need`),
    ...(job['timeout-minutes'] === undefined ? [`${name} has no time limit`] : []),
    ...steps.flatMap((step) => lintStep(name, step)),
  ];
}

function lintStep(name: string, { uses = '', run = '', with: given }: Step): string[] {
  const isCheckout = uses.startsWith('actions/checkout@');
  return [
    ...(/\$\{\{/.test(run) ? [`${name} writes an expression into a script: ${run}`] : []),
    ...(isCheckout && given?.['persist-credentials'] !== false
      ? [`${name} leaves its token in the clone`]
      : []),
  ];
}

const read = (name: string) => parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Workflow;

test('every workflow pins actions by commit and has minimal permissions and a time limit', () => {
  const names = readdirSync(FOLDER).sort();
  for (const needed of Object.keys(WRITES)) assert.ok(names.includes(needed.split(' ')[0] ?? ''), needed);
  const faults = names.flatMap((name) => lint(name, readFileSync(new URL(name, FOLDER), 'utf8')));
  assert.deepEqual(faults, []);
});

test('each push and pull request runs npm test on every supported Node version and on macOS', () => {
  const { on, jobs } = read('check.yml');
  assert.deepEqual(Object.keys(on).sort(), ['pull_request', 'push', 'schedule']);
  const machines = jobs.test?.strategy?.matrix.include ?? [];
  const nodesOf = (os: RegExp) => machines.filter((machine) => os.test(machine.os)).map(({ node }) => node);
  assert.deepEqual(nodesOf(/^ubuntu-/), [20, 22, 24]);
  assert.equal(nodesOf(/^macos-/).length, 1);
  assert.equal(jobs.test?.steps.at(-1)?.run, 'npm ci && npm test');
  assert.equal(jobs.deep?.steps.at(-1)?.run, 'npm run test:deep');
});

test('a bot proposes updates of the pinned packages, actions and base image', () => {
  const bot = parse(readFileSync(new URL('../dependabot.yml', FOLDER), 'utf8')) as {
    readonly updates: readonly { 'package-ecosystem': string }[];
  };
  const updated = bot.updates.map((update) => update['package-ecosystem']).sort();
  assert.deepEqual(updated, ['docker', 'github-actions', 'npm']);
});

test('the lint of workflows finds each planted fault', () => {
  const planted = `on: { pull_request_target: {} }
permissions: write-all
jobs:
  publish:
    permissions: { packages: write }
    steps:
      - uses: actions/checkout@v5
      - run: echo \${{ github.event.issue.title }}
`;
  assert.equal(lint('planted.yml', planted).length, 7);
});

test('a release fails on a known vulnerability of severity high before it builds or publishes anything', () => {
  const { jobs } = read('release.yml');
  const runs = jobs.publish?.steps.map(({ run = '' }) => run) ?? [];
  const audit = runs.indexOf('node package/audit.ts');
  const install = runs.indexOf('npm ci');
  assert.ok(audit !== -1 && audit < install, runs.join('\n'));
  assert.ok(
    runs.some((run) => run.includes('package/bill.ts')),
    'with a bill of materials',
  );
});
