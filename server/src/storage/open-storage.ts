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
