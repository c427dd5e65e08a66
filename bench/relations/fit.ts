import { readDemoRelations } from '../../server/src/cli/demo/demo.ts';
import { openRealCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { percentile, round } from '../support/statistics.ts';

const QUESTIONS = 200;
const WITH_ALTERNATIVES = 40;

const part = (...path: string[]) => ({ category: ['PC parts', ...path] });
const parts = {
  board: part('Core', 'Motherboards'),
  memory: part('Core', 'Memory'),
  cpu: part('Core', 'Processors'),
  pc: part('Core', 'Cases'),
  psu: part('Core', 'Power supplies'),
  card: part('Core', 'Video cards'),
  drive: part('Storage', 'Internal drives'),
  fan: part('Cooling', 'Case fans'),
  ups: part('Power', 'UPS systems'),
};
const rule = (
  name: string,
  [source, target]: readonly [object, object],
  ...match: (readonly [string, string, string])[]
) => ({
  name,
  tag: 'fit',
  constraint: true,
  source,
  target,
  match: match.map(([ofTarget, operator, ofSource]) => ({ target: ofTarget, operator, source: ofSource })),
});

/** Eleven rules, some of which fail for most products, and a total. */
const PC_CONSTRAINTS = [
  rule('Modules', [parts.board, parts.memory], ['Module count', 'lessOrEqual', 'Memory slots']),
  rule('Size', [parts.board, parts.memory], ['Module size', 'lessOrEqual', 'Maximum memory']),
  rule('Colour of memory', [parts.board, parts.memory], ['Color', 'equals', 'Color']),
  rule('Card in case', [parts.pc, parts.card], ['Color', 'equals', 'Color']),
  rule('Fans in case', [parts.pc, parts.fan], ['Color', 'equals', 'Color']),
  rule('Brand of card', [parts.board, parts.card], ['Brand', 'notEquals', 'Brand']),
  rule('Drives', [parts.pc, parts.drive], ['Capacity', 'greater', 'Capacity']),
  rule('Price of memory', [parts.cpu, parts.memory], ['Price', 'lessOrEqual', 'Price']),
  rule('Price of card', [parts.cpu, parts.card], ['Price', 'lessOrEqual', 'Price']),
  rule('Supply and card', [parts.psu, parts.card], ['Color', 'equals', 'Color']),
  rule('Backup of supply', [parts.ups, parts.psu], ['Wattage', 'lessOrEqual', 'Power']),
  {
    kind: 'total',
    name: 'Power',
    tag: 'fit',
    source: parts.psu,
    target: parts.cpu,
    total: { attribute: 'TDP', times: 1.2, plus: '100 W' },
    operator: 'lessOrEqual',
    limit: { attribute: 'Wattage' },
  },
];

const numbered = (at: number, ...lines: readonly (readonly [name: string, count: number])[]) =>
  lines.map(([name, count]) => `${name}-${String(1 + ((at * 37) % count)).padStart(5, '0')}`);

/** The ten products of a question. */
const SETS: Readonly<Record<string, (at: number) => string[]>> = {
  'pc-parts': (at) =>
    numbered(
      at,
      ...([
        ['motherboard', 4_973],
        ['memory', 13_553],
        ['cpu', 1_413],
        ['case', 6_626],
      ] as const),
      ...([
        ['power-supply', 3_438],
        ['video-card', 6_636],
        ['internal-hard-drive', 6_461],
      ] as const),
      ...([
        ['case-fan', 2_744],
        ['ups', 702],
        ['monitor', 5_074],
      ] as const),
    ),
  demo: (at) => [
    ...['BIKE-0001', 'TYRE-0111', 'TUBE-0009', 'CHAIN-0013', 'PAD-0001', 'CAM-0001', 'LENS-0001'],
    ...['CARD-0001', 'TENT-0001', `PACK-000${1 + (at % 5)}`],
  ],
};

/** The wait of a customer for the check whether the parts in a basket fit. */
export const fit: Measurement = {
  name: 'fit',
  title: 'Whether ten products fit, by twelve constraints',
  async measure(bench: Bench): Promise<Figure[]> {
    const catalog = await openRealCatalog(bench);
    const service = await bench.startService('fit');
    const times = { fit: [] as number[], bulk: [] as number[], alternatives: [] as number[] };
    const listItems = SETS[catalog.name] ?? (SETS.demo as (at: number) => string[]);
    let first = 0;
    try {
      const projectId = await service.createProject('Fit');
      await runFullUpdate(service, projectId, { bodies: catalog.bodies });
      const constraints = catalog.name === 'pc-parts' ? PC_CONSTRAINTS : readDemoRelations();
      for (const one of constraints)
        await service.succeed('POST', `/management/projects/${projectId}/relations`, one);
      await waitUntilQuiet(service.pid);
      const ask = async (path: string, body: object) => {
        const begun = performance.now();
        await service.succeed('POST', `/search/relations/${path}?projectId=${projectId}`, body);
        return performance.now() - begun;
      };
      const tags = [...new Set(constraints.map(({ tag }) => tag))];
      for (let at = 0; at < QUESTIONS; at += 1) {
        const identifiers = listItems(at);
        times.fit.push(await ask('fit', { items: identifiers.map((identifier) => ({ identifier })) }));
        const includeTags = tags.map((tag) => ({ tag, limitPerRelation: 10 }));
        times.bulk.push(await ask('bulk-results', { identifiers, includeTags }));
      }
      const instead = (at: number) => ({
        items: listItems(at).map((identifier) => ({ identifier })),
        alternatives: 3,
      });
      first = await ask('fit', instead(0));
      for (let at = 1; at <= WITH_ALTERNATIVES; at += 1)
        times.alternatives.push(await ask('fit', instead(at)));
    } finally {
      await service.stop();
    }
    const figure = (
      name: string,
      list: readonly number[],
      { share, value, absolute }: { share: number; value: number; absolute: string },
    ): Figure => {
      const sorted = Float64Array.from(list).sort();
      const spread = { median: percentile(sorted, share), min: sorted.at(0) ?? 0, max: sorted.at(-1) ?? 0 };
      return {
        name: `${catalog.name}: ${name}, p${share}`,
        spread,
        unit: 'ms',
        target: { kind: 'at most', value },
        absolute,
      };
    };
    const bulk = percentile(Float64Array.from(times.bulk).sort(), 99);
    return [
      figure('ten products fit or not', times.fit, {
        share: 99,
        value: 50,
        absolute: `${catalog.count} products; a bulk answer for the same ${round(bulk)} ms`,
      }),
      figure('with three alternatives each', times.alternatives, {
        share: 95,
        value: 300,
        absolute: `the first ${round(first)} ms`,
      }),
    ];
  },
};
