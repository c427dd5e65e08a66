/** The query and result of statistics. Source: docs/interface §14.7. */
import { ServiceError } from '../kernel/errors.ts';
import {
  CATALOG_COUNTS,
  type CatalogCount,
  REQUEST_COUNTS,
  type RequestCount,
  sumOf,
} from './count-store.ts';

export const MINUTE_SECONDS = 60;
export const HOUR_SECONDS = 3_600;
export const HOUR_MS = 3_600_000;

export interface Span {
  /** `from` and `to` are at the boundaries of steps in UTC. */
  readonly from: number;
  readonly to: number;
  /** The step of the answer. */
  readonly stepMs: number;
  /** The step of the stored rows to read: minutes or hours. */
  readonly stepSeconds: number;
}

/** The default step is a minute up to this length of the span, and an hour beyond it. */
const MINUTES_SHOWN_MS = 6 * HOUR_MS;
const MOST_STEPS = 2_000;

/** @throws query_invalid */
export function planSpan({ to, from, step }: { from?: number; to?: number; step?: number }, now: number) {
  const end = to ?? now + 1;
  const begin = from ?? end - 24 * HOUR_MS;
  if (begin >= end) refuse('/from must be before /to');
  const stepMs = (step ?? (end - begin <= MINUTES_SHOWN_MS ? MINUTE_SECONDS : HOUR_SECONDS)) * 1000;
  const span = {
    from: begin - (begin % stepMs),
    to: Math.ceil(end / stepMs) * stepMs,
    stepMs,
    stepSeconds: Math.min(stepMs / 1000, HOUR_SECONDS),
  };
  if ((span.to - span.from) / stepMs > MOST_STEPS) {
    refuse(`/step must be larger: the span from /from to /to has more than ${MOST_STEPS} steps`);
  }
  return span;
}

export function refuse(detail: string): never {
  throw new ServiceError('query_invalid', detail);
}

/** @returns a point for each step with requests */
export function sumRequests(rows: readonly RequestCount[], { stepMs }: Span) {
  const byStep = Map.groupBy(rows, ({ at }) => at - (at % stepMs));
  return [...byStep].map(([stepAt, counts]) => {
    const { totalMs, ...sums } = sumOf(REQUEST_COUNTS, counts);
    return { at: stepAt, ...sums, meanMs: Math.round((totalMs / sums.requests) * 10) / 10 };
  });
}

/** @returns a point for the beginning with the sizes `before`, and a point for each step with changes */
export function sumSizes(
  before: ReadonlyMap<number, number>,
  rows: readonly CatalogCount[],
  { from, stepMs }: Span,
) {
  const sizes = new Map(before);
  const total = () => [...sizes.values()].reduce((sum, products) => sum + products, 0);
  const byStep = Map.groupBy(rows, ({ at }) => at - (at % stepMs));
  const first = { at: from, products: total(), ...sumOf(CATALOG_COUNTS, []) };
  const points = [...byStep].map(([stepAt, counts]) => {
    for (const { projectId, products } of counts) if (products !== null) sizes.set(projectId, products);
    // `products` is the sum over all catalogs at the end of the step.
    return { at: stepAt, products: total(), ...sumOf(CATALOG_COUNTS, counts) };
  });
  return points[0]?.at === from ? points : [first, ...points];
}
