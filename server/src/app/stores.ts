/** Opens the store that the settings name, with its threads and replicas. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import type { CatalogSnapshots } from '../catalog/catalog.ts';
import { createPostgresCatalogStore, createPostgresSnapshots } from '../catalog/store/postgres/postgres.ts';
import { createSqliteCatalogStore, createSqliteSnapshots } from '../catalog/store/sqlite/sqlite.ts';
import type { Config } from '../config.ts';
import { type Door, openDoor } from '../http/server/server.ts';
import { openRowReads, relationBatchDerivation } from '../relations/relation-store/postgres/postgres.ts';
import { openFileReads, relationDerivation } from '../relations/relation-store/sqlite/sqlite.ts';
import { createThreadedRelations } from '../relations/relation-threads/relation-threads.ts';
import { createSearchStore } from '../search/index-store/index-store.ts';
import { dataFolderAt, lockDataFolder } from '../storage/folder/folder.ts';
import { refuseNewerFiles } from '../storage/migrations/migrations.ts';
import { createPayloadRows } from '../storage/payloads/payloads.ts';
import { openPostgres, type Postgres, Readers } from '../storage/postgres/postgres.ts';
import {
  createSecrets,
  readSecretKeyFile,
  type Secrets,
  secretKeyFileAt,
} from '../storage/secrets/secrets.ts';
import { CatalogFiles, refuseStrayCatalogs } from '../storage/sqlite/sqlite.ts';
import {
  type ByteCache,
  type Database,
  openStorage,
  type StartWaiting,
  type Storage,
  type ThreadPlace,
} from '../storage/storage.ts';
import {
  type BufferPool,
  createThreadPool,
  type PoolSettings,
  type QuestionPool,
  type ReplacedThread,
  type ThreadPool,
} from '../storage/threads/threads.ts';

import { type ContinuousBackup, openContinuousBackup } from './continuous-backup.ts';

/** The role of a process: answer requests, run tasks, or both. */
export type Role = 'api' | 'worker' | 'all';

/**
 * The store, with the thread of the continuous backup, and the socket that holds the address until the server listens.
 */
export type OwnStorage = Storage & { readonly backup?: ContinuousBackup; readonly door?: Door | undefined };

export interface StartTerms {
  readonly role: Role;
  readonly isStandby?: boolean | undefined;
  readonly takesAddress?: boolean | undefined;
  readonly emptyRefusal?: string | undefined;
  readonly waiting?: StartWaiting | undefined;
}

/**
 * Opens the store at a start. Everything that can refuse a start comes first: the lock, the address, the files and the
 * target of the backup. The migration comes last, so that an older program can still open the store after a failed
 * start.
 * @throws Error for newer files, and for a role other than `all` on an embedded store, which only one process can open
 */
export async function openOwnStorage(config: Config, terms: StartTerms): Promise<OwnStorage> {
  if (config.database !== undefined) return openShared(config, terms);
  const { role } = terms;
  if (role !== 'all') {
    throw new Error(`--role ${role} needs PostgreSQL: set RELATA_DATABASE_URL, or omit --role.`);
  }
  const lock = lockDataFolder(config.dataDir);
  const opened: (() => unknown)[] = [() => lock.close()];
  try {
    const door = await takeAddress(config, terms);
    opened.unshift(() => door?.close());
    return { ...(await openEmbedded(config, terms, opened)), door };
  } catch (error) {
    for (const close of opened) await close();
    throw error;
  }
}

/** @param opened functions that close the opened parts, in this order, if the start fails */
async function openEmbedded(
  config: Config,
  { isStandby = false }: StartTerms,
  opened: (() => unknown)[],
): Promise<OwnStorage> {
  const folder = dataFolderAt(config.dataDir);
  refuseNewerFiles(folder);
  refuseStrayCatalogs(folder);
  const isNew = !existsSync(folder.control);
  const backup =
    config.backup.url === undefined
      ? undefined
      : await openContinuousBackup(config, threadEntry('backup-worker'), isStandby);
  opened.unshift(() => backup?.stop());
  if (!isNew) await backup?.begin();
  const how = backup && { keepsLog: true, follows: backup.follows };
  const storage = await openStorage({ ...config, ...how });
  opened.unshift(() => storage.close());
  // A new directory has nothing to send before its control database exists, and no older program has used it.
  if (isNew) await backup?.begin();
  return {
    ...storage,
    ...(backup && { backup, database: guardWrites(storage.database, backup) }),
    async close() {
      for (const close of opened) await close();
    },
  };
}

async function openShared(config: Config, terms: StartTerms): Promise<OwnStorage> {
  const { emptyRefusal, waiting } = terms;
  const door = await takeAddress(config, terms);
  try {
    return { ...(await openStorage({ ...config, emptyRefusal, waiting })), door };
  } catch (error) {
    await door?.close();
    throw error;
  }
}

const takeAddress = (config: Config, { takesAddress = false }: StartTerms) =>
  takesAddress ? openDoor(config) : undefined;

/** Guards each write, because another service may replace this one as the writer. */
const guardWrites = (database: Database, backup: ContinuousBackup): Database => ({
  ...database,
  write: (of, work) => backup.write(() => database.write(of, work)),
});

/**
 * Opens the keys of the settings, followed by those of the data directory, so that a service can change from one to
 * the other. Processes on PostgreSQL need the same keys, so they do not create one.
 * @throws Error with the name of the setting or file that cannot be read
 */
export function openSecrets({ secretKeys, secretKeysFile, database, dataDir }: Config): Secrets {
  const given = [...secretKeys, ...readGivenKeys(secretKeysFile)];
  if (database !== undefined) return createSecrets({ keys: given });
  const { keys, makeKey } = secretKeyFileAt(dataFolderAt(dataDir).secretKeys);
  return createSecrets({ keys: [...given, ...keys], makeKey });
}

/** @throws Error with the name of the setting */
function readGivenKeys(path: string | undefined): Uint8Array[] {
  try {
    return path === undefined ? [] : readSecretKeyFile(path);
  } catch (error) {
    // Omits the cause, so that the command line shows one line without a stack.
    throw new Error(`RELATA_SECRET_KEYS_FILE: ${(error as Error).message}`);
  }
}

/** @returns undefined for the embedded store */
export const openReaders = ({ database }: Config, { postgres }: Storage): Readers | undefined =>
  database && postgres && new Readers(postgres, database);

/** The connections of a thread: one for reads or writes, and one for concurrent queries. */
const THREAD_CONNECTIONS = 2;

/** @returns the entry point of a thread */
export const threadEntry = (name: string) =>
  new URL(`./threads/${name}${extname(import.meta.url)}`, import.meta.url);

/** @returns the settings with which a thread opens the store */
export function threadPlaceOf({ database }: Config, { place }: Storage): ThreadPlace {
  if (place.kind === 'embedded') return place;
  return { replicaUrls: [], replicaMaxDelayMs: 0, ...database, ...place, connections: THREAD_CONNECTIONS };
}

/** Callbacks of the threads. */
interface ThreadUses {
  accountOf(projectId: number): number;
  onReplaced(replaced: ReplacedThread): void;
  onCatalogWritten(projectId: number): void;
  readonly guardWrite?: ContinuousBackup['write'];
}

/** Reports the project of each operation that has ended. A failed operation counts, because it may have committed. */
const tellWrites = (
  threads: ThreadPool,
  { onCatalogWritten, guardWrite = (change) => change() }: ThreadUses,
): ThreadPool => ({
  start: () => threads.start(),
  ask: (question, input, options) => threads.ask(question, input, options),
  close: () => threads.close(),
  end: () => threads.end(),
  async run<Output>(...[operation, input, options]: Parameters<ThreadPool['run']>): Promise<Output> {
    try {
      return await guardWrite(() => threads.run<Output>(operation, input, options));
    } finally {
      if (typeof options?.key === 'number') onCatalogWritten(options.key);
    }
  },
});

/**
 * A full update needs 46 MiB less than with the default and no more processor time, because batches are in shared
 * memory.
 */
const UPDATE_YOUNG_MIB = 12;

/**
 * A question that needs more is refused. Caching 64 MiB of catalog columns for trying rules takes about four times as
 * much memory.
 */
const QUESTION_HEAP_MIB = 1_024;
/**
 * By default V8 keeps up to 96 MiB for young values in each thread, even while the thread waits. Scans and long answers
 * read each product once, so they need less than questions about relations.
 */
const YOUNG_MIB = { question: 48, scan: 16 };

/** Opens the threads that catalogs and relations share. */
export function openThreads(
  { parserThreads, writerThreads, readerThreads }: Config,
  workerData: ThreadPlace,
  uses: ThreadUses,
) {
  const { accountOf, onReplaced } = uses;
  const open = (name: string, size: number, settings: Partial<PoolSettings> = {}) =>
    createThreadPool(threadEntry(name), { size, ...settings, workerData });
  const young = { youngMib: UPDATE_YOUNG_MIB };
  const questions = { onReplaced, heapMib: QUESTION_HEAP_MIB, youngMib: YOUNG_MIB.question };
  const scans = { ...questions, youngMib: YOUNG_MIB.scan };
  const openQuestions = (name: string, size: number, settings: Partial<PoolSettings> = {}): QuestionPool =>
    open(name, size, { ...questions, accountOf, ...settings });
  return {
    parsers: open('ingest-worker', parserThreads, { ...young, onReplaced }),
    writers: tellWrites(open('store-worker', writerThreads, young), uses),
    scanners: openQuestions('scan-worker', 1, scans),
    // One more than an account can use, so that no account makes the others wait.
    relationReaders: openQuestions('relation-worker', readerThreads + 1, { share: readerThreads }),
    // A preview may take minutes, so an account can use only one of the two threads.
    relationSurveyors: openQuestions('relation-worker', 2, { share: 1 }),
    // Makes one long answer at a time to bound the memory. Other work does not use this thread.
    makers: open('scan-worker', 1, scans) as QuestionPool,
  };
}

/** Creates the stores of catalogs, relations and search on the database in use. */
export function openStores(
  { place, postgres }: Storage,
  readers: Readers | undefined,
  {
    threads: { parsers, writers, makers, relationReaders, relationSurveyors },
    relationSeconds,
    ...memory
  }: {
    readonly threads: ReturnType<typeof openThreads>;
    readonly cache: ByteCache;
    readonly buffers: BufferPool;
    readonly relationSeconds: number;
  },
) {
  const lookups = { ...memory, makers };
  const relationMs = relationSeconds * 1_000;
  const questions = { writers, readers: relationReaders, surveyors: relationSurveyors, relationMs };
  const search = createSearchStore({ parsers, writers });
  if (place.kind === 'embedded') {
    const files = new CatalogFiles(place.catalogs, place);
    return {
      catalogs: createSqliteCatalogStore({ files, writers, readers: parsers, ...lookups }),
      relations: createThreadedRelations(openFileReads(files), questions),
      search,
    };
  }
  assert(postgres, 'a store on PostgreSQL has connections to it');
  const reached = { postgres, readPostgres: () => readers?.pick() ?? postgres, writers };
  return {
    catalogs: createPostgresCatalogStore({ ...reached, ...lookups }),
    relations: createThreadedRelations(openRowReads(reached), questions),
    search,
  };
}

/** Opens snapshots for a thread, which reads catalogs at one version and derives the values that relations need. */
export function openSnapshots(location: ThreadPlace): { snapshots: CatalogSnapshots; files?: CatalogFiles } {
  if (location.kind === 'postgres') return { snapshots: snapshotsOfRows(openPostgres(location)) };
  const files = new CatalogFiles(location.catalogs, location);
  return { files, snapshots: snapshotsOfFiles(files, location) };
}

export const snapshotsOfFiles = (
  files: CatalogFiles,
  { payloads }: Extract<ThreadPlace, { kind: 'embedded' }>,
): CatalogSnapshots => createSqliteSnapshots({ files, payloads, derivation: relationDerivation() });

/** @param pick chooses the database for each read */
export function snapshotsOfRows(postgres: Postgres, pick = () => postgres): CatalogSnapshots {
  const { read: readPayload } = createPayloadRows(postgres);
  const derivation = relationBatchDerivation();
  const picked: Pick<Postgres, 'snapshot'> = { snapshot: (work, signal) => pick().snapshot(work, signal) };
  return createPostgresSnapshots({ postgres: picked, readPayload, derivation });
}
