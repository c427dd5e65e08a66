/**
 * The door of storage. The control database holds accounts, projects, keys and tasks; each project's catalog
 * is a file of its own; payload files hold accepted bodies until their tasks have ended. Statements are in
 * the `*-store.ts` of the room that owns the rows. Storage does not know what a row means.
 */

import { createHash, randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { dataFolderAt, makeDataFolder } from './data-folder.ts';
import type { Database } from './database.ts';
import { migrate, newestOf } from './migrate.ts';
import { createPayloadFiles, createPayloadRows, type PayloadFiles } from './payloads/payloads.ts';
import {
  createSchemaWatch,
  isEmpty,
  isWorkerAway,
  migratePostgres,
  openPostgres,
  openPostgresDatabase,
  type Postgres,
  type PostgresSettings,
  type ReplicatedSettings,
  refuseMoved,
  tryWrites,
  watchSchema,
} from './postgres/postgres.ts';
import { byEngine, cell, type Program, performNow, performOn, row, sql, text } from './program.ts';
import type { Secrets } from './secrets/secrets.ts';
import {
  CONTROL_PRAGMAS,
  createFollows,
  createMarkMoves,
  type Follows,
  type MarkMoves,
  openControlDatabase,
  openSqlite,
  programSessionOf,
} from './sqlite/sqlite.ts';

export { type ByteCache, type CacheSpace, createByteCache, type Origin } from './byte-cache.ts';
export {
  catalogPath,
  type DataFolder,
  dataFolderAt,
  existingDataFolder,
  findLastBackup,
  listCatalogs,
  listExposedPaths,
  lockDataFolder,
  makeDataFolder,
  makeFolders,
  makeStoreFolders,
  openNow,
  recordBackup,
  refuseFilled,
  syncFolder,
  syncFolderNow,
  tightenDataFolder,
  writeOwnFile,
} from './data-folder.ts';
export {
  areEqual,
  assignFields,
  type ControlSchema,
  type ControlTransaction,
  control,
  type Database,
  type Fields,
  type Rows,
  readNow,
  toCamel,
  toSnake,
  type WriteScope,
} from './database.ts';
export {
  type DatabaseKind,
  isNewest,
  migrate,
  newestOf,
  readVersion,
  refuseNewer,
  refuseNewerDatabase,
  refuseNewerFiles,
  USER_VERSION_AT,
} from './migrate.ts';
export {
  among,
  ask,
  byEngine,
  type Calls,
  callsOfProject,
  callsOfState,
  callsOfThreads,
  cell,
  column,
  controlRows,
  deleteSome,
  insertInto,
  insertRow,
  insertRows,
  joined,
  listed,
  lookupJoin,
  mapTable,
  own,
  ownKey,
  PROJECT,
  type Program,
  type Programs,
  pairs,
  performNow,
  performOn,
  row,
  rows,
  run,
  type Sql,
  sql,
  tabled,
  text,
} from './program.ts';
export { isBusy, mayBeStored, translateSqliteError, WatchedWrite } from './sqlite-errors.ts';

/** What rooms work with, whatever their subject. */
export interface Base {
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Where catalogs are stored; plain data, from which threads open them. */
type CatalogPlace =
  | {
      readonly kind: 'embedded';
      readonly catalogs: string;
      readonly payloads: string;
      /** Counts changes of the marks of damaged catalogs. */
      readonly markMoves: MarkMoves;
      /** Whether only the continuous backup writes the files' logs back, once they are copied. */
      readonly keepsLog: boolean;
      /** Not 0 while another service writes these files. */
      readonly follows: Follows;
    }
  | ({ readonly kind: 'postgres' } & PostgresSettings);

/** What a thread opens; includes replicas, for reads that may use them. */
export type ThreadPlace =
  | Extract<CatalogPlace, { kind: 'embedded' }>
  | ({ readonly kind: 'postgres' } & ReplicatedSettings);

/** Accepted bodies, for a thread that reads some of them. */
export const openPayloads = (place: CatalogPlace): PayloadFiles =>
  place.kind === 'embedded' ? createPayloadFiles(place.payloads) : createPayloadRows(openPostgres(place));

export interface Storage {
  readonly place: CatalogPlace;
  readonly database: Database;
  readonly payloads: PayloadFiles;
  /** This thread's connections, if catalogs are in PostgreSQL. */
  readonly postgres: Postgres | undefined;
  /** Whether the database answers. @throws schema_moved once a newer program has migrated it */
  isReachable(): Promise<boolean>;
  close(): Promise<void>;
}

/** Opens the store that the settings name: PostgreSQL, or the embedded store in the data directory. */
export async function openStorage(settings: {
  readonly database: PostgresSettings | undefined;
  readonly dataDir: string;
  readonly keepsLog?: boolean;
  readonly follows?: Follows;
  /** Why an empty PostgreSQL database cannot be used. */
  readonly emptyRefusal?: string | undefined;
  /** A start that waits for PostgreSQL without limit tells this how it goes; undefined: it waits for a minute. */
  readonly waiting?: StartWaiting | undefined;
}): Promise<Storage> {
  return settings.database === undefined
    ? openEmbeddedStorage(settings.dataDir, settings)
    : openPostgresStorage(settings.database, settings);
}

/** Opens the service's own tables, without creating or migrating any, for a program that only reads them in the newest schema. */
export function openControl(settings: {
  readonly database: PostgresSettings | undefined;
  readonly dataDir: string;
}): Pick<Database, 'read' | 'close'> {
  if (settings.database === undefined) return openControlDatabase(dataFolderAt(settings.dataDir).control);
  const postgres = openPostgres({ ...settings.database, connections: 1 });
  // It writes nothing, so that no other process has to know about it.
  const database = openPostgresDatabase(postgres, '');
  return {
    read: database.read,
    async close() {
      await database.close();
      await postgres.close();
    },
  };
}

/** Creates the folder on first use and opens the control database with the newest schema. */
function openEmbeddedStorage(
  root: string,
  { keepsLog = false, follows = createFollows() }: { keepsLog?: boolean; follows?: Follows },
): Storage {
  const { control, catalogs, payloads } = dataFolderAt(root);
  for (const path of [root, catalogs, payloads]) makeDataFolder(path);
  {
    using first = openSqlite(control, CONTROL_PRAGMAS);
    migrate(first, 'control');
    performNow(refuseUnfinishedMove('The data directory'), programSessionOf(first));
  }
  const database = openControlDatabase(control, keepsLog);
  const markMoves = createMarkMoves();
  return {
    place: { kind: 'embedded', catalogs, payloads, markMoves, keepsLog, follows },
    database,
    payloads: createPayloadFiles(payloads),
    postgres: undefined,
    isReachable: async () => true,
    close: () => database.close(),
  };
}

/** Processes and their database are often started together, so a start waits for the database. */
const START_MS = 60_000;
/** A probe of readiness waits a second or two for its answer, so the check of the database must be faster. */
const ANSWER_MS = 1_000;

/**
 * Opens a PostgreSQL database with the newest schema.
 * @throws Error with the database's words when it refuses all writes; not_ready when it is unreachable for a minute
 */
async function openPostgresStorage(
  own: PostgresSettings,
  { emptyRefusal, waiting }: Pick<WaitTerms, 'emptyRefusal' | 'waiting'>,
): Promise<Storage> {
  const schema = createSchemaWatch(newestOf('postgres'));
  const processId = randomBytes(8).toString('hex');
  const settings = { ...own, schema, processId };
  const postgres = openPostgres(settings);
  let unwatch: () => void;
  try {
    await migrateSoon(postgres, { until: performance.now() + START_MS, emptyRefusal, waiting });
    await performOn(postgres, SERVICE, refuseUnfinishedMove('The database'));
    unwatch = await watchSchema(postgres, schema);
  } catch (error) {
    await postgres.close();
    throw error;
  }
  const database = openPostgresDatabase(postgres, processId);
  return {
    place: { kind: 'postgres', ...settings },
    database,
    payloads: createPayloadRows(postgres),
    postgres,
    async isReachable() {
      refuseMoved(schema);
      const answered = postgres.rows('select 1').then(() => true);
      return Promise.race([answered, setTimeout(ANSWER_MS, false)]).catch(() => false);
    },
    async close() {
      unwatch();
      await database.close();
      await postgres.close();
    },
  };
}

async function refuseEmpty(postgres: Postgres, refusal: string | undefined): Promise<void> {
  if (refusal !== undefined && (await isEmpty(postgres))) throw new Error(refusal);
}

/** How a start that has to wait reports it. */
export interface StartWaiting {
  /** Called for each new reason. */
  onWait(reason: string): void;
  onContinue(): void;
  /** Called when the start goes on although a worker of Citus does not answer. */
  onWorkerAway(reason: string): void;
}

interface WaitTerms {
  readonly until: number;
  readonly emptyRefusal?: string | undefined;
  readonly waiting?: StartWaiting | undefined;
}

/** The pause between two attempts, which doubles up to the longest. */
const PAUSE_MS = { first: 500, longest: 5_000 };

async function migrateSoon(postgres: Postgres, terms: WaitTerms): Promise<void> {
  const reasons = new Set<string>();
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest)) {
    try {
      await prepareDatabase(postgres, terms);
      if (reasons.size > 0) terms.waiting?.onContinue();
      return;
    } catch (error) {
      const final = await judgeStart(postgres, error);
      if (final !== undefined) throw final;
      noteWait(reasons, describeAway(error), terms);
    }
    await setTimeout(pauseMs);
  }
}

async function prepareDatabase(postgres: Postgres, { emptyRefusal, waiting }: WaitTerms): Promise<void> {
  await refuseEmpty(postgres, emptyRefusal);
  await migratePostgres(postgres);
  try {
    await tryWrites(postgres);
  } catch (error) {
    const isUnavailable = error instanceof ServiceError && error.code === 'not_ready';
    if (!isUnavailable || !(await isWorkerAway(postgres))) throw error;
    // The projects of the other workers are served meanwhile.
    waiting?.onWorkerAway(describeAway(error));
  }
}

/** More reasons than a database has; beyond it they are no longer reported. */
const MOST_REASONS = 20;

/** @throws Error when the time is up */
function noteWait(reasons: Set<string>, reason: string, { until, waiting }: WaitTerms): void {
  if (waiting === undefined && performance.now() > until)
    throw new Error(
      `The database cannot be reached (${reason}): check RELATA_DATABASE_URL, the network and whether the server runs.`,
    );
  if (reasons.has(reason) || reasons.size >= MOST_REASONS) return;
  reasons.add(reason);
  waiting?.onWait(reason);
}

/** An address with several hosts fails with an error of each, in one without a text. */
function describeAway(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error && first.message !== '' ? first.message : 'it does not answer';
}

/** @returns the error that ends a start, in the words of a database that refuses writes; undefined while it is unreachable */
async function judgeStart(postgres: Postgres, error: unknown): Promise<unknown> {
  const { severity, cause } = error as Error & { severity?: string; cause?: Error & { code?: string } };
  if (severity === 'ERROR') return refuseUnwritable(error as Error);
  // A standby may be promoted soon.
  if (cause?.code === READ_ONLY && !(await isStandby(postgres).catch(() => true)))
    return refuseUnwritable(cause);
  return error instanceof ServiceError && error.code === 'not_ready' ? undefined : error;
}

/** SQLSTATE read_only_sql_transaction: from a standby, or because of a setting. */
const READ_ONLY = '25006';

async function isStandby(postgres: Postgres): Promise<boolean> {
  const [row] = await postgres.rows<{ isStandby: boolean }>('select pg_is_in_recovery() as "isStandby"');
  return row?.isStandby ?? false;
}

const refuseUnwritable = ({ message }: Error) =>
  new Error(
    `The database refuses what the service has to write: ${message}. Let its role read and write all tables that it made (docs/operating/postgresql.md, "Set up PostgreSQL").`,
  );

/** Marks of the states that may be replaced; undefined: any. */
export type ExpectedStates = readonly string[] | undefined;

/** The resource to change, and the states in which it may be changed. */
export interface Chosen<Id = number> {
  readonly id: Id;
  readonly expected?: ExpectedStates;
}

/** 132 bits: no two states ever share a mark. */
const MARK_CHARACTERS = 22;

/** @returns the same text for the same JSON; a concurrent change gives another */
export function markOf(state: unknown): string {
  return createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, MARK_CHARACTERS);
}

/**
 * Call this in the transaction that replaces the state, so that the second of two concurrent changes sees the first.
 * @throws changed_meanwhile
 */
export function refuseOtherState(expected: ExpectedStates, present: string): void {
  if (expected === undefined || expected.includes(present)) return;
  throw new ServiceError(
    'changed_meanwhile',
    `the present ETag is "${present}": read it again, and send the change with that If-Match`,
  );
}

/** The table that `relata migrate-store` keeps in its target until the copy is verified; such a store is not served. */
export const MOVE_PROGRESS = 'move_progress';

/** In place of a project, whose ids begin at 1. */
export const SERVICE = 0;

/** The row of the move itself in `move_progress`; the other rows are for tables. */
export const MOVE_ROW = 'move';

/** @returns the identity of the store that is being moved here, and whether only the end of the move is missing */
export function* findMove(): Program<{ identity: string; isCompared: boolean } | undefined> {
  const table = yield* cell<string | null>(
    byEngine({
      sqlite: sql`select name from sqlite_schema where type = 'table' and name = ${MOVE_PROGRESS}`,
      postgres: sql`select to_regclass(${MOVE_PROGRESS})::text`,
    }),
  );
  if (!table) return undefined;
  const move = yield* row<{ identity: string; done: number }>`select place as identity, is_done as done
    from ${text(MOVE_PROGRESS)} where table_name = ${MOVE_ROW}`;
  return move && { identity: move.identity, isCompared: move.done === 1 };
}

export const unfinished = (name: string): Error =>
  new Error(
    `${name} holds a part of a store that is moved to it: run relata migrate-store again until it has ended, or empty it`,
  );

/** Called before a store is served. @throws Error when it is the target of an unfinished move */
export function* refuseUnfinishedMove(name: string): Program<void> {
  if ((yield* findMove()) !== undefined) throw unfinished(name);
}
