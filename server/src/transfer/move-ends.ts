import type { MovedTable } from './move-layout.ts';
import type { MovedRow, Page } from './move-rows.ts';

/** The rows of one table: those of one project, or, with `SERVICE`, all of a table that belongs to no catalog. */
export interface Unit {
  readonly table: MovedTable;
  readonly projectId: number;
}

export interface UnitSize extends Unit {
  readonly rows: number;
  readonly bytes: number;
}

export interface Progress {
  readonly rows: number;
  /** The key of the last row that was copied. */
  readonly place: MovedRow | undefined;
  readonly isDone: boolean;
}

export interface MovedPayload {
  readonly projectId: number;
  readonly name: string;
  readonly bytes: number;
}

/** By table: the last number given, which may be higher than that of any row. */
export type Counters = ReadonlyMap<string, number>;

/** A store as a move sees it: one reads, the other writes, and in the end both are read again. */
export interface MoveEnd {
  /** Shown to people: no password. */
  readonly name: string;
  /** @returns what tells one store from another, undefined for one that holds nothing */
  readIdentity(): Promise<string | undefined>;
  /** What is there, counted: every table of the service and of each catalog that has rows. */
  measure(): Promise<readonly UnitSize[]>;
  /** @returns the rows behind a place in the order of the key, undefined at the end */
  read(unit: Unit, after: MovedRow | undefined): Promise<Page | undefined>;
  readCounters(): Promise<Counters>;
  /** Bodies that an open task or an open full update still needs. */
  listPayloads(): Promise<readonly MovedPayload[]>;
  readPayload(payload: MovedPayload): Promise<Uint8Array>;

  /** @returns the identity of the store that is moved to it and whether only the end of that is missing */
  findMove(): Promise<{ identity: string; isCompared: boolean } | undefined>;
  /** Marks it as the target of a move: until `endMove` no service may use it. */
  beginMove(identity: string): Promise<void>;
  findProgress(unit: Unit): Promise<Progress | undefined>;
  /** The rows and how far the unit is now, in one transaction. */
  write(unit: Unit, rows: readonly MovedRow[], step: Step): Promise<void>;
  writeCounters(counters: Counters): Promise<void>;
  writePayload(payload: MovedPayload, bytes: Uint8Array): Promise<void>;
  /** Once everything is there, before it is compared. */
  settle(): Promise<void>;
  /** Removes all traces of the move: from here on it is a store like any other. */
  endMove(): Promise<void>;
  close(): Promise<void>;
}

export interface Step {
  readonly before: Progress | undefined;
  readonly after: Progress;
}
