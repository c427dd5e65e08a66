import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Database } from './database.ts';
import { dataFolderAt, makeDataFolder } from './folder/folder.ts';
import { migrate, newestOf } from './migrations/migrations.ts';
import { createPayloadFiles, createPayloadRows, type PayloadFiles } from './payloads/payloads.ts';
import {
  createSchemaWatch,
  openPostgres,
  openPostgresDatabase,
  type Postgres,
  type PostgresSettings,
  type ReplicatedSettings,
  refuseMoved,
  watchSchema,
} from './postgres/postgres.ts';
import { migrateSoon, type StartWaiting, type WaitTerms } from './postgres-start.ts';
import { performNow, performOn, SERVICE } from './programs/programs.ts';
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
import { refuseUnfinishedMove } from './unfinished-move.ts';

/** Where catalogs are stored. It is plain data that can be passed to threads, which open the catalogs from it. */
type CatalogPlace =
  | {
      readonly kind: 'embedded';
      readonly catalogs: string;
      readonly payloads: string;
      /** Counts changes of the marks of damaged catalogs. */
      readonly markMoves: MarkMoves;
      /** Whether only the continuous backup writes logs back into their files, after it has copied them. */
      readonly keepsLog: boolean;
      /** Not 0 while another service writes these files. */
      readonly follows: Follows;
    }
  | ({ readonly kind: 'postgres' } & PostgresSettings);

/** The catalogs that a thread opens, with the replicas for reads that may use them. */
export type ThreadPlace =
  | Extract<CatalogPlace, { kind: 'embedded' }>
  | ({ readonly kind: 'postgres' } & ReplicatedSettings);

/** Accepted bodies, for a thread that reads some of them. */
export const openPayloads = (catalogPlace: CatalogPlace): PayloadFiles =>
  catalogPlace.kind === 'embedded'
    ? createPayloadFiles(catalogPlace.payloads)
    : createPayloadRows(openPostgres(catalogPlace));

export interface Storage {
  readonly place: CatalogPlace;
  readonly database: Database;
  readonly payloads: PayloadFiles;
  /** This thread's connections, if catalogs are in PostgreSQL. */
  readonly postgres: Postgres | undefined;
  /**
   * Checks that the database answers.
   * @throws schema_moved once a newer program has migrated it
   */
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
  /**
   * Receives the progress of a start that waits for PostgreSQL without a limit. If undefined, the start waits for a
   * minute.
   */
  readonly waiting?: StartWaiting | undefined;
}): Promise<Storage> {
  return settings.database === undefined
    ? openEmbeddedStorage(settings.dataDir, settings)
    : openPostgresStorage(settings.database, settings);
}

/** Opens the service's own tables for a program that only reads them. Creates and migrates nothing. */
export function openControl(settings: {
  readonly database: PostgresSettings | undefined;
  readonly dataDir: string;
}): Pick<Database, 'read' | 'close'> {
  if (settings.database === undefined) return openControlDatabase(dataFolderAt(settings.dataDir).control);
  const postgres = openPostgres({ ...settings.database, connections: 1 });
  // This program writes nothing, so other processes need not find it.
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

/** How long a start waits for the database, which is often started together with the service. */
const START_MS = 60_000;
/** The check of the database must be faster than a readiness probe, which waits a second or two. */
const ANSWER_MS = 1_000;

/**
 * Opens a PostgreSQL database with the newest schema.
 * @throws Error with the database's message when it refuses all writes; not_ready when it is unreachable for a minute
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
