/**
 * The composition root: the only file that knows every part. Parts get what they need as parameters; nothing is
 * looked up by name.
 */
import { readFileSync } from 'node:fs';
import { createAccess } from './access/access.ts';
import { apiKeyRoutes } from './access/api-key-routes.ts';
import { type Catalog, type CatalogStore, createCatalog, createIngest } from './catalog/catalog.ts';
import { catalogRoutes } from './catalog/catalog-routes.ts';
import { lookupRoutes } from './catalog/lookup-routes.ts';
import { fullUpdateRoutes, productUpdateRoutes } from './catalog/update-routes.ts';
import type { Config } from './config.ts';
import { addHealthRoutes } from './http/health-routes.ts';
import {
  createAnswerOnce,
  createMetrics,
  createServer,
  describeRefusal,
  describeServer,
  documentServer,
  measureRequests,
  type Server,
  serveConsole,
  serveDocuments,
  serveMetrics,
} from './http/http.ts';
import type { Caller, ChosenProject } from './kernel/caller.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import type { Logger } from './kernel/logger.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { createProjects, type Projects } from './projects/projects.ts';
import { relatedRoutes } from './relations/related-routes.ts';
import { relationRoutes } from './relations/relation-routes.ts';
import { createRelations, type Relations } from './relations/relations.ts';
import type { ControlTransaction, Readers, Storage } from './storage/storage.ts';
import { openOwnStorage, openReaders, openStores, type Role } from './stores.ts';
import { taskRoutes } from './tasks/task-routes.ts';
import { createTasks, type Task } from './tasks/tasks.ts';
import { startUpkeep } from './upkeep.ts';

export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
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
  /** Stands in front of the disk: tests put a full one there. */
  readonly replace?: Replacements;
}

export interface Replacements {
  storage?(real: Storage): Storage;
  store?(real: CatalogStore): CatalogStore;
}

export type { Role } from './stores.ts';

export type App = Awaited<ReturnType<typeof createApp>>;

/** Builds the service on its store; `start` makes it run and serve. */
export async function createApp({
  config,
  role = 'all',
  clock = systemClock,
  logTo,
  consoleFolder,
  replace = {},
}: AppOptions) {
  const opened = await openOwnStorage(config, role);
  const storage = replace.storage?.(opened) ?? opened;
  const { database, postgres } = storage;
  const projects = createProjects({ database, clock });
  const access = createAccess({ database, clock, projects, postgres });
  let isReady = false;

  const { findCaller, countRequest } = access;
  const guards = { findCaller, countRequest, chooseProject: projects.chooseProject };
  const server = createServer({ ...config, ...(logTo && { logTo }) }, guards);
  const logger = server.log as Logger;
  const metrics = createMetrics({
    ...(storage.place.kind === 'embedded' && { dataDir: config.dataDir }),
    isReady: () => isReady,
    countWaitingTasks: () => tasks.countWaiting(),
  });
  const readers = openReaders(config, storage);
  const tasks = createTasks({
    ...{ database, clock, logger, describeRefusal },
    onEnded: (task: Task) => metrics.countTask(task.kind, task.status as 'FINISHED'),
    runs: role !== 'api',
    shown: () => readers?.catchUp(),
  });
  const base = { config, storage, readers, clock, logger, replace };
  const { catalog, relations, threads } = openCatalog(base, { projects, tasks, metrics });

  await documentServer(server, VERSION);
  measureRequests(server, metrics);
  addHealthRoutes(server, async () => isReady && (await storage.isReachable()));
  serveMetrics(server, metrics);
  if (role !== 'worker') {
    addRoutes(server, { config, clock, storage, projects, access, tasks, catalog, relations });
    serveDocuments(server);
    serveConsole(server, consoleFolder);
  }
  await server.ready();

  const { payloads } = storage;
  const upkeep = startUpkeep({ config, clock, logger, database, payloads, tasks, projects, access, catalog });

  return {
    server,
    /** The OpenAPI document of the routes. */
    describe: () => describeServer(server),
    access,
    projects,
    catalog,
    tasks,
    /** Takes over what a former process left, then serves. @returns the address */
    async start(): Promise<string> {
      await catalog.fullUpdates.closeEnded();
      await upkeep.removeOrphans();
      await tasks.start();
      upkeep.start();
      const address = await server.listen({ host: config.host, port: config.port });
      isReady = true;
      return address;
    },
    /** Stops accepting, finishes requests in flight, hands running tasks back. */
    async stop(): Promise<void> {
      isReady = false;
      // Those who wait for tasks are answered now; the server waits for every request.
      tasks.watch.close();
      await server.close();
      upkeep.stop();
      await closeAll([tasks, catalog, threads, access], logger);
      await readers?.close();
      await storage.close();
    },
  };
}

/** A database that is away must not keep the process from ending; leases run out by themselves. */
async function closeAll(parts: readonly { close(): Promise<void> }[], logger: Logger): Promise<void> {
  for (const part of parts) {
    await part.close().catch((error: unknown) => logger.warn({ err: error }, 'stopping was not complete'));
  }
}

interface Base {
  readonly config: Config;
  readonly storage: Storage;
  readonly readers: Readers | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly replace: Replacements;
}

interface CatalogNeeds {
  readonly projects: Projects;
  readonly tasks: ReturnType<typeof createTasks>;
  readonly metrics: ReturnType<typeof createMetrics>;
}

/** The catalog with its threads: those that parse and those that write. */
function openCatalog(base: Base, { projects, tasks, metrics }: CatalogNeeds) {
  const { config, storage, clock, logger, replace } = base;
  const { database, payloads } = storage;
  const { parsers, writers, relationReaders, catalogStore, relationStore } = openStores(base);
  const store = replace.store?.(catalogStore) ?? catalogStore;
  const relations = createRelations({
    store: relationStore,
    tasks,
    clock,
    logger,
    getSettings: projects.getSettings,
  });
  const catalog = createCatalog({
    database,
    payloads,
    store,
    tasks,
    clock,
    logger,
    ingest: createIngest({ threads: parsers, payloads, maxMib: config.uploadMaxMib }),
    getSettings: projects.getSettings,
    onProductsWritten: metrics.countWrittenProducts,
    onCommitRefused: metrics.countRefusedCommit,
    onOntologyFollowed: relations.follow,
  });
  return {
    catalog,
    relations,
    threads: {
      async close() {
        await parsers.close();
        await writers.close();
        await relationReaders.close();
      },
    },
  };
}

interface RouteNeeds {
  readonly config: Config;
  readonly clock: Clock;
  readonly storage: Storage;
  readonly projects: Projects;
  readonly access: ReturnType<typeof createAccess>;
  readonly tasks: ReturnType<typeof createTasks>;
  readonly catalog: Catalog;
  readonly relations: Relations;
}

function addRoutes(server: Server, needs: RouteNeeds): void {
  const { config, clock, storage, projects, access, tasks, catalog, relations } = needs;
  const answerOnce = createAnswerOnce(storage.database, clock);
  projectRoutes({ projects, answerOnce })(server);
  apiKeyRoutes({ access, projects, answerOnce })(server);
  taskRoutes({ tasks, reaches: projects.reachesProject })(server);
  const recordDelete = (
    tx: ControlTransaction,
    request: { caller: Caller; project: ChosenProject },
    identifiers: readonly string[],
  ) =>
    projects.recordChange(
      {
        author: request.caller,
        projectId: request.project.id,
        action: 'products.deleted',
        subject: { type: 'project', id: request.project.id, name: request.project.name },
        details: { count: identifiers.length, identifiers: identifiers.slice(0, 100) },
      },
      tx,
    );
  const updateParts = { catalog, answerOnce, uploadMaxMib: config.uploadMaxMib, recordDelete };
  productUpdateRoutes(updateParts)(server);
  fullUpdateRoutes(updateParts)(server);
  lookupRoutes(catalog)(server);
  const getProject = async (request: { caller: Caller }, projectId: number) => {
    const { id, name } = await projects.getProject(request.caller, projectId);
    return { id, name, accountId: request.caller.accountId };
  };
  relatedRoutes(relations)(server);
  relationRoutes({
    relations,
    answerOnce,
    getProject,
    recordRelationChange: (request, projectId, { action, relation, beside }) =>
      storage.database.write(async (tx) => {
        const subject = relation
          ? { type: 'relation', id: relation.id, name: relation.definition.name }
          : { type: 'project', id: projectId };
        const author = request.caller;
        await projects.recordChange({ author, projectId, action: `relation.${action}`, subject }, tx);
        await beside(tx);
      }),
  })(server);
  catalogRoutes({
    catalog,
    getProject,
    recordOntologyChange: (request, projectId, details) =>
      projects.recordChange({
        author: request.caller,
        projectId,
        action: 'ontology.changed',
        subject: { type: 'project', id: projectId },
        details,
      }),
  })(server);
}
