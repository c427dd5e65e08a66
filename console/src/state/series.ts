import type { CatalogPoint, KeyStatistics, RequestPoint } from '@relata/client';

/** @returns when each step of a span begins */
export function listSteps({ from, to, step }: Pick<KeyStatistics, 'from' | 'to' | 'step'>): number[] {
  const stepMs = step * 1000;
  const count = Math.min(2_000, Math.max(1, Math.ceil((to - from) / stepMs)));
  return Array.from({ length: count }, (_, at) => from + at * stepMs);
}

/** @returns the values of one field for every step; undefined where there is no point */
export function spread<Point extends RequestPoint | CatalogPoint>(
  steps: readonly number[],
  points: readonly Point[],
  field: keyof Point,
): (number | undefined)[] {
  const byStep = new Map(points.map((point) => [point.at, point[field] as number]));
  return steps.map((step) => byStep.get(step));
}

export const sum = (values: readonly (number | undefined)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);
