import { ServiceError } from '../../kernel/errors.ts';
import type { SqlSession } from '../programs/programs.ts';

/**
 * What a process knows about the schema of its database. A newer program may migrate the database while the process
 * runs, and then the process must not write. The array is in shared memory, and it can be passed to all threads of the
 * process.
 */
export type SchemaWatch = Float64Array<SharedArrayBuffer>;

/** The newest schema that this program knows. */
const KNOWN = 0;
/** When the schema was read, in ms of the machine's monotonic clock; 0 before the first read. */
const READ_AT = 1;
/** The schema version that this program is too old for; 0 if there is none. */
const MOVED_TO = 2;

/** Half of the time after which a newer program considers a process gone (`GONE_MS` in migrate.ts). */
const STALE_MS = 5_000;

export function createSchemaWatch(newestKnown: number): SchemaWatch {
  const watch = new Float64Array(new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT));
  watch[KNOWN] = newestKnown;
  return watch;
}

export const READ_SCHEMA =
  'select schema_version as version, compatible_from as oldest, compatible_to as newest from service where id = 1';

interface PresentSchema {
  readonly version: number;
  /** Programs that know schema `oldest` or a later one can work with schemas up to `newest`. */
  readonly oldest: number;
  readonly newest: number;
}

/** A clock that continues while the process hangs and is the same for all its threads. */
const now = () => Number(process.hrtime.bigint() / 1_000_000n);

/**
 * Whether a transaction must read the schema itself, because the last periodic read is too old. This happens after the
 * process hung or the database was unreachable.
 */
export function isStale(watch: SchemaWatch | undefined): watch is SchemaWatch {
  const readAt = watch?.[READ_AT] ?? 0;
  return readAt > 0 && now() - readAt > STALE_MS;
}

export function noteSchema(watch: SchemaWatch, { version, oldest, newest }: PresentSchema): void {
  const newestKnown = watch[KNOWN] ?? 0;
  const fits =
    version === newestKnown || (oldest <= newestKnown && newestKnown <= version && version <= newest);
  watch[MOVED_TO] = fits ? 0 : version;
  watch[READ_AT] = now();
}

/** @throws schema_moved */
export function refuseMoved(watch: SchemaWatch | undefined): void {
  const version = watch?.[MOVED_TO];
  if (!version) return;
  const why = `the database has schema ${version}, this program knows ${watch[KNOWN]}: stop it and start the newer one`;
  throw new ServiceError('schema_moved', { retryAfterSeconds: 10, details: [why] });
}

/**
 * Reads the schema periodically.
 * @returns a function that stops the reads
 */
export async function watchSchema(postgres: SqlSession, watch: SchemaWatch): Promise<() => void> {
  const read = async () => {
    const [present] = await postgres.rows<PresentSchema>(READ_SCHEMA);
    if (present !== undefined) noteSchema(watch, present);
  };
  await read();
  // If a read fails, the watch becomes stale, and the next transactions read the schema themselves.
  const timer = setInterval(() => void read().catch(() => {}), 1_000).unref();
  return () => clearInterval(timer);
}
