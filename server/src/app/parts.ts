/** Creates every room with its dependencies, in the order of the rooms. */
import { mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccess } from '../access/access.ts';
import { createScans } from '../catalog/browse/browse.ts';
import { type Catalog, type CatalogStore, createCatalog } from '../catalog/catalog.ts';
import { Ingest } from '../catalog/ingest/ingest.ts';
import { createBuildThreads } from '../channels/builds/builds.ts';
import { type Channels, createChannels } from '../channels/channels.ts';
import type { Config } from '../config.ts';
import { describeRefusal } from '../http/answers/answers.ts';
import { createMetrics, createServer, type Metrics, type Server } from '../http/server/server.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { allowAddresses } from '../outbound/outbound.ts';
import { createPipelines, type Pipelines } from '../pipelines/pipelines.ts';
import { createRunThreads } from '../pipelines/runs/runs.ts';
import { SOURCE_LIMITS } from '../pipelines/sources/sources.ts';
import { createProjects } from '../projects/projects.ts';
import { createRelations, type Relations } from '../relations/relations.ts';
import type { SearchStore } from '../search/index-store/index-store.ts';
import { ProductSearch } from '../search/search.ts';
import { createStatistics, type Statistics } from '../statistics/statistics.ts';
import { makeDataFolder } from '../storage/folder/folder.ts';
import { createByteCache, type StartWaiting, type Storage } from '../storage/storage.ts';
import { type BudgetTerms, BufferPool } from '../storage/threads/threads.ts';
import { createSuggestions } from '../suggestions/suggestions.ts';
import { createTasks, type Tasks } from '../tasks/tasks.ts';
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts';
import type { ContinuousBackup } from './continuous-backup.ts';
import { listGauges } from './gauges.ts';
import { createNaming } from './naming.ts';
import { createStartLog } from './start-log.ts';
import { type StoreWatch, watchStore } from './store-watch.ts';
import {
  openOwnStorage,
  openReaders,
  openSecrets,
  openStores,
  openThreads,
  type Role,
  threadEntry,
  threadPlaceOf,
} from './stores.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const MIB = 1024 * 1024;
/** Reading a body of the maximum size takes a second. */
const READING_JSON: BudgetTerms = { ms: 60_000, refusal: 'question_too_long' };

export interface AppOptions {
  readonly config: Config;
  /** Default: `all`, which is the only role for an embedded store. */
  readonly role?: Role;
  /** Whether the service follows the backup of another service. */
  readonly isStandby?: boolean;
  /** Whether to bind the address before the store is opened, so that a used address leaves the store unchanged. */
  readonly takesAddress?: boolean;
  /** The error for an empty PostgreSQL database, which then stays empty; undefined: the start creates its tables. */
  readonly emptyRefusal?: string | undefined;
  readonly clock?: Clock;
  /** The destination of the log; default: standard output. */
  readonly logTo?: { write(line: string): void };
  /** The folder of the built console; default: console/dist. */
  readonly consoleFolder?: string;
  /** Receives the server before its routes are added, so that a command can add routes or describe them. */
  readonly onServer?: (server: Server) => void | Promise<void>;
  /** Replaces parts, so that tests can simulate faults such as a full disk. */
  readonly replace?: Replacements;
}

export interface Replacements {
  storage?(real: Storage): Storage;
  store?(real: CatalogStore): CatalogStore;
  searchStore?(real: SearchStore): SearchStore;
  readonly buffers?: BufferPool;
  /** Replaces the 10 s that a search waits for its index. */
  readonly searchWaitMs?: number;
}

/** The rooms and the parts that they share. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Rooms that are created late. Earlier rooms call them, but only after every room is created. */
interface LaterRooms {
  readonly threads: ReturnType<typeof openThreads>;
  readonly statistics: Statistics;
  readonly catalog: Catalog;
  readonly search: ProductSearch;
  readonly relations: Relations;
  readonly pipelines: Pipelines;
  readonly channels: Channels;
  readonly webhooks: Webhooks;
  readonly metrics: Metrics;
}

type Later = () => LaterRooms;

/**
 * Opens the stores and creates all rooms without starting them.
 * @param isReady whether requests are served, for the metrics
 */
export async function openParts(options: AppOptions, isReady: () => boolean) {
  const later: Later = () => created;
  const { backup, door, ...store } = await openStore(options);
  const { access, server, watch, ...serving } = createServing(store, options, later);
  const base = { ...store, ...serving };
  const { role = 'all' } = options;
  const tasks = createTaskRoom(base, { role, watch }, later);
  const statistics = createStatistics({ ...base, countProducts: (id) => later().catalog.countProducts(id) });
  const threads = openCatalogThreads(base, backup, later);
  // The server waits for every request, and those in this pool may take minutes.
  server.addHook('preClose', () => threads.relationSurveyors.close());
  const catalogs = createCatalogRooms({ ...base, tasks, threads }, options, later);
  const rooms = { ...base, tasks, ...catalogs };
  const exchange = createExchangeRooms(rooms);
  const { storage, readers, clock } = base;
  const metrics = createMetrics({
    ...(storage.place.kind === 'embedded' && { dataDir: options.config.dataDir }),
    gauges: listGauges({
      version,
      clock,
      storage,
      readers,
      watch,
      tasks,
      webhooks: exchange.webhooks,
      backup,
    }),
    listTaskKinds: () => tasks.listKinds(),
    isReady,
  });
  const created: LaterRooms = { threads, statistics, metrics, ...catalogs, ...exchange };
  return {
    ...rooms,
    ...exchange,
    backup,
    door,
    version,
    server,
    threads,
    watch,
    metrics,
    access,
    statistics,
  };
}

type OpenedStore = Omit<Awaited<ReturnType<typeof openStore>>, 'backup' | 'door'>;

/** Opens the store that the settings name, with its keys and replicas. */
async function openStore({ clock = systemClock, logTo, replace, ...options }: AppOptions) {
  const { config, role = 'all' } = options;
  // Reads the settings first, because opening the store migrates it.
  if (config.database === undefined) makeDataFolder(config.dataDir);
  const secrets = openSecrets(config);
  const waiting = reportWaiting(createStartLog({ logLevel: config.logLevel, logTo }));
  const opened = await openOwnStorage(config, { ...options, role, waiting });
  const { backup, door } = opened;
  const storage = replace?.storage?.(opened) ?? opened;
  const { database, payloads } = storage;
  const readers = openReaders(config, storage);
  return { config, storage, database, payloads, readers, secrets, clock, backup, door };
}

/**
 * Creates the server, the rooms that identify callers and their projects, and the logger, which belongs to the server.
 */
function createServing(store: OpenedStore, { logTo }: AppOptions, later: Later) {
  const { config, storage, database, clock } = store;
  const projects = createProjects({ database, clock });
  const { postgres } = storage;
  const access = createAccess({ database, clock, projects, postgres, oidc: config.oidc });
  const server = createServer(
    { ...config, ...(logTo && { logTo }) },
    { ...projects, ...access },
    (input, { owner: key, signal }) =>
      later().threads.parsers.ask('readJson', input, { key, terms: READING_JSON, signal }),
  );
  const logger = server.log as Logger;
  return { projects, access, server, logger, watch: watchStore({ config, storage, logger }) };
}

type RoomBase = OpenedStore & Pick<ReturnType<typeof createServing>, 'projects' | 'logger'>;

function createTaskRoom(
  base: RoomBase,
  { role, watch }: { readonly role: Role; readonly watch: StoreWatch },
  later: Later,
): Tasks {
  return createTasks({
    ...base,
    describeRefusal,
    onEnded({ kind, status, projectId }) {
      const { metrics, statistics, webhooks } = later();
      metrics.countTask(kind, status as 'FINISHED');
      statistics.noteTask(projectId, status === 'FAILED');
      webhooks.wake(projectId);
    },
    onTrouble: ({ projectId }, code) => watch.note(code, projectId),
    refuseProject: watch.refuse,
    runs: role !== 'api',
    shown: () => base.readers?.catchUp(),
  });
}

/** Opens the threads that catalogs and relations share. */
function openCatalogThreads(base: RoomBase, backup: ContinuousBackup | undefined, later: Later) {
  const { config, storage, logger, projects } = base;
  return openThreads(config, threadPlaceOf(config, storage), {
    ...(backup && { guardWrite: (change) => backup.write(change) }),
    accountOf: projects.accountOf,
    onReplaced: ({ question, key, ms, hasCaller }) =>
      logger.warn(
        { question, ...(key > 0 ? { project: key } : { account: -key }), ms: Math.round(ms), hasCaller },
        'a thread did not stop in time and was replaced; its question was refused',
      ),
    onCatalogWritten(projectId) {
      const { channels, webhooks } = later();
      webhooks.wake(projectId);
      channels.noteWrite(projectId);
    },
  });
}

interface CatalogBase extends RoomBase {
  readonly tasks: Tasks;
  readonly threads: ReturnType<typeof openThreads>;
}

/** Creates catalogs, the relations between their products, and search. */
function createCatalogRooms(base: CatalogBase, { replace = {} }: AppOptions, later: Later) {
  const { threads, ...shared } = base;
  const { config, storage, payloads, readers, logger, projects } = shared;
  const { relationSeconds, uploadMaxMib } = config;
  const cache = createByteCache(config.cacheMib * MIB);
  const buffers = replace.buffers ?? new BufferPool();
  const stores = openStores(storage, readers, { threads, cache, buffers, relationSeconds });
  const { getSettings, getLocale, recallSettings, recallLocale } = projects;
  const relations = createRelations({
    ...shared,
    store: stores.relations,
    cache,
    uploadMaxMib,
    getSettings,
    recallSettings,
    recallLocale,
  });
  const catalog = createCatalog({
    ...shared,
    getSettings,
    getLocale,
    store: replace.store?.(stores.catalogs) ?? stores.catalogs,
    ingest: new Ingest({ threads: threads.parsers, payloads, maxMib: uploadMaxMib, buffers }),
    scans: createScans(threads.scanners),
    onProductsWritten(projectId, counts) {
      const { metrics, search, statistics } = later();
      search.follow(projectId);
      metrics.countWrittenProducts(counts);
      statistics.noteProducts(projectId, counts);
    },
    // An index in use adds staged products, so that few are missing after the commit.
    onStaged: (projectId) => later().search.follow(projectId),
    onCommitRefused: (code) => later().metrics.countRefusedCommit(code),
    onOntologyFollowed: relations.follow,
    listNaming: createNaming(() => ({ projects, ...later() })),
  });
  const search = new ProductSearch({
    logger,
    getSettings,
    getLocale,
    store: replace.searchStore?.(stores.search) ?? stores.search,
    searchers: threads.relationReaders,
    searchWaitMs: replace.searchWaitMs,
  });
  return { relations, catalog, search };
}

type CatalogRooms = RoomBase & ReturnType<typeof createCatalogRooms> & { readonly tasks: Tasks };

/** Creates pipelines, channels and webhooks, which exchange data with other services, and suggestions. */
function createExchangeRooms(rooms: CatalogRooms) {
  const { config, storage, catalog } = rooms;
  const threadPlace = threadPlaceOf(config, storage);
  const allow = [...config.fetchAllow];
  const userAgent = `relata/${version}`;
  const maxPackedBytes = config.sourceMaxMib * MIB;
  const sources = {
    ...SOURCE_LIMITS,
    importDir: config.importDir,
    tempDir: makeTempFolder(config),
    allow,
    userAgent,
    maxPackedBytes,
    maxUnpackedBytes: 2 * maxPackedBytes,
  };
  const pipelines = createPipelines({
    ...rooms,
    threads: createRunThreads(threadEntry('pipeline-worker'), { place: threadPlace, sources }),
  });
  const channels = createChannels({
    ...rooms,
    threads: createBuildThreads(threadEntry('channel-worker'), { place: threadPlace, allow }),
    keyless: config.keyless,
  });
  const webhooks = createWebhooks({
    ...rooms,
    catalogs: catalog.store,
    sending: { allows: allowAddresses(allow), userAgent },
  });
  return { pipelines, channels, webhooks, suggestions: createSuggestions(rooms) };
}

const reportWaiting = (log: ReturnType<typeof createStartLog>): StartWaiting => ({
  onWait: (reason) => log.warn({ reason }, 'the start waits for the database; retrying at least every 5 s'),
  onWorkerAway: (reason) =>
    log.warn(
      { reason },
      'a worker of Citus does not answer; requests for its projects are answered 503 until it does',
    ),
  onContinue: () => log.info({}, 'the database answers; the start continues'),
});

/**
 * Makes a folder for archives of gigabytes in the data folder, because /tmp is often in memory. A service on PostgreSQL
 * uses /tmp if its data folder cannot be created.
 */
function makeTempFolder({ dataDir, database }: Config): string {
  const folder = join(dataDir, 'temp');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (error) {
    if (database === undefined) throw error;
    return tmpdir();
  }
}
