import { OutboundProblem } from '../../outbound/outbound.ts';
import { OtherSchema } from './followed-files.ts';
import { DamagedObject, type Entry } from './objects.ts';

/** Why a backup does not go on. Threads share the index in this list; the first entry means that it does. */
export const FAILURES = [
  'none',
  'unreachable',
  'refused',
  'full',
  'damaged',
  'otherSchema',
  'dataDirectory',
] as const;

export type Failure = (typeof FAILURES)[number];

/** A failure of the data directory, whose errors look like those of a target in a directory. */
class DataDirectoryFailure extends Error {
  constructor(cause: unknown) {
    super((cause as Error).message, { cause });
  }
}

/** @throws DataDirectoryFailure for any error of the work on the data directory */
export function inData<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new DataDirectoryFailure(error);
  }
}

/** @throws DataDirectoryFailure */
export async function* fromData(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  try {
    yield* entries;
  } catch (error) {
    throw new DataDirectoryFailure(error);
  }
}

const CODES: Readonly<Record<string, Failure>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EACCES: 'refused',
  EPERM: 'refused',
  EROFS: 'refused',
};

/** @returns the origin of a failed attempt; unknown errors count as the target's */
export function classify(error: unknown): Failure {
  const { cause, code = '' } = error as { cause?: unknown; code?: string };
  if (error instanceof OtherSchema || cause instanceof OtherSchema) return 'otherSchema';
  if (error instanceof DataDirectoryFailure) return 'dataDirectory';
  if (error instanceof DamagedObject) return 'damaged';
  if (error instanceof OutboundProblem)
    return error.reason === 'refused' || error.reason === 'no_file' ? 'refused' : 'unreachable';
  return CODES[code] ?? 'unreachable';
}
