import { setTimeout as pause } from 'node:timers/promises';
import { openSyntheticCatalog, PRODUCTS_PER_BATCH } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { type MillionCatalog, openMillion } from '../support/million.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import { type TaskAnswer, waitUntilFinished } from '../support/service-client.ts';
import { percentile, round, spreadOf } from '../support/statistics.ts';
import { identifierOf } from '../support/synthetic-products.ts';

/** Small updates per second, at fixed instants. */
const RATE = 20;

/** Changes of a large catalog: many products at once, and one product during uploads. */
export const partial: Measurement = {
  name: 'partial',
  title: 'Partial updates of a catalog of 1,000,000 products',
  async measure(bench: Bench): Promise<Figure[]> {
    const million = await openMillion(bench);
    const seconds: number[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`partial update: round ${at}`);
      seconds.push(await updateMany(million, at));
      await waitUntilQuiet(million.service.pid);
    }
    bench.say('one-product updates beside uploads');
    const waits = await updateBesideUploads(bench, million);
    return [
      {
        name: '10,000 products, from the call to FINISHED',
        spread: spreadOf(seconds),
        unit: 's',
        target: { kind: 'at most', value: 60 },
      },
      {
        name: 'one product beside uploads of 15 MB, p99 of the answer',
        spread: spreadOf([percentile(waits, 99)]),
        unit: 'ms',
        target: { kind: 'at most', value: 500 },
        absolute: `p50 ${round(percentile(waits, 50))} ms, longest ${round(Number(waits.at(-1)))} ms, ${waits.length} updates`,
      },
    ];
  },
};

function describePatch(index: number, price: number): object {
  return { identifier: identifierOf(index), attributes: { Price: `${price}.00 EUR` } };
}

/** Products from the whole catalog, at 900 prices. @returns seconds */
export async function updateMany(
  { service, projectId, count }: Pick<MillionCatalog, 'service' | 'projectId' | 'count'>,
  attempt: number,
): Promise<number> {
  const step = count / PRODUCTS_PER_BATCH;
  const products = Array.from({ length: PRODUCTS_PER_BATCH }, (_, at) =>
    describePatch(Math.floor(at * step), 1_000 * attempt + (at % 900)),
  );
  const path = `/products?projectId=${projectId}&partial=true`;
  const start = performance.now();
  const { task } = await service.succeed<TaskAnswer>('POST', path, { products });
  await waitUntilFinished(service, task.id);
  return (performance.now() - start) / 1_000;
}

/** @returns the time from when each update was due to its answer, in ms, sorted */
async function updateBesideUploads(
  bench: Bench,
  { service, projectId }: MillionCatalog,
): Promise<Float64Array> {
  const { bodies } = await openSyntheticCatalog(bench);
  await service.succeed('POST', `/products/batch/initiate?projectId=${projectId}`);
  let isDone = false;
  const uploads = (async () => {
    for (let at = 0; !isDone; at += 1) {
      const path = `/products/batch/upload?projectId=${projectId}`;
      await service.succeed('POST', path, bodies[at % bodies.length]);
    }
  })();
  const updates = Math.round(bench.sizes.seconds * 4 * RATE);
  const start = performance.now();
  const waits = await Promise.all(
    Array.from({ length: updates }, async (_, at) => {
      const due = start + (at * 1_000) / RATE;
      await pause(Math.max(0, due - performance.now()));
      const body = { products: [describePatch(at * 7, 2_000 + at)] };
      await service.succeed('POST', `/products?projectId=${projectId}&partial=true`, body);
      return performance.now() - due;
    }),
  );
  isDone = true;
  await uploads;
  return Float64Array.from(waits).sort();
}
