import { HistoryCluster } from '../../server/test/support/histories/history-cluster.ts';
import { playHistory } from '../../server/test/support/histories/play-history.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { spreadOf } from '../support/statistics.ts';
import { runTests } from '../support/test-run.ts';

/** The duration of a whole run. Small sizes play one history, like the tests. */
const SECONDS = 600;
const QUICK_SECONDS = 15;
const MANY = 100_000;

/** The kills are of one of three processes. */
const KILL_EVERY_S = 5;

/** Checks that clients never see states that the documentation excludes, while processes and the database fail. */
export const histories: Measurement = {
  name: 'histories',
  title: 'PostgreSQL: what clients saw while processes, connections and the database failed',
  async measure(bench: Bench): Promise<Figure[]> {
    const seconds = bench.sizes.synthetic < MANY ? QUICK_SECONDS : SECONDS;
    const seed = Math.floor(Math.random() * 2 ** 31);
    bench.say(`a history of ${seconds} s, seed ${seed}`);
    const { violations, counts } = await playHistory(HistoryCluster.start, seconds, seed);
    for (const violation of violations) bench.say(violation);
    const settings = { RELATA_TEST_STORE: 'postgres', RELATA_TEST_CHAOS_S: String(seconds) };
    const only = 'no accepted task is lost';
    const kills = await runTests(bench, { file: 'durability/chaos.test.ts', only, settings });
    const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
    return [
      {
        name: `violations in ${seconds} s`,
        spread: spreadOf([violations.length]),
        unit: 'faults',
        target: { kind: 'at most', value: 0 },
        absolute: parts.join(', '),
      },
      {
        name: `catalogs that are not what was answered, one of three processes killed every ${KILL_EVERY_S} s for ${seconds} s`,
        spread: spreadOf([kills.isGood ? 0 : 1]),
        unit: 'faults',
        target: { kind: 'at most', value: 0 },
        absolute: kills.diagnostics.join(', '),
      },
    ];
  },
};
