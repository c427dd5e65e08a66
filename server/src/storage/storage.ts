/**
 * The door of storage. The control database holds accounts, projects, keys and tasks; each project's catalog is a file of
 * its own; payload files hold accepted bodies until their tasks have ended. Statements are in the `*-store.ts` of the
 * room that owns the rows. Storage does not know what a row means.
 */
import { randomBytes } from 'node:crypto';
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
  migratePostgres,
  openPostgres,
  openPostgresDatabase,
  type Postgres,
  type PostgresSettings,
  refuseMoved,
  tryWrites,
  watchSchema,
} from './postgres/postgres.ts';
import type { Secrets } from './secrets/secrets.ts';
import {
  CONTROL_PRAGMAS,
  createMarkMoves,
  type MarkMoves,
  openControlDatabase,
  openSqlite,
} from './sqlite/sqlite.ts';
import { refuseUnfinishedMove, refuseUnfinishedMoveIn } from './unfinished-move.ts';

export { type ByteCache, type CacheSpace, createByteCache } from './byte-cache.ts';
export {
  catalogPath,
  type DataFolder,
  dataFolderAt,
  existingDataFolder,
  findLastBackup,
  listExposedPaths,
  lockDataFolder,
  makeFolders,
  recordBackup,
  syncFolder,
  tightenDataFolder,
  writeOwnFile,
} from './data-folder.ts';
export { type ControlTransaction, type Database, readNow, type WriteScope } from './database.ts';
export { mayBeStored, WatchedWrite } from './lost-answers.ts';
export {
  type DatabaseKind,
  isNewest,
  migrate,
  newestOf,
  readVersion,
  refuseNewer,
  refuseNewerDatabase,
  refuseNewerFiles,
} from './migrate.ts';
export {
  type Calls,
  callsOfProject,
  callsOfState,
  callsOfThreads,
  mapTable,
  type Programs,
} from './operations.ts';
export { ask, controlRows, type Program, performOn, row, rows, run } from './program.ts';
export type { ControlSchema } from './schema.ts';
export {
  among,
  byEngine,
  deleteSome,
  insertInto,
  joined,
  listed,
  lookupJoin,
  own,
  ownKey,
  PROJECT,
  type Sql,
  sql,
  tabled,
  text,
} from './sql-statement.ts';
export { translateSqliteError } from './sqlite-errors.ts';
export { type Chosen, type ExpectedStates, markOf, refuseOtherState } from './state-mark.ts';
export {
  findMoveIn,
  findMoveRow,
  MOVE_PROGRESS,
  MOVE_ROW,
  SERVICE,
  unfinished,
} from './unfinished-move.ts';

/** What rooms work with, whatever they are about. */
export interface Base {
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Where catalogs are; plain data, from which threads open them. */
export type CatalogPlace =
  | {
      readonly kind: 'embedded';
      readonly catalogs: string;
      readonly payloads: string;
      /** Of the marks of damaged catalogs. */
      readonly markMoves: MarkMoves;
      /** Whether only the continuous backup writes the logs of files back, once they are copied. */
      readonly keepsLog: boolean;
    }
  | ({ readonly kind: 'postgres' } & PostgresSettings);

/** What a thread opens; with replicas for reads that may use them. */
export type ThreadPlace =
  | Extract<CatalogPlace, { kind: 'embedded' }>
  | (Extract<CatalogPlace, { kind: 'postgres' }> & {
      readonly replicaUrls: readonly string[];
      readonly replicaMaxDelayMs: number;
    });

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
}): Promise<Storage> {
  return settings.database === undefined
    ? openEmbeddedStorage(settings.dataDir, settings.keepsLog)
    : openPostgresStorage(settings.database);
}

/** The service's own tables as they are: nothing is created or migrated. For a program that only reads, with the newest schema. */
export function openControl(settings: {
  readonly database: PostgresSettings | undefined;
  readonly dataDir: string;
}): Pick<Database, 'read' | 'close'> {
  if (settings.database === undefined) return openControlDatabase(dataFolderAt(settings.dataDir).control);
  const postgres = openPostgres({ ...settings.database, connections: 1 });
  // It writes nothing, so that no other process has to know it.
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
function openEmbeddedStorage(root: string, keepsLog = false): Storage {
  const folder = dataFolderAt(root);
  for (const path of [folder.root, folder.catalogs, folder.payloads]) makeDataFolder(path);
  {
    using first = openSqlite(folder.control, CONTROL_PRAGMAS);
    migrate(first, 'control');
    refuseUnfinishedMoveIn(first);
  }
  const database = openControlDatabase(folder.control, keepsLog);
  return {
    place: {
      kind: 'embedded',
      catalogs: folder.catalogs,
      payloads: folder.payloads,
      markMoves: createMarkMoves(),
      keepsLog,
    },
    database,
    payloads: createPayloadFiles(folder.payloads),
    postgres: undefined,
    isReachable: async () => true,
    close: () => database.close(),
  };
}

/** Processes and their database are often started together. */
const START_MS = 60_000;
const TRY_EVERY_MS = 500;

/**
 * Opens a PostgreSQL database with the newest schema.
 * @throws Error when nothing can be written to it, with its own words; not_ready when it cannot be reached for a minute
 */
async function openPostgresStorage(own: PostgresSettings): Promise<Storage> {
  const schema = createSchemaWatch(newestOf('postgres'));
  const processId = randomBytes(8).toString('hex');
  const settings = { ...own, schema, processId };
  const postgres = openPostgres(settings);
  let unwatch: () => void;
  try {
    await migrateSoon(postgres, performance.now() + START_MS);
    await refuseUnfinishedMove(postgres);
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
      return answersSoon(postgres);
    },
    async close() {
      unwatch();
      await database.close();
      await postgres.close();
    },
  };
}

async function migrateSoon(postgres: Postgres, until: number): Promise<void> {
  for (;;) {
    try {
      await migratePostgres(postgres);
      return await tryWrites(postgres);
    } catch (error) {
      const final = await judgeStart(postgres, error);
      if (final !== undefined || performance.now() > until) throw final ?? error;
      await setTimeout(TRY_EVERY_MS);
    }
  }
}

/** @returns what ends a start, in the words of a database that refuses writes; undefined while the database is away */
async function judgeStart(postgres: Postgres, error: unknown): Promise<unknown> {
  const { severity, cause } = error as Error & { severity?: string; cause?: Error & { code?: string } };
  if (severity === 'ERROR') return refuseUnwritable(error as Error);
  // A standby may be promoted soon.
  if (cause?.code === READ_ONLY && !(await isStandby(postgres).catch(() => true)))
    return refuseUnwritable(cause);
  return error instanceof ServiceError && error.code === 'not_ready' ? undefined : error;
}

/** SQLSTATE read_only_sql_transaction: of a standby, or by a setting. */
const READ_ONLY = '25006';

async function isStandby(postgres: Postgres): Promise<boolean> {
  const [row] = await postgres.rows<{ isStandby: boolean }>('select pg_is_in_recovery() as "isStandby"');
  return row?.isStandby ?? false;
}

const refuseUnwritable = ({ message }: Error) =>
  new Error(
    `The database refuses what the service has to write: ${message}. Let its role read and write all tables that it made (docs/operating.md, "Set up PostgreSQL").`,
  );

/** A probe waits a second or two for its answer. */
const ANSWER_MS = 1_000;

async function answersSoon(postgres: Postgres): Promise<boolean> {
  const answered = postgres.rows('select 1').then(
    () => true,
    () => false,
  );
  return Promise.race([answered, setTimeout(ANSWER_MS, false)]);
}
