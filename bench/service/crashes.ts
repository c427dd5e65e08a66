import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { spreadOf } from '../support/statistics.ts';

const ROOT = join(import.meta.dirname, '../..');
const TESTS = join(ROOT, 'server/test/durability');
/** Each takes some seconds: BENCH_KILLS and BENCH_CUTS say how many, for a night of a thousand. */
const MANY = 100;
const FEW = 4;

/** The tests of crashes, with more of them than `npm test` has time for. */
const CRASHES = [
  {
    ...{ what: 'kills of the process', file: 'crash.test.ts', setting: 'RELATA_TEST_KILLS' },
    ...{ only: 'nothing that was answered is lost', wanted: process.env.BENCH_KILLS },
  },
  {
    ...{ what: 'losses of power', file: 'sqlite-power-cut.test.ts', setting: 'RELATA_TEST_CUTS' },
    ...{ only: '.', wanted: process.env.BENCH_CUTS },
  },
] as const;

/** Whether anything that was answered is lost by a kill, or by a loss of power that takes what was not synced. */
export const crashes: Measurement = {
  name: 'crashes',
  title: 'Kills and losses of power during updates of every kind',
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const one of CRASHES) figures.push(await measureCrash(one, bench));
    return figures;
  },
};

async function measureCrash(
  { what, file, setting, only, wanted }: (typeof CRASHES)[number],
  { sizes, say }: Bench,
): Promise<Figure> {
  const count = Number(wanted ?? (sizes.rounds > 1 ? MANY : FEW));
  say(`${count} ${what}`);
  const env = { ...process.env, RELATA_TEST_STORE: 'embedded', [setting]: String(count) };
  const args = ['--test', `--test-name-pattern=${only}`, join(TESTS, file)];
  const run = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [code]] = await Promise.all([
    text(run.stdout),
    once(run, 'close') as Promise<[number | null]>,
  ]);
  if (code !== 0) say(said);
  const [seed = ''] = /seed \d+/.exec(said) ?? [];
  return {
    name: `${what} after which the catalog is not what was answered`,
    spread: spreadOf([code === 0 ? 0 : 1]),
    unit: 'faults',
    target: { kind: 'at most', value: 0 },
    absolute: `${count} ${what}${seed && `, ${seed}`}`,
  };
}
