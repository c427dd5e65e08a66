import type { CatalogPoint, KeyStatistics, RequestPoint } from '@relata/client';
import { formatDayOf, formatHourOf, formatWeekdayOf } from './format.ts';

/** Round values from 0 to at least the largest value. */
export function listTicks(largest: number, steps = 4): readonly number[] {
  const least = Math.max(1, largest) / steps;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((multiple) => multiple * power).find((candidate) => candidate >= least) ?? least,
  );
  const count = Math.max(1, Math.ceil(largest / step));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** A mark on a time axis: its step and its label. */
export interface TimeMark {
  readonly index: number;
  readonly words: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A span of up to this many hours has marks for hours. A longer span has marks for days. */
const HOURS_SHOWN = 36;
const MARKED_HOURS = 6;
const MOST_DAYS = 7;

/** @returns a few marks for steps that begin at these instants: hours, weekdays, or dates */
export function markTimes(steps: readonly number[]): readonly TimeMark[] {
  const stepMs = (steps[1] ?? 0) - (steps[0] ?? 0);
  if (stepMs >= DAY_MS) {
    const every = Math.ceil(steps.length / MOST_DAYS);
    const last = steps.length - 1;
    return marks(steps, (_, index) => (last - index) % every === 0, formatDayOf);
  }
  const isShort = steps.length * stepMs <= HOURS_SHOWN * HOUR_MS;
  const isMarked = (every: number) => (step: number) => {
    const time = new Date(step);
    return time.getHours() % every === 0 && time.getMinutes() * 60_000 < stepMs;
  };
  return isShort
    ? marks(steps, isMarked(MARKED_HOURS), formatHourOf)
    : marks(steps, isMarked(24), formatWeekdayOf);
}

function marks(
  steps: readonly number[],
  isMarked: (step: number, index: number) => boolean,
  label: (step: number) => string,
): readonly TimeMark[] {
  return steps.flatMap((step, index) => (isMarked(step, index) ? [{ index, words: label(step) }] : []));
}

/** @returns the step in words: its day if it is a day (by UTC), else its day and hour */
export function describeStep(steps: readonly number[], index: number): string {
  const step = steps[index] ?? 0;
  const isDay = (steps[1] ?? 0) - (steps[0] ?? 0) >= DAY_MS;
  return isDay ? formatDayOf(step) : `${formatWeekdayOf(step)}, ${formatHourOf(step)}`;
}

/** Positions of marks on a time axis from 0 to 1, in order and no closer to each other than `gap`. */
export function placeMarks(instants: readonly number[], gap: number): readonly number[] {
  const [first = 0, last = 0] = [instants[0], instants.at(-1)];
  const span = Math.max(1, last - first);
  const room = 1 - gap * Math.max(0, instants.length - 1);
  if (room <= 0) return instants.map((_, index) => index / Math.max(1, instants.length - 1));
  return instants.map((instant, index) => index * gap + ((instant - first) / span) * room);
}

/** @returns the start of each step of a span */
export function listSteps({ from, to, step }: Pick<KeyStatistics, 'from' | 'to' | 'step'>): number[] {
  const stepMs = step * 1000;
  const count = Math.min(2_000, Math.max(1, Math.ceil((to - from) / stepMs)));
  return Array.from({ length: count }, (_, index) => from + index * stepMs);
}

/** @returns the values of one field for every step; undefined for steps without a point */
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
