import { ServiceError } from '../../kernel/errors.ts';
import type { SqlSession } from './connections.ts';

/**
 * What a process knows of the schema of its database, which a newer program may migrate beside it: it must not write what that
 * program does not expect. In shared memory, for all threads of the process; plain data, so that it can be handed to them.
 */
export type SchemaWatch = Float64Array<SharedArrayBuffer>;

/** The newest schema that this program knows. */
const KNOWN = 0;
/** When the schema was read, in ms of the machine's monotonic clock; 0 before. */
const READ_AT = 1;
/** The version that this program does not fit; 0 if it fits. */
const MOVED_TO = 2;

const READ_EVERY_MS = 1_000;
/** Half of the time after which a newer program takes a process for gone (`GONE_MS` in migrate.ts). */
const STALE_MS = 5_000;
const RETRY_SECONDS = 10;

export function createSchemaWatch(known: number): SchemaWatch {
  const watch = new Float64Array(new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT));
  watch[KNOWN] = known;
  return watch;
}

export const READ_SCHEMA =
  'select schema_version as version, compatible_from as oldest, compatible_to as newest from service where id = 1';

export interface PresentSchema {
  readonly version: number;
  /** Programs that know schema `oldest` or a later one go on with one up to `newest`. */
  readonly oldest: number;
  readonly newest: number;
}

/** Goes on while the process hangs, and is the same for its threads. */
const now = () => Number(process.hrtime.bigint() / 1_000_000n);

/** Whether a transaction has to read the schema by itself: the process hung, or the database was away. */
export function isStale(watch: SchemaWatch | undefined): watch is SchemaWatch {
  const readAt = watch?.[READ_AT] ?? 0;
  return readAt > 0 && now() - readAt > STALE_MS;
}

export function noteSchema(watch: SchemaWatch, { version, oldest, newest }: PresentSchema): void {
  const known = watch[KNOWN] ?? 0;
  const fits = version === known || (oldest <= known && known <= version && version <= newest);
  watch[MOVED_TO] = fits ? 0 : version;
  watch[READ_AT] = now();
}

/** @throws schema_moved */
export function refuseMoved(watch: SchemaWatch | undefined): void {
  const version = watch?.[MOVED_TO];
  if (!version) return;
  const details = [
    `the database has schema ${version}, this program knows ${watch[KNOWN]}: stop it and start the newer one`,
  ];
  throw new ServiceError('schema_moved', { retryAfterSeconds: RETRY_SECONDS, details });
}

/** Reads the schema again and again. @returns what ends it */
export async function watchSchema(postgres: SqlSession, watch: SchemaWatch): Promise<() => void> {
  const read = async () => {
    const [present] = await postgres.rows<PresentSchema>(READ_SCHEMA);
    if (present !== undefined) noteSchema(watch, present);
  };
  await read();
  // While the database is away it becomes stale, and the next transactions read it themselves.
  const timer = setInterval(() => void read().catch(() => {}), READ_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
