import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { readKept, sendHostile, sweepStored } from '../../server/test/support/hostile/hostile-run.ts';
import { Stops } from '../../server/test/support/stops.ts';
import { startTestService } from '../../server/test/support/test-service.ts';
import { embeddedStoreAt } from '../../server/test/support/test-store.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { spreadOf } from '../support/statistics.ts';
import { isRandomSent, LOADS, measureBesideLoads } from './beside-loads.ts';

/** A million requests take two hours. BENCH_HOSTILE sets their number. */
const SHARE_OF_MILLION = 20;
const AT_ONCE = 4;
const SAY_EVERY = 1_000;
const SEED = Number(process.env.BENCH_SEED ?? 1);
const SETTINGS = { RELATA_LOG_LEVEL: 'error', RELATA_RELATION_SECONDS: '20' };

/** Checks that no request makes the service fail, store unreadable data, or delay another account. */
export const hostile: Measurement = {
  name: 'hostile',
  title:
    'Hostile requests of every operation of docs/openapi.json, and loads that one caller sends on purpose',
  failsIfMissed: true,
  describeConditions: async ({ sizes }) =>
    `Seed ${SEED}, ${countRequests(sizes)} requests, ${AT_ONCE} at a time, to one process on the embedded store, ` +
    'which then reads, takes back and after a restart reads again all that it kept. Each load goes to a process of its own, ' +
    `whose memory is that of this process; another account asks ${LOADS.rate} times a second over ${LOADS.connections} connections.`,
  async measure(bench: Bench): Promise<Figure[]> {
    const random = isRandomSent ? await measureRandom(bench) : [];
    return [...random, ...(await measureBesideLoads(bench))];
  },
};

async function measureRandom(bench: Bench): Promise<Figure[]> {
  const store = embeddedStoreAt(mkdtempSync(join(bench.folder, 'hostile-')));
  const stops = new Stops();
  bench.stopAtEnd(() => stops.stopAll());
  const service = await startTestService(stops, { store, settings: SETTINGS });
  const { faults, requests, byStatus, accepted } = await sendHostile(service, {
    seed: SEED,
    requests: countRequests(bench.sizes),
    atOnce: AT_ONCE,
    onRequest({ requests: sent, faults: found }) {
      if (sent % SAY_EVERY === 0) bench.say(`${sent} hostile requests, ${found.length} faults`);
      for (const fault of found.slice(told)) bench.say(fault);
      told = found.length;
    },
  });
  const kept = await sweepStored(service);
  faults.push(...service.log.map((line) => line.slice(0, 1_000)));
  await service.stop();
  const again = await readKept(await startTestService(stops, { store, settings: SETTINGS }));
  const junk = [...kept].filter(([path, body]) => JSON.stringify(again.get(path)) !== JSON.stringify(body));
  await stops.stopAll();
  const statuses = [...byStatus].sort(([a], [b]) => a - b).map(([status, count]) => `${count} of ${status}`);
  return [
    {
      name: 'requests answered 5xx, or not as the document says',
      ...count(faults.length),
      absolute: `${requests} requests to ${accepted.size} operations that did what was asked: ${statuses.join(', ')}`,
    },
    {
      name: 'things kept that are other ones after a restart',
      ...count(junk.length + Math.abs(again.size - kept.size)),
      absolute: `${kept.size} kept`,
    },
  ];
}

let told = 0;

const countRequests = ({ million }: Bench['sizes']) =>
  Number(process.env.BENCH_HOSTILE ?? million / SHARE_OF_MILLION);

const count = (amount: number) =>
  ({ spread: spreadOf([amount]), unit: 'faults', target: { kind: 'at most', value: 0 } }) as const;
