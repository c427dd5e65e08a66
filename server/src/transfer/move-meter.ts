import { SERVICE } from '../storage/storage.ts';
import type { Unit, UnitSize } from './move-ends.ts';
import { ROW_COST_BYTES } from './move-rows.ts';

/** How far a move is. */
export interface MoveProgress {
  readonly phase: MovePhase;
  /** e.g. `project 3, document` */
  readonly place: string;
  readonly rows: number;
  readonly allRows: number;
  /** From 0 to 1; by bytes, since a product is many times a task. */
  readonly done: number;
  /** What an earlier run had done already, of `done`. */
  readonly doneBefore: number;
}

export type MovePhase = 'counting' | 'copying' | 'comparing';

export function describeUnit({ projectId, table }: Unit): string {
  return projectId === SERVICE ? table.name : `project ${projectId}, ${table.name}`;
}

/** Adds up what is done in one phase. */
export class MoveMeter {
  private readonly phase: MovePhase;
  private readonly report: (progress: MoveProgress) => void;
  private readonly allRows: number;
  private readonly allWork: number;
  private rows = 0;
  private work = 0;
  private workBefore = 0;

  /** @param times how often each row is read in this phase */
  constructor(
    phase: MovePhase,
    { units, bodyBytes, times = 1 }: { units: readonly UnitSize[]; bodyBytes: number; times?: number },
    report: (progress: MoveProgress) => void,
  ) {
    this.phase = phase;
    this.report = report;
    this.allRows = times * units.reduce((sum, { rows }) => sum + rows, 0);
    this.allWork = times * (bodyBytes + units.reduce((sum, unit) => sum + workOf(unit), 0));
    this.show('');
  }

  addRows(unit: UnitSize, rows: number): void {
    this.rows += rows;
    this.work += (workOf(unit) * rows) / Math.max(unit.rows, 1);
    this.show(describeUnit(unit));
  }

  /** Rows that an earlier run has copied. */
  skipRows(unit: UnitSize, rows: number): void {
    const work = this.work;
    this.addRows(unit, rows);
    this.workBefore += this.work - work;
  }

  addBody(bytes: number): void {
    this.work += bytes;
    this.show('bodies of open tasks');
  }

  private show(place: string): void {
    const { phase, rows, allRows } = this;
    // The sum of the parts of many tables is not quite the whole.
    const part = (work: number) => (work >= this.allWork * (1 - 1e-9) ? 1 : work / this.allWork);
    this.report({ phase, place, rows, allRows, done: part(this.work), doneBefore: part(this.workBefore) });
  }
}

const workOf = ({ rows, bytes }: UnitSize): number => bytes + rows * ROW_COST_BYTES;
