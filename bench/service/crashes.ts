import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { spreadOf } from '../support/statistics.ts';
import { runTests } from '../support/test-run.ts';

/**
 * Each crash takes two to five seconds of processor time. BENCH_KILLS, BENCH_CUTS and BENCH_LOSSES set their numbers.
 * If one of them is set, the others are skipped.
 */
const MANY = 100;
const FEW = 4;
/** Services in parallel, one per core of a small machine, because most of a crash test is the start. */
const AT_ONCE = 2;

/** The crash tests, with more crashes than `npm test` has time for. */
const CRASHES = [
  {
    what: 'kills of the process',
    file: 'durability/crash.test.ts',
    setting: 'RELATA_TEST_KILLS',
    only: 'nothing that was answered is lost',
    most: process.env.BENCH_KILLS,
    lanes: 1,
  },
  {
    what: 'losses of power',
    file: 'durability/sqlite-power-cut.test.ts',
    setting: 'RELATA_TEST_CUTS',
    only: '.',
    most: process.env.BENCH_CUTS,
    lanes: 1,
  },
  {
    what: 'losses of the directory',
    file: 'durability/sqlite-continuous-backup.test.ts',
    setting: 'RELATA_TEST_LOSSES',
    only: 'a directory that is lost',
    most: process.env.BENCH_LOSSES,
    // This test mostly waits for updates to be written and for the target.
    lanes: 3,
  },
] as const;

/**
 * Checks that nothing answered is lost by a kill, or by a loss of power that takes unsynced data, and that a loss of
 * the directory takes at most the last second.
 */
export const crashes: Measurement = {
  name: 'crashes',
  title: 'Kills and losses of power during updates of every kind',
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    const chosen = CRASHES.filter(({ most }) => most !== undefined);
    for (const one of chosen.length > 0 ? chosen : CRASHES) figures.push(...(await measureCrash(bench, one)));
    return figures;
  },
};

async function measureCrash(
  bench: Bench,
  { what, file, setting, only, most, lanes }: (typeof CRASHES)[number],
): Promise<Figure[]> {
  const share = lanes * Math.ceil(Number(most ?? (bench.sizes.rounds > 1 ? MANY : FEW)) / AT_ONCE / lanes);
  const seeds = Array.from({ length: AT_ONCE }, () => Math.floor(Math.random() * 2 ** 31));
  const count = share * AT_ONCE;
  bench.say(`${count} ${what}, seeds ${seeds.join(' and ')}`);
  const runs = seeds.map((seed) => {
    const lane = { RELATA_TEST_LANES: String(lanes), RELATA_TEST_SEED: String(seed) };
    return runTests(bench, {
      file,
      only,
      settings: { [setting]: String(share), ...lane, RELATA_TEST_STORE: 'embedded' },
    });
  });
  const ended = await Promise.all(runs);
  const faults: Figure = {
    name: `${what} after which the catalog is not what was answered`,
    spread: spreadOf([ended.filter(({ isGood }) => !isGood).length]),
    unit: 'faults',
    target: { kind: 'at most', value: 0 },
    absolute: `${count} ${what} of ${AT_ONCE * lanes} services, seeds ${seeds.join(' and ')}`,
  };
  const oldest = ended.flatMap(({ diagnostics }) => diagnostics.flatMap(readOldest));
  return oldest.length === 0 ? [faults] : [faults, describeOldest(oldest)];
}

/** @returns seconds */
const readOldest = (diagnostic: string): number[] =>
  (
    /^the oldest update that was lost had been answered (\d+) ms before$/.exec(diagnostic)?.slice(1) ?? []
  ).map((ms) => Number(ms) / 1_000);

const describeOldest = (seconds: readonly number[]): Figure => ({
  name: 'age of the oldest answered update that the loss of a directory took',
  spread: spreadOf([Math.max(...seconds)]),
  unit: 's',
  target: { kind: 'at most', value: 1 },
});
