/** The composition: every room with what it needs from the others, in the order of the rooms. */
import { mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccess } from '../access/access.ts';
import { createScans } from '../catalog/browse/browse.ts';
import { type CatalogStore, createCatalog } from '../catalog/catalog.ts';
import { createIngest } from '../catalog/ingest/ingest.ts';
import { createBuildThreads } from '../channels/builds/builds.ts';
import { createChannels } from '../channels/channels.ts';
import type { Config } from '../config.ts';
import { describeRefusal } from '../http/answers/answers.ts';
import { createMetrics, createServer, type Server } from '../http/server/server.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { allowAddresses } from '../outbound/outbound.ts';
import { createPipelines } from '../pipelines/pipelines.ts';
import { createRunThreads } from '../pipelines/runs/runs.ts';
import { SOURCE_LIMITS } from '../pipelines/sources/sources.ts';
import { createProjects } from '../projects/projects.ts';
import { createRelations } from '../relations/relations.ts';
import type { SearchStore } from '../search/index-store/index-store.ts';
import { createProductSearch } from '../search/search.ts';
import { createStatistics } from '../statistics/statistics.ts';
import { createByteCache, makeDataFolder, type StartWaiting, type Storage } from '../storage/storage.ts';
import { type BudgetTerms, BufferPool } from '../storage/threads/threads.ts';
import { createSuggestions } from '../suggestions/suggestions.ts';
import { createTasks } from '../tasks/tasks.ts';
import { createWebhooks } from '../webhooks/webhooks.ts';
import { listGauges } from './gauges.ts';
import { createNaming } from './naming.ts';
import { createStartLog } from './start-log.ts';
import { watchStore } from './store-watch.ts';
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
/** A body of the largest size takes a second. */
const READING_JSON: BudgetTerms = { ms: 60_000, refusal: 'question_too_long' };

export interface AppOptions {
  readonly config: Config;
  /** Default: all, the only choice for the single process of an embedded store. */
  readonly role?: Role;
  /** Whether it follows the backup of another service. */
  readonly isStandby?: boolean;
  /** Whether it takes its address before it opens the store, so that a taken one leaves the store as it is. */
  readonly takesAddress?: boolean;
  /** Why an empty PostgreSQL database cannot be used; then nothing is created in it. */
  readonly emptyRefusal?: string | undefined;
  readonly clock?: Clock;
  /** Where the log goes; default standard output. */
  readonly logTo?: { write(line: string): void };
  /** Where the built console is; default console/dist. */
  readonly consoleFolder?: string;
  /** Receives the server before its routes are added: a command serves more routes, or describes them. */
  readonly onServer?: (server: Server) => void | Promise<void>;
  /** Replaces parts, so that tests can simulate e.g. a full disk. */
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

/** What the rooms offer each other and the app. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Opens the stores and creates all rooms; nothing runs yet. @param isReady whether requests are served, for the metrics */
export async function openParts(
  { clock = systemClock, logTo, replace = {}, ...options }: AppOptions,
  isReady: () => boolean,
) {
  const { config, role = 'all' } = options;
  // Settings are read before the store is opened, which migrates it.
  if (config.database === undefined) makeDataFolder(config.dataDir);
  const secrets = openSecrets(config);
  const waiting = reportWaiting(createStartLog({ logLevel: config.logLevel, logTo }));
  const opened = await openOwnStorage(config, { ...options, role, waiting });
  const { backup, door } = opened;
  const storage = replace.storage?.(opened) ?? opened;
  const { database, payloads, postgres } = storage;
  const buffers = replace.buffers ?? new BufferPool();
  const readers = openReaders(config, storage);

  const projects = createProjects({ database, clock });
  const access = createAccess({ database, clock, projects, postgres, oidc: config.oidc });
  const server = createServer(
    { ...config, ...(logTo && { logTo }) },
    { ...projects, ...access },
    (input, { owner: key, signal }) =>
      threads.parsers.ask('readJson', input, { key, terms: READING_JSON, signal }),
  );
  const logger = server.log as Logger;
  const watch = watchStore({ config, storage, logger });
  const base = { config, storage, database, payloads, readers, secrets, clock, logger, projects };

  const tasks = createTasks({
    ...base,
    describeRefusal,
    onEnded({ kind, status, projectId }) {
      metrics.countTask(kind, status as 'FINISHED');
      statistics.noteTask(projectId, status === 'FAILED');
      webhooks.wake(projectId);
    },
    onTrouble: ({ projectId }, code) => watch.note(code, projectId),
    refuseProject: watch.refuse,
    runs: role !== 'api',
    shown: () => readers?.catchUp(),
  });
  const statistics = createStatistics({ ...base, countProducts: (id) => catalog.countProducts(id) });

  const place = threadPlaceOf(config, storage);
  const threads = openThreads(config, place, {
    ...(backup && { guardWrite: backup.write }),
    accountOf: projects.accountOf,
    onReplaced: ({ question, key, ms, hasCaller }) =>
      logger.warn(
        { question, key, ms: Math.round(ms), hasCaller },
        'a thread did not stop in time and was replaced; its question was refused',
      ),
    onCatalogWritten(projectId) {
      webhooks.wake(projectId);
      channels.noteWrite(projectId);
    },
  });
  const cache = createByteCache(config.cacheMib * MIB);
  const { relationSeconds, uploadMaxMib } = config;
  const means = { threads, cache, buffers, relationSeconds };
  const stores = openStores(storage, readers, means);
  // The server waits for every request, and these may take long.
  server.addHook('preClose', () => threads.relationSurveyors.close());
  const { getSettings, getLocale, recallSettings, recallLocale } = projects;
  const relations = createRelations({
    ...base,
    store: stores.relations,
    cache,
    tasks,
    uploadMaxMib,
    getSettings,
    recallSettings,
    recallLocale,
  });
  const catalog = createCatalog({
    ...base,
    tasks,
    getSettings,
    getLocale,
    store: replace.store?.(stores.catalogs) ?? stores.catalogs,
    ingest: createIngest({ threads: threads.parsers, payloads, maxMib: uploadMaxMib, buffers }),
    scans: createScans(threads.scanners),
    onProductsWritten(projectId, counts) {
      search.follow(projectId);
      metrics.countWrittenProducts(counts);
      statistics.noteProducts(projectId, counts);
    },
    // An index in use takes in what is staged, so that little is missing when that is committed.
    onStaged: (projectId) => search.follow(projectId),
    onCommitRefused: (code) => metrics.countRefusedCommit(code),
    onOntologyFollowed: relations.follow,
    listNaming: createNaming(() => ({ projects, relations, channels, pipelines })),
  });

  const search = createProductSearch({
    logger,
    getSettings,
    getLocale,
    store: replace.searchStore?.(stores.search) ?? stores.search,
    searchers: threads.relationReaders,
    searchWaitMs: replace.searchWaitMs,
  });

  const rooms = { ...base, tasks, catalog, search, relations };
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
    threads: createRunThreads(threadEntry('pipeline-worker'), { place, sources }),
  });
  const channels = createChannels({
    ...rooms,
    threads: createBuildThreads(threadEntry('channel-worker'), { place, allow }),
    keyless: config.keyless,
  });
  const webhooks = createWebhooks({
    ...rooms,
    catalogs: catalog.store,
    sending: { allows: allowAddresses(allow), userAgent },
  });
  const suggestions = createSuggestions(rooms);
  const metrics = createMetrics({
    ...(storage.place.kind === 'embedded' && { dataDir: config.dataDir }),
    gauges: listGauges({ version, clock, storage, readers, watch, tasks, webhooks, backup }),
    listTaskKinds: () => tasks.listKinds(),
    isReady,
  });
  return {
    ...rooms,
    backup,
    door,
    version,
    server,
    threads,
    watch,
    metrics,
    access,
    statistics,
    pipelines,
    channels,
    webhooks,
    suggestions,
  };
}

const reportWaiting = (log: ReturnType<typeof createStartLog>): StartWaiting => ({
  onWait: (reason) =>
    log.warn({ reason }, 'the start waits for the database; it is retried at least every 5 s'),
  onWorkerAway: (reason) =>
    log.warn({ reason }, 'a worker of Citus does not answer: its projects are answered 503 until it does'),
  onContinue: () => log.info({}, 'the database answers, the start continues'),
});

/** An archive of gigabytes does not belong in /tmp, which is often memory; with PostgreSQL there may be no data folder. */
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
