import { setTimeout as pause } from 'node:timers/promises';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { type Bodies, runFullUpdate } from '../support/service-client.ts';
import { percentile, round, spreadOf } from '../support/statistics.ts';

const SOURCES = 1_000;
const BATCH = 10_000;
const MODELS = 1_000;
const KEYS = 50;
/** Per hundred products. */
const WITHOUT_KEY = 10;

const product = (kind: 'S' | 'T', at: number) => {
  const spread = (at * 7_919) % 1_000_003;
  return {
    identifier: `${kind}-${at}`,
    name: `${kind} ${at}`,
    categories: [{ path: [kind] }],
    attributes: [
      { key: 'Model', value: `model ${spread % MODELS}` },
      ...(spread % 100 < WITHOUT_KEY ? [] : [{ key: 'Slot', value: `slot ${(spread >> 3) % KEYS}` }]),
      { key: 'Price', value: `${(spread % 90_000) / 100}` },
    ],
  };
};

function* listBodies(targets: number): Bodies {
  for (const [kind, count] of [['S', SOURCES] as const, ['T', targets] as const]) {
    for (let at = 0; at < count; at += BATCH) {
      const length = Math.min(BATCH, count - at);
      const products = Array.from({ length }, (_, place) => product(kind, at + place));
      yield Buffer.from(JSON.stringify({ products }));
    }
  }
}

const equal = (name: string) => ({ target: name, operator: 'equals', source: name });
/** Two equalities. One attribute is missing in a tenth of the products. */
const RULES = {
  plain: [equal('Model'), equal('Slot')],
  rich: [equal('Model'), { ...equal('Slot'), missing: 'passes' }],
};

/** @returns seconds */
async function build(service: BenchService, projectId: number, name: keyof typeof RULES) {
  const begun = performance.now();
  const path = `/management/projects/${projectId}/relations`;
  const { id } = await service.succeed<{ id: number }>('POST', path, {
    name,
    tag: name,
    source: { category: ['S'] },
    target: { category: ['T'] },
    match: RULES[name],
    sort: [{ attribute: 'Price', direction: 'asc' }],
  });
  while ((await service.succeed<{ state: string }>('GET', `${path}/${id}`)).state !== 'ready')
    await pause(50);
  return { id, seconds: (performance.now() - begun) / 1_000 };
}

/** The cost of missing values that pass, for a relation with a million members. */
export const elements: Measurement = {
  name: 'elements',
  title: 'A relation of a million members, by two equalities of which one passes without a value',
  async measure(bench: Bench): Promise<Figure[]> {
    const service = await bench.startService('elements');
    const load = async (name: string, count: number) => {
      const projectId = await service.createProject(name);
      bench.say(`loading ${count} products`);
      await runFullUpdate(service, projectId, { bodies: listBodies(count) });
      await waitUntilQuiet(service.pid);
      return projectId;
    };
    const measure = async (projectId: number, name: keyof typeof RULES) => {
      bench.say(`building: ${name}`);
      const { id, seconds } = await build(service, projectId, name);
      await waitUntilQuiet(service.pid);
      const include = encodeURIComponent(JSON.stringify([{ id }]));
      const times: number[] = [];
      for (let at = 0; at < SOURCES; at += 1) {
        const begun = performance.now();
        const path = `/search/relations/result?projectId=${projectId}&includeRelations=${include}&identifier=S-${at}`;
        await service.succeed('GET', path);
        times.push(performance.now() - begun);
      }
      return { seconds, times: Float64Array.from(times).sort() };
    };
    const { million, synthetic } = bench.sizes;
    try {
      const small = await load('Small', synthetic / 4);
      const plain = await measure(small, 'plain');
      const rich = await measure(small, 'rich');
      const large = await measure(await load('Large', million), 'rich');
      const ofRich = percentile(rich.times, 95);
      return [
        {
          name: 'first answer of a product, p95',
          spread: {
            median: percentile(large.times, 95),
            min: large.times.at(0) ?? 0,
            max: large.times.at(-1) ?? 0,
          },
          unit: 'ms',
          target: { kind: 'at most', value: 20 },
          absolute: `${million} members, built in ${round(large.seconds)} s`,
        },
        {
          name: 'first answer of a product, p95, of one without missing values',
          spread: spreadOf([ofRich / percentile(plain.times, 95)]),
          unit: '×',
          target: { kind: 'at most', value: 1.5 },
          absolute: `${round(ofRich)} ms; ${synthetic / 4} members`,
        },
        {
          name: 'the build, of one without missing values',
          spread: spreadOf([rich.seconds / plain.seconds]),
          unit: '×',
          target: { kind: 'at most', value: 1.3 },
          absolute: `${round(rich.seconds)} and ${round(plain.seconds)} s; ${synthetic / 4} members`,
        },
      ];
    } finally {
      await service.stop();
    }
  },
};
