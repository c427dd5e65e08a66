import { type FailureCode, ServiceError } from '../kernel/errors.ts';

const SQLITE_BUSY = 5;
/**
 * Primary result codes: a file that can only be opened read-only, a file whose bytes cannot be read (also EIO), a file
 * that cannot be opened.
 */
const [READONLY, IOERR, FULL, CANTOPEN] = [8, 10, 13, 14];
/** The file is malformed, or SQLite did not write it. */
const [CORRUPT, NOTADB] = [11, 26];
const DAMAGED: ReadonlySet<number> = new Set([CORRUPT, NOTADB]);
const FAILED: ReadonlySet<number> = new Set([READONLY, IOERR, CANTOPEN, ...DAMAGED]);
/** The WAL index could not grow. */
const IOERR_SHMSIZE = (19 << 8) | IOERR;
/** Equal to the delay after which a task is retried. */
const RETRY_SECONDS = 5;

/** Errors of the file system. Source: errno(3). */
const CODES = {
  storage_full: ['ENOSPC', 'EDQUOT', 'EFBIG'],
  storage_failed: ['EIO', 'EROFS', 'ENODEV', 'ENXIO', 'ESTALE'],
  not_ready: ['EMFILE', 'ENFILE'],
};

/**
 * @param projectId the project whose catalog was in use; without it, a damaged file is the control database
 * @returns `catalog_damaged` for a catalog file that SQLite cannot interpret; `storage_full` for a full disk and
 * `storage_failed` for a disk that cannot read or write, as SQLite or the file system reports it; `not_ready` when
 * another program (such as `relata restore`) holds the file, or too many files are open; any other error unchanged
 */
export function translateSqliteError(error: unknown, projectId?: number): unknown {
  if (!(error instanceof Error) || error instanceof ServiceError) return error;
  if (projectId !== undefined && isDamaged(error))
    return new ServiceError('catalog_damaged', { values: [projectId], cause: error });
  const code = findCode(error);
  if (code === undefined) return error;
  if (code === 'storage_full') return new ServiceError(code, { cause: error });
  return new ServiceError(code, { retryAfterSeconds: RETRY_SECONDS, cause: error });
}

function findCode(error: Error): FailureCode | undefined {
  const { errcode = 0, code = '' } = error as Error & { errcode?: number; code?: string };
  for (const [failure, codes] of Object.entries(CODES))
    if (codes.includes(code)) return failure as keyof typeof CODES;
  if (primary(errcode) === SQLITE_BUSY) return 'not_ready';
  if (primary(errcode) === FULL || errcode === IOERR_SHMSIZE) return 'storage_full';
  return FAILED.has(primary(errcode)) ? 'storage_failed' : undefined;
}

/** Whether SQLite refused because another connection holds the file, with a primary or an extended code. */
export const isBusy = (error: unknown) => primaryOf(error) === SQLITE_BUSY;

/** Whether a connection is read-only because its file could not be opened for writing. */
export const isReadOnly = (error: unknown) => primaryOf(error) === READONLY;

/** Whether SQLite found a file, or a part of it, malformed. */
export const isDamaged = (error: unknown) => DAMAGED.has(primaryOf(error));

const primaryOf = (error: unknown) => primary((error as { errcode?: number }).errcode ?? 0);
const primary = (errcode: number) => errcode & 0xff;

/**
 * Whether a failed transaction may have been stored anyway, because the answer to its commit was lost with the
 * connection or the disk. Its payload must then remain; a later start removes payloads without an owner.
 */
export function mayBeStored(thrown: unknown): boolean {
  const error = translateSqliteError(thrown);
  return error instanceof ServiceError && (error.code === 'not_ready' || error.code === 'storage_failed');
}

/**
 * Observes one write among other work. If any of that work fails, the payload of the write must remain if the write may
 * have been stored.
 */
export class WatchedWrite {
  /** Whether the write was stored, or may have been. */
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
