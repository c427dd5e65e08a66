/**
 * The composition root, which builds the service. `parts.ts` assembles the rooms, and `lifecycle.ts` starts and stops
 * them. Parts receive their dependencies as parameters, without a registry.
 */
import { addHealthRoutes } from '../http/server/health-routes.ts';
import { measureRequests, serveMetrics } from '../http/server/server.ts';
import type { FailureCode } from '../kernel/errors.ts';
import { addRoutes } from './app-routes.ts';
import { Lifecycle, type Readiness } from './lifecycle.ts';
import { type AppOptions, openParts, type Parts } from './parts.ts';

export { prepareAgents } from '../agents/agent-routes.ts';
export { isConsoleBuilt } from '../http/server/server.ts';
export { baseUrlOf } from './app-routes.ts';
export type { Replacements } from './parts.ts';
export { openSecrets, type Role } from './stores.ts';

export type App = Awaited<ReturnType<typeof createApp>>;

/** Builds the service on its store. `start` makes it run tasks and serve requests. */
export async function createApp(options: AppOptions) {
  const readiness: Readiness = { isReady: false };
  const parts = await openParts(options, () => readiness.isReady);
  await options.onServer?.(parts.server);
  serveParts(parts, options, readiness);
  await parts.server.ready();
  const lifecycle = new Lifecycle(parts, { role: options.role ?? 'all', readiness });
  return {
    ...parts,
    /** Resumes the work of an earlier process, then serves. @returns the address */
    start: () => lifecycle.start(),
    /** Starts the threads for updates and related products early, because loading them takes half a second. */
    startThreads: () => lifecycle.startThreads(),
    /** Stops accepting requests, finishes requests in progress and hands running tasks back. */
    stop: () => lifecycle.stop(),
  };
}

function serveParts(parts: Parts, { role, consoleFolder }: AppOptions, readiness: Readiness): void {
  const { server, storage, backup, metrics, statistics, watch } = parts;
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
    isReady: async () => readiness.isReady && (await storage.isReachable()),
    listProblems: async () => [...(await watch.listProblems()), ...(backup?.listProblems() ?? [])],
    describeBackup: () => backup?.describe(),
  });
  serveMetrics(server, metrics);
  if (role !== 'worker') addRoutes(parts, consoleFolder);
}
