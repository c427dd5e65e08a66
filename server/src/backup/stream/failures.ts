import { OutboundProblem } from '../../outbound/outbound.ts';
import { OtherSchema } from '../files/files.ts';
import { DamagedObject, type Entry, UnauthenticatedObject, VanishedTarget } from '../target/target.ts';
import { MissingObject } from '../timeline/timeline.ts';

/** Why a backup fails. Threads share the index in this list, and the first entry means that the backup works. */
export const FAILURES = [
  'none',
  'unreachable',
  'refused',
  'full',
  'damaged',
  'otherSchema',
  'dataDirectory',
  'vanished',
  'unauthenticated',
  'incomplete',
] as const;

export type Failure = (typeof FAILURES)[number];

/** A failure of the data directory. Without this class, its errors would look like those of a target in a directory. */
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

/** The first class that matches an error decides. */
const KINDS: readonly (readonly [abstract new (...args: never[]) => Error, Failure])[] = [
  [OtherSchema, 'otherSchema'],
  [DataDirectoryFailure, 'dataDirectory'],
  [VanishedTarget, 'vanished'],
  [MissingObject, 'incomplete'],
  [UnauthenticatedObject, 'unauthenticated'],
  [DamagedObject, 'damaged'],
];

/** @returns the origin of a failed attempt; unknown errors count as failures of the target */
export function classify(error: unknown): Failure {
  const { cause, code = '' } = error as { cause?: unknown; code?: string };
  // Data from the target may be refused only when a standby applies it to its data directory. Its origin is still the
  // target.
  const origin = cause instanceof OtherSchema || cause instanceof DamagedObject ? cause : error;
  const match = KINDS.find(([kind]) => origin instanceof kind);
  if (match !== undefined) return match[1];
  if (error instanceof OutboundProblem)
    return error.reason === 'refused' || error.reason === 'no_file' ? 'refused' : 'unreachable';
  return CODES[code] ?? 'unreachable';
}
