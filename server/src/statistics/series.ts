import { ServiceError } from '../kernel/errors.ts';
import type { CatalogCount } from './catalog-count-store.ts';
import type { RequestCount } from './request-count-store.ts';
import { HOUR_SECONDS, MINUTE_SECONDS } from './request-tally.ts';

/** Query and result of statistics. Source: docs/interface.md §14.7. */

export interface RequestedSpan {
  readonly from?: number;
  readonly to?: number;
  readonly step?: number;
}

export interface Span {
  /** Whole steps of UTC. */
  readonly from: number;
  readonly to: number;
  /** Of the answer. */
  readonly stepMs: number;
  /** Of the rows that are read: minutes or hours. */
  readonly stepSeconds: number;
}

const DAY_MS = 24 * HOUR_SECONDS * 1000;
/** So wide a chart shows minutes, when nothing is said. */
const MINUTES_SHOWN_MS = 6 * HOUR_SECONDS * 1000;
const MOST_STEPS = 2_000;

/** @throws query_invalid */
export function planSpan({ to, from, step }: RequestedSpan, now: number): Span {
  const end = to ?? now + 1;
  const begin = from ?? end - DAY_MS;
  if (begin >= end) refuse('/from must be before /to');
  const isShort = end - begin <= MINUTES_SHOWN_MS;
  const stepMs = (step ?? (isShort ? MINUTE_SECONDS : HOUR_SECONDS)) * 1000;
  const span = {
    from: begin - (begin % stepMs),
    to: Math.ceil(end / stepMs) * stepMs,
    stepMs,
    stepSeconds: Math.min(stepMs / 1000, HOUR_SECONDS),
  };
  if ((span.to - span.from) / stepMs > MOST_STEPS) {
    refuse(`/step must be larger: from /from to /to are more than ${MOST_STEPS} steps`);
  }
  return span;
}

function refuse(detail: string): never {
  throw new ServiceError('query_invalid', detail);
}

export interface RequestPoint {
  readonly at: number;
  readonly requests: number;
  readonly refused: number;
  readonly limited: number;
  readonly failed: number;
  readonly slow: number;
  readonly meanMs: number;
}

/** @returns a point for each step in which there was a request */
export function sumRequests(rows: readonly RequestCount[], { stepMs }: Span): RequestPoint[] {
  const byStep = Map.groupBy(rows, ({ at }) => at - (at % stepMs));
  return [...byStep].map(([at, counts]) => {
    const sum = (name: keyof RequestCount) => counts.reduce((total, count) => total + count[name], 0);
    const requests = sum('requests');
    const [refused, limited, failed, slow] = [sum('refused'), sum('limited'), sum('failed'), sum('slow')];
    return {
      at,
      requests,
      refused,
      limited,
      failed,
      slow,
      meanMs: Math.round((sum('totalMs') / requests) * 10) / 10,
    };
  });
}

export interface CatalogPoint extends Omit<CatalogCount, 'projectId' | 'products'> {
  /** In all catalogs together, at the end of the step. */
  readonly products: number;
}

/**
 * @param before sizes at the beginning
 * @returns a point for the beginning, and one for each step in which something happened
 */
export function sumSizes(
  before: ReadonlyMap<number, number>,
  rows: readonly CatalogCount[],
  { from, stepMs }: Span,
): CatalogPoint[] {
  const sizes = new Map(before);
  const total = () => [...sizes.values()].reduce((sum, products) => sum + products, 0);
  const byStep = Map.groupBy(rows, ({ at }) => at - (at % stepMs));
  const nothing = { created: 0, changed: 0, deleted: 0, tasks: 0, failedTasks: 0 };
  const first: CatalogPoint = { at: from, products: total(), ...nothing };
  const points = [...byStep].map(([at, counts]): CatalogPoint => {
    for (const { projectId, products } of counts) if (products !== null) sizes.set(projectId, products);
    const sum = (name: keyof typeof nothing) => counts.reduce((all, count) => all + count[name], 0);
    const [created, changed, deleted] = [sum('created'), sum('changed'), sum('deleted')];
    return {
      at,
      products: total(),
      created,
      changed,
      deleted,
      tasks: sum('tasks'),
      failedTasks: sum('failedTasks'),
    };
  });
  return points[0]?.at === from ? points : [first, ...points];
}
