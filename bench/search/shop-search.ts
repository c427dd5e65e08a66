import { openRealCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readCpuMs, waitUntilQuiet } from '../support/process-usage.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { percentile, round } from '../support/statistics.ts';

type Question = Readonly<Record<string, string>>;

interface CatalogQuestions {
  readonly search: readonly Question[];
  readonly filtered: readonly Question[];
  readonly suggestions: readonly Question[];
}

const filter = (...filters: readonly object[]) => JSON.stringify(filters);
const one = (name: string, value: string) => ({ name, values: [{ value }] });
const typed = (...words: readonly string[]): Question[] => words.map((query) => ({ query }));

/** Queries of customers by catalog: with many hits, with few, and with a typing error. */
const QUESTIONS: Readonly<Record<string, CatalogQuestions>> = {
  'pc-parts': {
    search: typed('corsair 16 gb', 'asus motherboard', 'kingston', 'black case', 'corsiar memory', 'rtx'),
    filtered: [
      { query: 'corsair', filters: filter(one('Color', 'Black')) },
      { query: 'memory', filters: filter(one('Brand', 'Kingston'), { name: 'Price', min: 50, max: 100 }) },
      { query: '*', filters: filter({ name: 'Category', values: [{ value: 'Memory' }] }) },
      { query: 'asus', filters: filter({ name: 'Price', min: 200 }) },
    ],
    suggestions: typed('cor', 'asus mo', 'king', 'bla', 'corsair ven', 'rtx 2'),
  },
  demo: {
    search: typed('tyre', 'disc brake', 'gravel', 'bycicle'),
    filtered: [{ query: 'tyre', filters: filter(one('Wheel size', '29 in')) }],
    suggestions: typed('ty', 'bra', 'disc pa'),
  },
};

/** The wait of a customer for search results, and for suggestions during typing. */
export const shopSearch: Measurement = {
  name: 'shop-search',
  title: 'Searches of a shop, one after another',
  async measure(bench: Bench): Promise<Figure[]> {
    const catalog = await openRealCatalog(bench);
    const service = await bench.startService('shop-search');
    try {
      const projectId = await service.createProject('Shop');
      await runFullUpdate(service, projectId, { bodies: catalog.bodies });
      const call = async (path: string, question: Question) =>
        service.succeed<{ partial?: true }>(
          'GET',
          `${path}?${new URLSearchParams({ projectId: `${projectId}`, ...question })}`,
        );
      // The first search makes the index.
      while ((await call('/search', { query: 'a' })).partial);
      await waitUntilQuiet(service.pid);
      const figures: Figure[] = [];
      for (const [kind, questions] of Object.entries(QUESTIONS[catalog.name] as CatalogQuestions)) {
        const path = kind === 'suggestions' ? '/search/suggestions' : '/search';
        const waits: number[] = [];
        const before = readCpuMs(service.pid);
        for (let at = 0; at < bench.sizes.rounds * REPEATS; at += 1) {
          const begun = performance.now();
          await call(path, questions[at % questions.length] as Question);
          waits.push(performance.now() - begun);
        }
        const cpuMs = (readCpuMs(service.pid) - before) / waits.length;
        const sorted = Float64Array.from(waits).sort();
        figures.push({
          name: `${catalog.name}: ${kind}, p95`,
          spread: { median: percentile(sorted, 95), min: sorted[0] ?? 0, max: sorted.at(-1) ?? 0 },
          unit: 'ms',
          target: { kind: 'at most', value: 30 },
          absolute: `${catalog.count} products; p50 ${round(percentile(sorted, 50))} ms, ${round(cpuMs)} ms of processor time each`,
        });
      }
      return figures;
    } finally {
      await service.stop();
    }
  },
};

const REPEATS = 100;
