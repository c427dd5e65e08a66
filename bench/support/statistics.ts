/** Values of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    median: percentile(sorted, 50),
    min: sorted.at(0) ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** @returns the smallest value that at least `percent` % of the sorted values do not exceed */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  if (percent === 50 && sorted.length % 2 === 0) {
    const middle = sorted.length / 2;
    return (Number(sorted[middle - 1]) + Number(sorted[middle])) / 2;
  }
  const at = Math.ceil((percent / 100) * sorted.length) - 1;
  return sorted[Math.min(Math.max(at, 0), sorted.length - 1)] ?? Number.NaN;
}

export function describeSpread({ median, min, max }: Spread): string {
  if (min === max) return round(median);
  return `${round(median)} (${round(min)}–${round(max)})`;
}

/** Rounds to three significant digits. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
