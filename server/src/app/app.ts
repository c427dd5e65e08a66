/**
 * The composition root: what is served, and in which order everything starts and stops. `parts.ts` assembles
 * the rooms; parts get what they need as parameters, and nothing is found by name.
 */
import { addHealthRoutes } from '../http/server/health-routes.ts';
import { listenOn, measureRequests, serveMetrics } from '../http/server/server.ts';
import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import { addRoutes } from './app-routes.ts';
import { type AppOptions, openParts } from './parts.ts';
import { openTraces } from './traces.ts';
import { startUpkeep } from './upkeep.ts';

export { isConsoleBuilt } from '../http/server/server.ts';
export { baseUrlOf } from './app-routes.ts';
export type { Replacements } from './parts.ts';
export { openSecrets, type Role } from './stores.ts';

export type App = Awaited<ReturnType<typeof createApp>>;

/** Builds the service on its store; `start` makes it run and serve. */
export async function createApp(options: AppOptions) {
  const { config, role = 'all' } = options;
  let isReady = false;
  let traces: Awaited<ReturnType<typeof openTraces>>;
  const parts = await openParts(options, () => isReady);
  const { server, storage, readers, logger, version, watch, metrics, threads } = parts;
  const { door, backup, access, statistics, tasks, catalog, pipelines, channels, webhooks } = parts;

  await options.onServer?.(server);
  measureRequests(
    server,
    [
      metrics.measureRequest,
      statistics.noteRequest,
      ({ reason, projectId }) => watch.note(reason as FailureCode | undefined, projectId),
    ],
    statistics.keepRequest,
  );
  addHealthRoutes(server, {
    isReady: async () => isReady && (await storage.isReachable()),
    listProblems: async () => [...(await watch.listProblems()), ...(backup?.listProblems() ?? [])],
    describeBackup: () => backup?.describe(),
  });
  serveMetrics(server, metrics);
  if (role !== 'worker') addRoutes(parts, options.consoleFolder);
  await server.ready();

  const upkeep = startUpkeep(parts);
  const schedules = [pipelines.schedule, channels.schedule];

  /** Resumes what a former process left. */
  async function beginWork(): Promise<void> {
    await catalog.start({ takesBatches: role !== 'worker' });
    await upkeep.sealSecrets();
    await tasks.start();
    channels.changes.start();
    if (role !== 'api') {
      for (const schedule of schedules) schedule.start();
      await webhooks.start();
    }
    upkeep.start();
  }

  /** Runs work of a start that reads all catalogs: while a worker of Citus is away, it is left to the next start. */
  async function postponable(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'not_ready' && storage.postgres)) throw error;
      const reason = error.cause instanceof Error ? error.cause.message : error.message;
      logger.warn({ reason }, `${what} failed at the start; it is retried at the next start`);
    }
  }

  /** Hands running tasks back, and starts no more. */
  async function stopWork(): Promise<void> {
    upkeep.stop();
    for (const part of [...schedules, channels.changes, tasks, webhooks])
      await part.close().catch((error) => logger.warn({ err: error }, 'stopping was not complete'));
  }

  return {
    ...parts,
    /** Resumes what a former process left, then serves. @returns the address */
    async start(): Promise<string> {
      traces = await openTraces(config.traces, { logger, version });
      // Before changes are accepted: later, a payload without an owner may be one whose request is about to be accepted.
      const promoting = upkeep.removeOrphans;
      backup?.start(logger, { superseded: stopWork, promoting, promoted: beginWork });
      if (!backup?.isStandby()) {
        await postponable('removing bodies without a request', upkeep.removeOrphans);
        await beginWork();
      }
      watch.start();
      await door?.close();
      const address = await listenOn(server, config);
      isReady = true;
      return address;
    },
    /** Starts the threads of the first update and the first related products, which take a while to load. */
    startThreads() {
      for (const pool of [threads.writers, threads.parsers, threads.relationReaders]) pool.start();
    },
    /** Stops accepting, finishes requests in flight, hands running tasks back. */
    async stop(): Promise<void> {
      isReady = false;
      // Callers that wait for tasks are answered now, as the server waits for every request.
      tasks.watch.close();
      await door?.close();
      await server.close();
      upkeep.stop();
      const users = [...schedules, channels.changes, tasks, webhooks, watch, pipelines, channels, statistics];
      // An unreachable database must not keep the process from ending; leases expire by themselves.
      for (const part of [...users, catalog, ...Object.values(threads), access])
        await part.close().catch((error) => logger.warn({ err: error }, 'stopping was not complete'));
      await readers?.close();
      await storage.close();
      await traces?.close();
    },
  };
}
