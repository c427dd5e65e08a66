import type { PayloadFiles } from '../storage/payloads/payloads.ts';
import type { SqlSession } from '../storage/programs/programs.ts';
import { MOVE_PROGRESS } from '../storage/storage.ts';
import type { Engine, MovedRow, MovedTable } from './move-tables.ts';

/** The interface between a move and an engine, and the types of the moved content. */

/** Creates the progress table in the database or in each file, so that one transaction changes rows and progress. */
export const CREATE_PROGRESS = `create table if not exists ${MOVE_PROGRESS} (
  project_id bigint not null, table_name text not null, row_count bigint not null, place text, is_done bigint not null,
  primary key (project_id, table_name))`;

/** The rows of one project in a table, or, for `SERVICE`, all rows of a table that does not belong to a catalog. */
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
  readonly lastKey: MovedRow | undefined;
  readonly isDone: boolean;
}

export interface MovedPayload {
  readonly projectId: number;
  readonly name: string;
  readonly bytes: number;
}

/** An unfinished move to a store. */
export interface FoundMove {
  readonly identity: string;
  /** Whether only the end of the move is missing. */
  readonly isCompared: boolean;
}

/** The last number assigned in each table. It may be higher than the number of any row. */
export type Counters = ReadonlyMap<string, number>;

/** Runs statements on single tables that both SQLite and PostgreSQL accept. */
export interface MoveTransaction extends SqlSession {
  insert(unit: Unit, rows: readonly MovedRow[]): Promise<void>;
}

/** The operations that differ between engines; `MoveEnd` has all others. */
export interface MoveDriver {
  /** The name for messages, without a password. */
  readonly name: string;
  readonly engine: Engine;
  readonly payloads: Pick<PayloadFiles, 'read' | 'write' | 'remove'>;
  /** @returns undefined if the payload does not exist */
  findPayloadBytes(projectId: number, name: string): Promise<number | undefined>;
  /** @returns the files with rows as `SERVICE` and project ids; a database with all rows is only `SERVICE` */
  listProjects(): Promise<readonly number[]>;
  open(projectId: number): SqlSession;
  /**
   * Changes the target. The progress table exists once the move has begun. The changes are durable when this resolves.
   */
  transaction<Result>(projectId: number, work: (tx: MoveTransaction) => Promise<Result>): Promise<Result>;
  readCounters(): Promise<Counters>;
  writeCounters(counters: Counters): Promise<void>;
  /** @returns the identity of the source, and whether only the end of the move is missing */
  findMove(): Promise<FoundMove | undefined>;
  /** Is called once all rows are copied, before the comparison. */
  settle(): Promise<void>;
  /** Removes all traces of the move. Afterwards the store can be served. */
  endMove(): Promise<void>;
  close(): Promise<void>;
}
