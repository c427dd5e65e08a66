import { ServiceError } from '../../kernel/errors.ts';

/** An SQLSTATE. Source: PostgreSQL documentation, appendix A. */
const DISK_FULL = '53100';
/** The disk or its contents cannot be read: io_error, data_corrupted, index_corrupted. */
const FAILED: ReadonlySet<string> = new Set(['58030', 'XX001', 'XX002']);
/**
 * Connection exceptions, too many connections, shutdown, crash, starting up, a hanging transaction, and statements that
 * only a standby refuses.
 */
const UNAVAILABLE = /^(?:08...|53[0234]00|57P0[1-5]|25P03|25006|40001|40P01|55P03)$/;
const NETWORK = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'],
  ...['ENETUNREACH', 'ECONNABORTED', 'ENOENT'],
]);
/** The driver's messages for a lost connection; they have no code. */
const GONE =
  /connection terminated|connection error|timeout exceeded when trying to connect|query read timeout/i;
/**
 * Messages with the code XX000 of a Citus coordinator that lost a worker. Some are its own (placement_connection.c,
 * multi_copy.c, remote_transaction.c, intermediate_results.c, 13.2.2). It passes on others unchanged from libpq and the
 * worker's PostgreSQL, including an empty one (remote_commands.c).
 */
const WORKER_GONE =
  /connection marked as essential|failed to prepare transaction|to fetch intermediate results|failed to read result|could not commit transaction for shard|could not connect to any active placements|server closed the connection|could not (?:send|receive) data|no connection to the server|connection not open|terminating connection|^\s*$/i;
const INTERNAL = 'XX000';
const CANCELLED = '57014';
/** A restart takes seconds, a failover up to a minute. */
const RETRY_SECONDS = 2;

export const isTimedOut = (error: unknown) => (error as { code?: string }).code === CANCELLED;

/** Refuses a statement without sending it, because the database does not answer. */
export const refuseAway = (cause?: Error) =>
  new ServiceError('not_ready', { retryAfterSeconds: RETRY_SECONDS, cause });

/**
 * @returns `not_ready` for an unreachable database, `storage_full` for a full disk, `storage_failed` for a failing or
 * damaged one; any other error unchanged
 */
export function translatePostgresError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ServiceError) return error;
  const { code = '' } = error as Error & { code?: string };
  if (code === DISK_FULL) return new ServiceError('storage_full', { cause: error });
  if (FAILED.has(code)) {
    return new ServiceError('storage_failed', { retryAfterSeconds: RETRY_SECONDS, cause: error });
  }
  const isWorkerGone = code === INTERNAL && WORKER_GONE.test(error.message);
  if (isWorkerGone || UNAVAILABLE.test(code) || NETWORK.has(code) || GONE.test(error.message)) {
    return refuseAway(error);
  }
  return error;
}

/** A code of five letters or digits means that the database answered, so the connection still works. */
export function isRefusedStatement(error: unknown): boolean {
  const { code, severity } = error as { code?: string; severity?: string };
  return /^[0-9A-Z]{5}$/.test(code ?? '') && severity !== 'FATAL';
}
