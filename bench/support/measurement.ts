import type { BenchService, Settings } from './service.ts';
import { describeSpread, type Spread } from './statistics.ts';

/** What a measurement found, and what it should have been. */
export interface Figure {
  /** In words: what is divided by what, or what the number is. */
  readonly name: string;
  readonly spread: Spread;
  /** `×` for a ratio of things measured in turn. */
  readonly unit: '×' | 'of 1' | 'ms' | 's' | 'MiB' | 'bytes' | 'products/s' | 'mixtures' | 'faults';
  /** Absent: for information. */
  readonly target?: Target;
  /** Absolute numbers behind a ratio, true for this machine and hour only. */
  readonly absolute?: string;
}

export interface Target {
  readonly kind: 'at least' | 'at most';
  readonly value: number;
}

export interface Sizes {
  readonly synthetic: number;
  readonly million: number;
  readonly rounds: number;
  /** Of one period of load. */
  readonly seconds: number;
}

/** What measurements share, so that none loads again what another has loaded. */
export interface Bench {
  readonly sizes: Sizes;
  /** A temporary folder on disk; everything goes with it. */
  readonly folder: string;
  /** Runs `make` at the first call with this name and gives its result to every later one. */
  share<Result>(name: string, make: () => Promise<Result>): Promise<Result>;
  /** A service on a folder of its own; what is not stopped before is stopped at the end. */
  startService(name: string, settings?: Settings): Promise<BenchService>;
  /** What else has to be stopped at the end, after the services. */
  stopAtEnd(stop: () => Promise<void>): void;
  /** A line on what is under way. */
  say(text: string): void;
}

export interface Measurement {
  readonly name: string;
  readonly title: string;
  /** @returns a sentence on what the figures depend on besides the machine */
  describeConditions?(bench: Bench): Promise<string>;
  measure(bench: Bench): Promise<Figure[]>;
}

export function isMet({ spread, target }: Figure): boolean | undefined {
  if (target === undefined) return undefined;
  return target.kind === 'at least' ? spread.median >= target.value : spread.median <= target.value;
}

/** @returns `met`, or by how much not */
export function judge(figure: Figure): string {
  const { spread, target } = figure;
  if (target === undefined) return '';
  if (isMet(figure)) return 'met';
  const percent = Math.round(Math.abs(spread.median / target.value - 1) * 100);
  return `missed by ${target.value === 0 ? spread.median : `${percent} %`}`;
}

export function describeTarget({ target, unit }: Figure): string {
  if (target === undefined) return '';
  return `${target.kind === 'at least' ? '≥' : '≤'} ${target.value} ${unit}`;
}

export function describeFigure({ spread, unit }: Figure): string {
  return `${describeSpread(spread)} ${unit}`;
}
