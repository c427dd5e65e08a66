import { ServiceError } from '../kernel/errors.ts';

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
/** Extended codes of failed writes: write, fsync, fsync of the folder, truncate, growth of the shared memory. */
const FAILED_WRITES: ReadonlySet<number> = new Set(
  [3, 4, 5, 6, 19].map((kind) => (kind << 8) | SQLITE_IOERR),
);
/** Another program, for example `relata restore`, holds the file for longer than the timeout. */
const BUSY_SECONDS = 5;

/**
 * @returns `storage_full` when the disk has no room left, whether SQLite (full, or a failed write) or the file system
 * said so; `not_ready` when another program holds the file; any other error as it is.
 */
export function translateSqliteError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ServiceError) return error;
  const { errcode = 0, code } = error as Error & { errcode?: number; code?: string };
  if (isBusy(error)) {
    return new ServiceError('not_ready', { retryAfterSeconds: BUSY_SECONDS, cause: error });
  }
  const isFull = (errcode & 0xff) === SQLITE_FULL || FAILED_WRITES.has(errcode);
  const isRefused = code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
  return isFull || isRefused ? new ServiceError('storage_full', { cause: error }) : error;
}

/** Whether another connection holds the file; extended codes included. */
export function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode !== undefined && (errcode & 0xff) === SQLITE_BUSY;
}
