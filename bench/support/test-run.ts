import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { prepareProgram } from '../../server/test/program.ts';
import type { Bench } from './measurement.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface TestRun {
  /** Relative to server/test. */
  readonly file: string;
  /** A part of the name of its tests. */
  readonly only: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** Runs tests with more cases than `npm test` has time for. @returns whether they pass, and their diagnostics */
export async function runTests(
  bench: Bench,
  { file, only, settings }: TestRun,
): Promise<{ isGood: boolean; diagnostics: string[] }> {
  const program = await bench.share('program of tests', prepareProgram);
  const run = spawn(
    process.execPath,
    ['--test', `--test-name-pattern=${only}`, join(ROOT, 'server/test', file)],
    { cwd: ROOT, env: { ...process.env, ...program, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [said, [code]] = await Promise.all([
    text(run.stdout),
    once(run, 'close') as Promise<[number | null]>,
  ]);
  if (code !== 0) bench.say(said);
  const counts = /^ℹ (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /;
  const diagnostics = said.split('\n').filter((line) => line.startsWith('ℹ ') && !counts.test(line));
  return { isGood: code === 0, diagnostics: diagnostics.map((line) => line.slice(2)) };
}
