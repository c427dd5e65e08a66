/**
 * The composition root: the only file that knows every part. Parts get what they need as parameters; nothing is
 * looked up by name.
 */

import { mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccess } from '../access/access.ts';
import { createScans } from '../catalog/browse/browse.ts';
import { type Catalog, type CatalogStore, createCatalog } from '../catalog/catalog.ts';
import { createIngest } from '../catalog/ingest/ingest.ts';
import { createBuildThreads } from '../channels/builds/builds.ts';
import { type Channels, createChannels } from '../channels/channels.ts';
import type { Config } from '../config.ts';
import { describeRefusal } from '../http/answers/answers.ts';
import { describeServer, documentServer } from '../http/docs/docs.ts';
import { addHealthRoutes } from '../http/server/health-routes.ts';
import {
  createMetrics,
  createServer,
  listenOn,
  type MeasuredRequest,
  type MetricSources,
  measureRequests,
  type Server,
  serveMetrics,
} from '../http/server/server.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import type { FailureCode } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { allowAddresses } from '../outbound/outbound.ts';
import { createPipelines, type Pipelines } from '../pipelines/pipelines.ts';
import { createRunThreads } from '../pipelines/runs/runs.ts';
import { SOURCE_LIMITS, type SourceSettings } from '../pipelines/sources/sources.ts';
import { createProjects, type Projects } from '../projects/projects.ts';
import { createRelations, type Relations } from '../relations/relations.ts';
import { createStatistics, type Statistics } from '../statistics/statistics.ts';
import type { Readers } from '../storage/postgres/postgres.ts';
import type { Secrets } from '../storage/secrets/secrets.ts';
import type { Storage } from '../storage/storage.ts';
import { BufferPool } from '../storage/threads/threads.ts';
import { createSuggestions, type Suggestions } from '../suggestions/suggestions.ts';
import { createTasks, type Task, type Tasks } from '../tasks/tasks.ts';
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts';
import { addRoutes } from './app-routes.ts';
import { listGauges } from './gauges.ts';
import { watchStore } from './store-watch.ts';
import {
  openOwnStorage,
  openReaders,
  openSecrets,
  openStores,
  type Role,
  threadEntry,
  threadPlaceOf,
} from './stores.ts';
import { openTraces, type Traces } from './traces.ts';
import { startUpkeep, type UpkeepParts } from './upkeep.ts';

const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

export interface AppOptions {
  readonly config: Config;
  /** Default: all, as the one process of an embedded store must. */
  readonly role?: Role;
  readonly clock?: Clock;
  /** Where the log goes; default standard output. */
  readonly logTo?: { write(line: string): void };
  /** Where the built console is; default console/dist. */
  readonly consoleFolder?: string;
  /** What a command serves beside the service. */
  readonly addMore?: (server: Server) => void;
  /** Stands in front of the disk: tests put a full one there. */
  readonly replace?: Replacements;
}

export interface Replacements {
  storage?(real: Storage): Storage;
  store?(real: CatalogStore): CatalogStore;
  readonly buffers?: BufferPool;
  /** In place of the 10 s that a search waits for its index. */
  readonly searchWaitMs?: number;
}

export { refuseTakenAddress } from '../http/server/server.ts';
export { baseUrlOf } from './app-routes.ts';
export { openSecrets, type Role } from './stores.ts';

export type App = Awaited<ReturnType<typeof createApp>>;

/** Builds the service on its store; `start` makes it run and serve. */
export async function createApp({
  config,
  role = 'all',
  clock = systemClock,
  logTo,
  replace = {},
  ...served
}: AppOptions) {
  const opened = await openOwnStorage(config, role);
  const storage = replace.storage?.(opened) ?? opened;
  const { database, postgres } = storage;
  const projects = createProjects({ database, clock });
  const access = createAccess({ database, clock, projects, postgres, oidc: config.oidc });
  let isReady = false;
  let traces: Traces | undefined;

  const server = createServer(
    { ...config, ...(logTo && { logTo }) },
    { ...projects, ...access },
    (input, { owner: key, signal }) =>
      threads.parsers.run('readJson', input, { key, unordered: true, signal }),
  );
  const logger = server.log as Logger;
  const readers = openReaders(config, storage);
  const watch = watchStore({ config, storage, logger });
  const metrics = openMetrics({
    ...{ config, storage, isReady: () => isReady },
    gauges: listGauges({
      ...{ version: VERSION, clock, storage, readers, watch },
      tasks: () => tasks,
      webhooks: () => webhooks,
    }),
    listTaskKinds: () => tasks.listKinds(),
  });
  const tasks = createTasks({
    ...{ database, clock, logger, describeRefusal },
    onEnded({ kind, status, projectId }: Task) {
      metrics.countTask(kind, status as 'FINISHED');
      statistics.noteTask(projectId, status === 'FAILED');
      webhooks.wake(projectId);
    },
    onTrouble: ({ projectId }, code) => watch.note(code, projectId),
    refuseProject: watch.refuse,
    runs: role !== 'api',
    shown: () => readers?.catchUp(),
  });
  const onCatalogWritten = (projectId: number) => {
    webhooks.wake(projectId);
    channels.noteWrite(projectId);
  };
  const base = {
    ...{ config, storage, secrets: openSecrets(config), readers, clock, logger, replace, onCatalogWritten },
  };
  const countProducts = (id: number) => catalog.countProducts(id);
  const statistics = createStatistics({ ...base, database, projects, countProducts });
  const { catalog, relations, threads } = openCatalog(base, { projects, tasks, metrics, statistics, server });
  const { pipelines, channels, schedules } = openFeeds({ ...base, projects, tasks, catalog, relations });
  const webhooks = openWebhooks({ ...base, projects, catalog }, VERSION);
  const suggestions = openSuggestions({ ...base, projects, catalog, relations });

  await documentServer(server, VERSION);
  const noteFailure = ({ reason, projectId }: MeasuredRequest) =>
    watch.note(reason as FailureCode | undefined, projectId);
  measureRequests(
    server,
    [metrics.measureRequest, statistics.noteRequest, noteFailure],
    statistics.keepRequest,
  );
  addHealthRoutes(server, async () => isReady && (await storage.isReachable()), watch.listProblems);
  serveMetrics(server, metrics);
  const parts = { projects, access, statistics, tasks, catalog, relations, pipelines, channels, webhooks };
  if (role !== 'worker') addRoutes(server, { ...base, ...parts, ...served, suggestions, version: VERSION });
  await server.ready();

  const upkeep = startUpkeep({ ...storage, ...base, ...parts });

  return {
    server,
    ...parts,
    watch,
    /** The OpenAPI document of the routes. */
    describe: () => describeServer(server),
    /** Takes over what a former process left, then serves. @returns the address */
    async start(): Promise<string> {
      traces = await openTraces(config.traces, { logger, version: VERSION });
      await beginWork(role, { ...parts, schedules, upkeep });
      watch.start();
      const address = await listenOn(server, config);
      isReady = true;
      return address;
    },
    /** Starts the threads of the first update and the first related products: they load for a while. */
    startThreads: threads.start,
    /** Stops accepting, finishes requests in flight, hands running tasks back. */
    async stop(): Promise<void> {
      isReady = false;
      // Those who wait for tasks are answered now; the server waits for every request.
      tasks.watch.close();
      await server.close();
      upkeep.stop();
      const used = [watch, pipelines, channels, statistics, catalog, threads, access];
      await closeAll([schedules, tasks, webhooks, ...used], logger);
      await readers?.close();
      await storage.close();
      await traces?.close();
    },
  };
}

interface Workers extends Pick<UpkeepParts, 'catalog' | 'channels' | 'tasks' | 'webhooks'> {
  readonly schedules: { start(): void };
  readonly upkeep: ReturnType<typeof startUpkeep>;
}

/** Takes over what a former process left. */
async function beginWork(
  role: Role,
  { catalog, channels, tasks, webhooks, schedules, upkeep }: Workers,
): Promise<void> {
  await catalog.start({ takesBatches: role !== 'worker' });
  await upkeep.removeOrphans();
  await upkeep.sealSecrets();
  await tasks.start();
  channels.changes.start();
  if (role !== 'api') {
    schedules.start();
    await webhooks.start();
  }
  upkeep.start();
}

const openMetrics = ({
  config,
  storage,
  ...sources
}: Pick<Base, 'config' | 'storage'> & Omit<MetricSources, 'dataDir'>) =>
  createMetrics({ ...(storage.place.kind === 'embedded' && { dataDir: config.dataDir }), ...sources });

/** A database that is away must not keep the process from ending; leases run out by themselves. */
async function closeAll(parts: readonly { close(): Promise<void> }[], logger: Logger): Promise<void> {
  for (const part of parts) {
    await part.close().catch((error: unknown) => logger.warn({ err: error }, 'stopping was not complete'));
  }
}

/** What feeds catalogs, and what catalogs feed. */
function openFeeds(needs: PipelineNeeds) {
  const pipelines = openPipelines(needs, VERSION);
  const channels = openChannels(needs);
  const both = [pipelines.schedule, channels.schedule];
  const schedules = {
    start() {
      for (const schedule of both) schedule.start();
    },
    async close() {
      for (const watch of [...both, channels.changes]) await watch.close();
    },
  };
  return { pipelines, channels, schedules };
}

interface Base {
  readonly config: Config;
  readonly storage: Storage;
  readonly readers: Readers | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly replace: Replacements;
  /** Told of each write of a catalog. */
  onCatalogWritten(projectId: number): void;
}

interface CatalogNeeds {
  readonly projects: Projects;
  readonly tasks: ReturnType<typeof createTasks>;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly statistics: Statistics;
  readonly server: Server;
}

/** The catalog with its threads: those that parse and those that write. */
function openCatalog(base: Base, { projects, tasks, metrics, statistics, server }: CatalogNeeds) {
  const { config, storage, clock, logger, replace } = base;
  const { database, payloads } = storage;
  const buffers = replace.buffers ?? new BufferPool();
  const { catalogStore, relationStore, threads, cache } = openStores({
    ...{ ...base, buffers },
    accountOf: projects.accountOf,
  });
  const store = replace.store?.(catalogStore) ?? catalogStore;
  // The server waits for every request, and these may take long.
  server.addHook('preClose', () => threads.relationSurveyors.close());
  const relations = createRelations({
    ...{ store: relationStore, cache },
    tasks,
    payloads,
    uploadMaxMib: config.uploadMaxMib,
    clock,
    logger,
    getSettings: projects.getSettings,
    recallSettings: projects.recallSettings,
  });
  const catalog = createCatalog({
    database,
    payloads,
    store,
    tasks,
    clock,
    logger,
    ingest: createIngest({
      ...{ threads: threads.parsers, payloads, maxMib: config.uploadMaxMib, buffers },
    }),
    scans: createScans(threads.scanners),
    searchers: threads.relationReaders,
    searchWaitMs: replace.searchWaitMs,
    getSettings: projects.getSettings,
    getLocale: projects.getLocale,
    onProductsWritten(projectId, counts) {
      metrics.countWrittenProducts(counts);
      statistics.noteProducts(projectId, counts);
    },
    onCommitRefused: metrics.countRefusedCommit,
    onOntologyFollowed: relations.follow,
  });
  return {
    catalog,
    relations,
    threads: {
      parsers: threads.parsers,
      start() {
        for (const pool of [threads.writers, threads.parsers, threads.relationReaders]) pool.start();
      },
      async close() {
        for (const pool of Object.values(threads)) await pool.close();
      },
    },
  };
}

/** The composition of channels: their builds with the threads that make them. */

function openChannels(needs: PipelineNeeds): Channels {
  const { config, storage, secrets, clock, logger, projects, tasks, catalog, relations } = needs;
  const { database, payloads } = storage;
  const place = threadPlaceOf(config, storage);
  const threads = createBuildThreads(threadEntry('channel-worker'), { place, allow: [...config.fetchAllow] });
  const channels = createChannels({
    ...{ database, payloads, secrets, clock, logger, tasks, threads },
    ...{ catalog, relations, projects },
  });
  projects.whenGone(async (tx, { type, id }) => {
    if (type === 'project') await channels.removeOf(tx, id);
  });
  return channels;
}

interface SuggestionNeeds {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly projects: Projects;
  readonly catalog: Catalog;
  readonly relations: Relations;
}

function openSuggestions({ storage, projects, ...needs }: SuggestionNeeds): Suggestions {
  const suggestions = createSuggestions({ ...needs, projects, database: storage.database });
  projects.whenGone(async (tx, { type, id }) => {
    if (type === 'project') await suggestions.removeOf(tx, id);
  });
  return suggestions;
}

interface WebhookNeeds {
  readonly config: Config;
  readonly storage: Storage;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly projects: Projects;
  readonly catalog: Catalog;
}

/** @param version of the service, sent to endpoints */
function openWebhooks(needs: WebhookNeeds, version: string): Webhooks {
  const { config, storage, secrets, clock, logger, projects, catalog } = needs;
  return createWebhooks({
    ...{ database: storage.database, secrets, clock, logger, projects, catalogs: catalog.store },
    sending: { allows: allowAddresses(config.fetchAllow), userAgent: `relata/${version}` },
  });
}

/** The composition of pipelines: their runs with the threads that read. */

const MIB = 1024 * 1024;

interface PipelineNeeds {
  readonly config: Config;
  readonly storage: Storage;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly projects: Projects;
  readonly tasks: Tasks;
  readonly catalog: Catalog;
  readonly relations: Relations;
}

/** @param version of the service, sent to sources */
function openPipelines(needs: PipelineNeeds, version: string): Pipelines {
  const { config, storage, secrets, clock, logger, projects, tasks, catalog, relations } = needs;
  const { database, payloads } = storage;
  const sources = describeSources(config, version);
  const threads = createRunThreads(threadEntry('pipeline-worker'), {
    place: threadPlaceOf(config, storage),
    sources,
  });
  const pipelines = createPipelines({
    ...{ database, payloads, secrets, clock, logger, tasks, threads },
    ...{ catalog, relations, projects },
  });
  projects.whenGone(async (tx, { type, id }) => {
    if (type === 'project') await pipelines.removeOf(tx, id);
  });
  return pipelines;
}

function describeSources(config: Config, version: string): SourceSettings {
  const maxPackedBytes = config.sourceMaxMib * MIB;
  return {
    ...SOURCE_LIMITS,
    importDir: config.importDir,
    tempDir: makeTempFolder(config),
    allow: [...config.fetchAllow],
    userAgent: `relata/${version}`,
    maxPackedBytes,
    maxUnpackedBytes: 2 * maxPackedBytes,
  };
}

/** An archive of gigabytes does not belong into what is often memory; with PostgreSQL there may be no such folder. */
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
