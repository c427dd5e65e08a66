import type { BenchService, Settings } from './service.ts';
import { describeSpread, type Spread } from './statistics.ts';

/** A result of a measurement, and its target. */
export interface Figure {
  /** In words: the dividend and the divisor, or the meaning of the number. */
  readonly name: string;
  readonly spread: Spread;
  /** `×` for a ratio of things measured in turn. */
  readonly unit: '×' | 'of 1' | 'ms' | 's' | 'MiB' | 'bytes' | 'products/s' | 'mixtures' | 'faults';
  /** Undefined: the figure is only for information. */
  readonly target?: Target;
  /** The absolute numbers behind a ratio. They are valid only for this machine and hour. */
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
  /** The time of one period of load. */
  readonly seconds: number;
}

/** Shared parts of measurements, so that no catalog is loaded twice. */
export interface Bench {
  readonly sizes: Sizes;
  /** A temporary folder on disk, which is removed at the end. */
  readonly folder: string;
  /** Runs `make` at the first call with a name, and returns its result to all later ones. */
  share<Result>(name: string, make: () => Promise<Result>): Promise<Result>;
  /** Starts a service on a new folder. It is stopped at the end at the latest. */
  startService(name: string, settings?: Settings): Promise<BenchService>;
  /** Registers further functions to call at the end, after the services. */
  stopAtEnd(stop: () => Promise<void>): void;
  /** Prints a line on the progress. */
  say(text: string): void;
}

export interface Measurement {
  readonly name: string;
  readonly title: string;
  /** A missed target is a fault of the service, whatever the machine. The program then ends with status 1. */
  readonly failsIfMissed?: boolean;
  /** @returns a sentence on conditions of the figures besides the machine */
  describeConditions?(bench: Bench): Promise<string>;
  measure(bench: Bench): Promise<Figure[]>;
}

export function isMet({ spread, target }: Figure): boolean | undefined {
  if (target === undefined) return undefined;
  return target.kind === 'at least' ? spread.median >= target.value : spread.median <= target.value;
}

/** @returns `met`, or the distance to the target */
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
