/**
 * The door of storage. The control database holds accounts, projects, keys and tasks; each project's catalog is a file
 * of its own; payload files hold accepted bodies until their tasks have ended. Statements are in the
 * `*-store.ts` files of the room that owns the rows. Storage does not interpret rows.
 */

import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Database } from './database.ts';
import type { PayloadFiles } from './payloads/payloads.ts';
import type { Secrets } from './secrets/secrets.ts';

export { type ByteCache, type CacheSpace, createByteCache, type Origin } from './byte-cache.ts';
export {
  areEqual,
  assignFields,
  type ControlSchema,
  type ControlTransaction,
  control,
  type Database,
  type Fields,
  type Rows,
  readNow,
  toCamel,
  toSnake,
  type WriteScope,
} from './database.ts';
export { openControl, openPayloads, openStorage, type Storage, type ThreadPlace } from './open-storage.ts';
export type { StartWaiting } from './postgres-start.ts';
export { isBusy, mayBeStored, translateSqliteError, WatchedWrite } from './sqlite-errors.ts';
export { type Chosen, type ExpectedStates, markOf, refuseOtherState } from './state-marks.ts';
export { findMove, MOVE_PROGRESS, MOVE_ROW, refuseUnfinishedMove, unfinished } from './unfinished-move.ts';

/** The dependencies that rooms share, whatever their subject. */
export interface Base {
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
}
