import { ServiceError } from '../kernel/errors.ts';
import { translateSqliteError } from './sqlite-errors.ts';

/**
 * Whether a transaction that failed like this may be stored all the same, because the answer to its commit was lost with
 * the connection or the disk. What it needs then stays: payloads without an owner go at a later start.
 */
export function mayBeStored(thrown: unknown): boolean {
  const error = translateSqliteError(thrown);
  return error instanceof ServiceError && (error.code === 'not_ready' || error.code === 'storage_failed');
}

/** A write among other work: when any of it fails, what the write needs must stay if it may be stored. */
export class WatchedWrite {
  /** Stored, or perhaps. */
  mayBeStored = false;

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      this.mayBeStored = true;
      return result;
    } catch (error) {
      this.mayBeStored = mayBeStored(error);
      throw error;
    }
  }
}
