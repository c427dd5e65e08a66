import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

/** The result of a test file or a command. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Failures, one line each. */
  readonly failures: readonly string[];
  /** Its output, to be printed in one piece, as others run at the same time. */
  readonly said: string;
}

/** Long enough for a test with a thousand crashes; one that hangs has to end. */
const TIMEOUT_MS = 900_000;

/** Test files that share a process. */
export interface Group {
  readonly files: readonly string[];
  /** A module whose hooks run before and after all of them. */
  readonly first?: string;
}

/** By path of a file; `said` is of all together. */
export interface GroupOutcome {
  readonly outcomes: ReadonlyMap<string, Omit<Outcome, 'said'>>;
  readonly said: string;
}

const GROUP = fileURLToPath(new URL('test-group.ts', import.meta.url));

/**
 * Runs test files in a process: one as `node --test` does, several as suites one after another. The first start of the service in
 * a process takes 2.7 s of processor time more than the next ones, which is most of what a short file takes.
 */
export async function runTestFiles(group: Group, env: NodeJS.ProcessEnv): Promise<GroupOutcome> {
  const { files } = group;
  const isOne = files.length === 1;
  const outcomes = new Map(
    files.map((path) => [path, { passed: 0, failed: 0, skipped: 0, failures: [] as string[] }]),
  );
  const events = run({
    files: isOne ? files : [GROUP],
    timeout: TIMEOUT_MS,
    env: isOne ? env : { ...env, RELATA_TEST_GROUP: JSON.stringify(group) },
    // The console and the tests of the client use the client's source, so no build is needed.
    execArgv: ['--conditions=relata-source'],
  });
  let outermost = '';
  /** @returns the outcomes of the file of an event; of all files when the process itself failed */
  const find = (name: string, nesting: number) => {
    const found = outcomes.get(isOne ? (files[0] ?? '') : resolve(nesting === 0 ? name : outermost));
    return found === undefined ? [...outcomes.values()] : [found];
  };
  events.on('test:start', ({ name, nesting }) => {
    if (nesting === 0) outermost = name;
  });
  events.on('test:pass', ({ name, nesting, skip, details }) => {
    for (const one of details.type === 'suite' ? [] : find(name, nesting)) {
      if (skip === undefined || skip === false) one.passed += 1;
      else one.skipped += 1;
    }
  });
  events.on('test:fail', ({ name, nesting, details }) => {
    const { failureType } = details.error as { failureType?: string };
    const isOfParts = failureType === 'subtestsFailed';
    for (const one of find(name, nesting)) {
      if (details.type !== 'suite' || !isOfParts) one.failed += 1;
      if (!isOfParts) one.failures.push(name);
    }
  });
  let said = '';
  await pipeline(events, leaveOutCounts, new spec(), async (reported) => {
    said = await text(reported);
  });
  for (const one of outcomes.values()) {
    if (one.passed + one.failed + one.skipped > 0) continue;
    one.failed = 1;
    one.failures.push('did not run');
  }
  return { outcomes, said };
}

/** Drops the counts of a file, which are in its heading. */
async function* leaveOutCounts(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events) {
    if (event.type !== 'test:diagnostic' || event.data.file !== undefined || event.data.nesting > 0)
      yield event;
  }
}

/** Runs a script of package.json; it counts as one test. */
export function runScript(name: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile('npm', ['run', '--silent', name], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const failed = error === null ? 0 : 1;
      const failures = error === null ? [] : [`npm run ${name}`];
      resolve({ passed: 1 - failed, failed, skipped: 0, failures, said: stdout + stderr });
    });
  });
}
