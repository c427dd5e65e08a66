import { OutboundProblem } from '../../outbound/outbound.ts';
import { OtherSchema } from './followed-files.ts';
import { DamagedObject, type Entry } from './objects.ts';

/** Why a backup does not go on. Threads share its place in this list; the first one says that it does. */
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

/** The data directory gives or takes something not: its errors look like those of a target in a directory. */
class DataDirectoryFailure extends Error {
  constructor(cause: unknown) {
    super((cause as Error).message, { cause });
  }
}

/** @throws DataDirectoryFailure for what the work on the data directory throws */
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

/** @returns what a failed attempt comes from; what is not known is the target's */
export function classify(error: unknown): Failure {
  const { cause, code = '' } = error as { cause?: unknown; code?: string };
  if (error instanceof OtherSchema || cause instanceof OtherSchema) return 'otherSchema';
  if (error instanceof DataDirectoryFailure) return 'dataDirectory';
  if (error instanceof DamagedObject) return 'damaged';
  if (error instanceof OutboundProblem)
    return error.reason === 'refused' || error.reason === 'no_file' ? 'refused' : 'unreachable';
  return CODES[code] ?? 'unreachable';
}
