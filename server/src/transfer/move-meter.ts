import { SERVICE } from '../storage/programs/programs.ts';
import type { MovedPayload, Unit, UnitSize } from './move-driver.ts';
import type { MoveEnd } from './move-end.ts';

/** Measures the progress of a move and reports it to its caller. */

export interface MoveProgress {
  readonly phase: 'counting' | 'copying' | 'comparing';
  /** For example `project 3, document`. */
  readonly subject: string;
  readonly rows: number;
  readonly allRows: number;
  /** From 0 to 1. Counts bytes, because a product is many times as large as a task. */
  readonly done: number;
  /** The part of `done` that an earlier run of the move did. */
  readonly doneBefore: number;
}

export type Report = (progress: MoveProgress) => void;

/** The content of the source. */
export interface SourceContent {
  readonly units: readonly UnitSize[];
  readonly payloads: readonly MovedPayload[];
}

export async function measureEnd(end: MoveEnd, report: Report): Promise<UnitSize[]> {
  report({ phase: 'counting', subject: end.name, rows: 0, allRows: 0, done: 0, doneBefore: 0 });
  return end.measure();
}

export function describeUnit({ projectId, table }: Unit): string {
  return projectId === SERVICE ? table.name : `project ${projectId}, ${table.name}`;
}

/** Adds up the work done in one phase, and reports it. */
export class MoveMeter {
  private readonly phase: 'copying' | 'comparing';
  private readonly report: Report;
  private readonly allRows: number;
  private readonly allWork: number;
  private rows = 0;
  private work = 0;
  /** The work that an earlier run did. */
  private workBefore = 0;

  constructor(phase: 'copying' | 'comparing', { units, payloads }: SourceContent, report: Report) {
    this.phase = phase;
    this.report = report;
    // Comparing reads both stores.
    const times = phase === 'comparing' ? 2 : 1;
    const bodyBytes = payloads.reduce((sum, { bytes }) => sum + bytes, 0);
    this.allRows = times * units.reduce((sum, { rows }) => sum + rows, 0);
    this.allWork = times * (bodyBytes + units.reduce((sum, unit) => sum + workOf(unit), 0));
    this.show('');
  }

  addRows(unit: UnitSize, added: number): void {
    this.rows += added;
    this.work += (workOf(unit) * added) / Math.max(unit.rows, 1);
    this.show(describeUnit(unit));
  }

  /** Skips rows that an earlier run copied. */
  skipRows(unit: UnitSize, skipped: number): void {
    const before = this.work;
    this.addRows(unit, skipped);
    this.workBefore += this.work - before;
  }

  addBody(bytes: number): void {
    this.work += bytes;
    this.show('bodies of open tasks');
  }

  private show(subject: string): void {
    const { phase, rows, allRows, allWork } = this;
    // Rounding errors of many tables leave the sum slightly below the total.
    const part = (some: number) => (some >= allWork * (1 - 1e-9) ? 1 : some / allWork);
    const [done, doneBefore] = [part(this.work), part(this.workBefore)];
    this.report({ phase, subject: subject, rows, allRows, done, doneBefore });
  }
}

const workOf = ({ rows, bytes }: UnitSize): number => bytes + rows * ROW_COST_BYTES;

/**
 * The cost of a row besides its bytes, expressed in bytes, for the estimate of the remaining time. Measured on 2 cores:
 * a document of 3 KB takes 50 µs, a relation member of 170 bytes 28 µs, a product of 90 bytes 17 µs.
 */
const ROW_COST_BYTES = 1_500;
