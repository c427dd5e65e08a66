/**
 * The composition root: what is served. `parts.ts` assembles the rooms, and `lifecycle.ts` starts and stops them; parts get
 * what they need as parameters, and nothing is found by name.
 */
import { addHealthRoutes } from '../http/server/health-routes.ts';
import { measureRequests, serveMetrics } from '../http/server/server.ts';
import type { FailureCode } from '../kernel/errors.ts';
import { addRoutes } from './app-routes.ts';
import { Lifecycle, type Readiness } from './lifecycle.ts';
import { type AppOptions, openParts, type Parts } from './parts.ts';

export { isConsoleBuilt } from '../http/server/server.ts';
export { baseUrlOf } from './app-routes.ts';
export type { Replacements } from './parts.ts';
export { openSecrets, type Role } from './stores.ts';

export type App = Awaited<ReturnType<typeof createApp>>;

/** Builds the service on its store; `start` makes it run and serve. */
export async function createApp(options: AppOptions) {
  const readiness: Readiness = { isReady: false };
  const parts = await openParts(options, () => readiness.isReady);
  await options.onServer?.(parts.server);
  serveParts(parts, options, readiness);
  await parts.server.ready();
  const lifecycle = new Lifecycle(parts, { role: options.role ?? 'all', readiness });
  return {
    ...parts,
    /** Resumes what a former process left, then serves. @returns the address */
    start: () => lifecycle.start(),
    /** Starts the threads of the first update and the first related products, which take a while to load. */
    startThreads: () => lifecycle.startThreads(),
    /** Stops accepting, finishes requests in flight, hands running tasks back. */
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
