import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

/** Workflows have rights on the repository: actions are pinned to commits, and jobs have no unneeded rights. */

const FOLDER = new URL('../../../.github/workflows/', import.meta.url);

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: Readonly<Record<string, string>> | string;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
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
    ...pinned.map((action) => `${action} is not named by its commit, with the version behind it`),
    ...(JSON.stringify(permissions) === '{}' ? [] : ['the workflow gives rights to all of its jobs']),
    ...('pull_request_target' in on ? ['a change of a stranger runs with the rights of the repository'] : []),
    ...Object.entries(jobs).flatMap(([job, about]) => lintJob(`${name} ${job}`, about)),
  ];
}

function lintJob(name: string, { permissions, steps, ...job }: Job): string[] {
  const given = typeof permissions === 'object' ? Object.entries(permissions) : [];
  const writes = given.filter(([, right]) => right !== 'read').map(([what]) => what);
  const needless = writes.filter((what) => !WRITES[name]?.includes(what));
  return [
    ...(typeof permissions === 'object' ? [] : [`${name} does not say which rights it needs`]),
    ...needless.map((what) => `${name} may write ${what} and needs not`),
    ...(job['timeout-minutes'] === undefined ? [`${name} has no limit of time`] : []),
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

test('workflows name actions by their commits, have the least rights and a limit of time', () => {
  const names = readdirSync(FOLDER).sort();
  assert.deepEqual(names, ['audit.yml', 'codeql.yml', 'release.yml', 'scorecard.yml']);
  const found = names.flatMap((name) => lint(name, readFileSync(new URL(name, FOLDER), 'utf8')));
  assert.deepEqual(found, []);
});

test('what a workflow must not have is found where it is planted', () => {
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

test('a release fails on a known vulnerability of severity high before anything is built or published', () => {
  const { jobs } = parse(readFileSync(new URL('release.yml', FOLDER), 'utf8')) as Workflow;
  const runs = jobs.publish?.steps.map(({ run = '' }) => run) ?? [];
  const audit = runs.indexOf('node package/audit.ts');
  const install = runs.indexOf('npm ci');
  assert.ok(audit !== -1 && audit < install, runs.join('\n'));
  assert.ok(
    runs.some((run) => run.includes('package/bill.ts')),
    'with a bill of materials',
  );
});
