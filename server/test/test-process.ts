import { execFile } from 'node:child_process';
import { relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';

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

/** Runs a test file in a process of its own, as `node --test` does. */
export async function runTestFile(file: string, env: NodeJS.ProcessEnv): Promise<Outcome> {
  // The console and the tests of the client use the client's source, so no build is needed.
  const events = run({ files: [file], timeout: TIMEOUT_MS, env, execArgv: ['--conditions=relata-source'] });
  let counts = { passed: 0, failed: 1, skipped: 0 };
  const failures: string[] = [];
  events.on('test:fail', ({ name, details }) => {
    const { failureType } = details.error as { failureType?: string };
    if (failureType !== 'subtestsFailed') failures.push(`${relative(process.cwd(), file)}: ${name}`);
  });
  events.on('test:summary', ({ file: one, counts: found }) => {
    // The file and the run each have a summary.
    if (one !== undefined) return;
    const { tests, passed, skipped } = found;
    counts = { passed, failed: tests - passed - skipped, skipped };
  });
  let said = '';
  await pipeline(events, leaveOutCounts, new spec(), async (reported) => {
    said = await text(reported);
  });
  return { ...counts, failures, said };
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
