import { ServiceError } from '../../kernel/errors.ts';

/** SQLSTATE. Source: PostgreSQL documentation, appendix A. */
const DISK_FULL = '53100';
const IO_ERROR = '58030';
/** Connection exceptions, too many connections, shutdown, crash, starting up, a transaction that hung, and what only a standby refuses. */
const UNAVAILABLE = /^(?:08...|53[0234]00|57P0[1-5]|25P03|25006|40001|40P01|55P03)$/;
const NETWORK = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'],
  ...['ENETUNREACH', 'ECONNABORTED', 'ENOENT'],
]);
/** Messages without a code, from the driver, for a lost connection. */
const GONE =
  /connection terminated|connection error|timeout exceeded when trying to connect|query read timeout/i;
const CANCELLED = '57014';
/** A restart takes seconds, a failover up to a minute. */
const RETRY_SECONDS = 2;

/** Whether the statement timed out. */
export const isTimedOut = (error: unknown) => (error as { code?: string }).code === CANCELLED;

/** Refuses a statement without sending it: the database does not answer. */
export const refuseAway = (cause?: Error) =>
  new ServiceError('not_ready', { retryAfterSeconds: RETRY_SECONDS, cause });

/** @returns `not_ready` while the database cannot be reached, `storage_full` on a full disk, `storage_failed` on a failing one; others as they are */
export function translatePostgresError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ServiceError) return error;
  const { code = '' } = error as Error & { code?: string };
  if (code === DISK_FULL) return new ServiceError('storage_full', { cause: error });
  if (code === IO_ERROR) {
    return new ServiceError('storage_failed', { retryAfterSeconds: RETRY_SECONDS, cause: error });
  }
  if (UNAVAILABLE.test(code) || NETWORK.has(code) || GONE.test(error.message)) {
    return refuseAway(error);
  }
  return error;
}
