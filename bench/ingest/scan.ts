import { CLIENT_FORMS } from '../../server/test/support/client-json.ts';
import { type BenchCatalog, openRealCatalog, openSyntheticCatalog } from '../support/catalogs.ts';
import { startChild } from '../support/child-process.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import type { ScanLoad, ScanTimes } from '../support/scan-load.ts';
import { round, spreadOf } from '../support/statistics.ts';

/** The cost of checking a batch, and how it depends on the client that wrote the batch. */
export const scan: Measurement = {
  name: 'scan',
  title: 'Check of batches of 10,000 products, with their names',
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const open of [openRealCatalog, openSyntheticCatalog]) {
      const catalog = await open(bench);
      bench.say(`${catalog.name}: check of batches`);
      const child = startChild('scan-load.ts');
      try {
        const forms = writeForms(catalog);
        const load: ScanLoad = { forms, validated: CANONICAL, rounds: ROUNDS_PER_ROUND * bench.sizes.rounds };
        figures.push(...toFigures(catalog, await child.ask<ScanTimes>(load)));
      } finally {
        await child.stop();
      }
    }
    return figures;
  },
};

/** The stored form of products. */
const CANONICAL = 'canonical';
const BATCHES = 3;
/** A round takes a tenth of a second. */
const ROUNDS_PER_ROUND = 10;
/** The order of docs/interface §2.3. JSON.stringify of the stored form would keep the stored order. */
const MEMBERS = ['identifier', 'name', 'groupIdentifier', 'productUrl', 'categories', 'images', 'attributes'];

function writeForms({ bodies }: BenchCatalog): ScanLoad['forms'] {
  const batches = bodies.slice(0, BATCHES);
  const parsed = batches.map(
    (body) => JSON.parse(body.toString()) as { products: Record<string, unknown>[] },
  );
  const reordered = parsed.map(({ products }) => ({ products: products.map(reorder) }));
  const write = (values: readonly object[], form: (value: unknown) => string) =>
    values.map((value) => Buffer.from(form(value)));
  return {
    [CANONICAL]: batches,
    JavaScript: write(reordered, CLIENT_FORMS.javascript),
    Python: write(parsed, CLIENT_FORMS.python),
    PHP: write(parsed, CLIENT_FORMS.php),
  };
}

const reorder = (product: Record<string, unknown>) =>
  Object.fromEntries(MEMBERS.map((name) => [name, product[name]]));

function toFigures({ name }: BenchCatalog, { scan: times, validator }: ScanTimes): Figure[] {
  const { [CANONICAL]: canonical = [], ...clients } = times;
  const median = (values: readonly number[]) => round(spreadOf(values).median);
  return [
    {
      name: `${name}: processor time of the scan, of the validator's`,
      spread: spreadOf(canonical.map((time, at) => time / (validator[at] ?? Number.NaN))),
      unit: '×',
      target: { kind: 'at most', value: 0.35 },
      absolute: `${median(canonical)} and ${median(validator)} µs a product`,
    },
    ...Object.entries(clients).map(
      ([client, found]): Figure => ({
        name: `${name}: products/s as ${client} writes them, of the stored form`,
        spread: spreadOf(found.map((time, at) => (canonical[at] ?? Number.NaN) / time)),
        unit: '×',
        target: { kind: 'at least', value: 0.9 },
        absolute: `${median(found)} and ${median(canonical)} µs a product`,
      }),
    ),
  ];
}
