import type { PayloadFiles } from '../storage/payloads/payloads.ts';
import type { SqlSession } from '../storage/programs/programs.ts';
import { MOVE_PROGRESS } from '../storage/storage.ts';
import type { Engine, MovedRow, MovedTable } from './move-tables.ts';

/** What a move needs from an engine, and what it moves. */

/** The progress table, in the database or in each file: rows and progress change in one transaction. */
export const CREATE_PROGRESS = `create table if not exists ${MOVE_PROGRESS} (
  project_id bigint not null, table_name text not null, row_count bigint not null, place text, is_done bigint not null,
  primary key (project_id, table_name))`;

/** The rows of one table: those of one project, or, for `SERVICE`, all of a table that belongs to no catalog. */
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

/** A move to a store that has not ended. */
export interface FoundMove {
  readonly identity: string;
  /** Whether only the end of the move is missing. */
  readonly isCompared: boolean;
}

/** By table, the last number given, which may be higher than that of any row. */
export type Counters = ReadonlyMap<string, number>;

/** Statements on one table each, which SQLite and PostgreSQL read alike. */
export interface MoveTransaction extends SqlSession {
  insert(unit: Unit, rows: readonly MovedRow[]): Promise<void>;
}

/** What each engine does in its own way; everything else is in `MoveEnd`. */
export interface MoveDriver {
  /** Shown to people, so without a password. */
  readonly name: string;
  readonly engine: Engine;
  readonly payloads: Pick<PayloadFiles, 'read' | 'write' | 'remove'>;
  /** @returns undefined when there is no such payload */
  findPayloadBytes(projectId: number, name: string): Promise<number | undefined>;
  /** Where rows are, each a project or `SERVICE`: one per file, or one for a database that has everything. */
  listPlaces(): Promise<readonly number[]>;
  open(projectId: number): SqlSession;
  /** For the target only, with its progress table once the move has begun; durable when it resolves. */
  transaction<Result>(projectId: number, work: (tx: MoveTransaction) => Promise<Result>): Promise<Result>;
  readCounters(): Promise<Counters>;
  writeCounters(counters: Counters): Promise<void>;
  /** @returns the identity of the store that is being moved to it, and whether only the end of the move is missing */
  findMove(): Promise<FoundMove | undefined>;
  /** Called once everything has been copied, before the comparison. */
  settle(): Promise<void>;
  /** Removes all traces of the move; from then on it is a store like any other. */
  endMove(): Promise<void>;
  close(): Promise<void>;
}
