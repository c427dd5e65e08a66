import type { Filter } from '../../server/src/catalog/filters/filters.ts';
import type { Match } from '../../server/src/relations/relation-definitions/relation-schemas.ts';
import { openRealCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { percentile, round, spreadOf } from '../support/statistics.ts';

/** The successive attempts of a rule's author. Each changes one value. */
const ATTEMPTS = 8;

interface Draft {
  readonly source: Filter;
  readonly target: Filter;
  readonly match: readonly Match[];
}

/** The drafted rule by catalog. The rule of the demo is the default. */
const DRAFTS: Readonly<Record<string, Draft>> = {
  'pc-parts': {
    source: { category: ['PC parts', 'Core', 'Motherboards'] },
    target: { category: ['PC parts', 'Core', 'Memory'] },
    match: [
      { target: 'Module count', operator: 'lessOrEqual', source: 'Memory slots' },
      { target: 'Module size', operator: 'lessOrEqual', source: 'Maximum memory' },
    ],
  },
  demo: {
    source: { category: ['Bicycles'] },
    target: { category: ['Tyres'] },
    match: [{ target: 'Wheel size', operator: 'equals', source: 'Wheel size' }],
  },
};

/** The wait of a rule's author for the preview. */
export const previews: Measurement = {
  name: 'previews',
  title: 'Previews of a rule while it is written, with cards',
  async measure(bench: Bench): Promise<Figure[]> {
    const catalog = await openRealCatalog(bench);
    const service = await bench.startService('previews');
    const firsts: number[] = [];
    const others: number[] = [];
    try {
      for (let at = 1; at <= bench.sizes.rounds; at += 1) {
        bench.say(`${catalog.name}: previews, round ${at}`);
        const projectId = await service.createProject(`Previews ${at}`);
        await runFullUpdate(service, projectId, { bodies: catalog.bodies });
        await waitUntilQuiet(service.pid);
        const path = `/management/projects/${projectId}/relations/preview?cards=true`;
        for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
          const begun = performance.now();
          await service.succeed('POST', path, describe(catalog.name, attempt));
          (attempt === 0 ? firsts : others).push(performance.now() - begun);
        }
      }
    } finally {
      await service.stop();
    }
    const sorted = Float64Array.from(others).sort();
    return [
      {
        name: `${catalog.name}: a preview after the first of a catalog version, p50`,
        spread: { median: percentile(sorted, 50), min: sorted.at(0) ?? 0, max: sorted.at(-1) ?? 0 },
        unit: 'ms',
        target: { kind: 'at most', value: 300 },
        absolute: `${catalog.count} products; the first ${round(spreadOf(firsts).median)} ms`,
      },
    ];
  },
};

/** Each attempt is different, so no result comes from the cache. */
const describe = (name: string, attempt: number) => ({
  name: `Attempt ${attempt}`,
  tag: 'attempts',
  enabled: true,
  twoWay: attempt % 2 === 1,
  ...(DRAFTS[name] ?? DRAFTS.demo),
  sort: [{ attribute: 'Price', direction: attempt % 4 < 2 ? 'asc' : 'desc' }],
});
