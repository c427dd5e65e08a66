import { statfs } from 'node:fs/promises';
import type { FastifyRequest } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Caller } from '../../kernel/caller.ts';
import { type FailureCode, ServiceError } from '../../kernel/errors.ts';
import { dataFolderAt, findLastBackup } from '../../storage/folder/folder.ts';
import { ErrorAnswer, type Reason } from '../answers/answers.ts';
import { requestHook } from '../guards/guards.ts';
import type { Server } from './endpoint.ts';
import { describeSent, type SentRequest, SLOW_MS } from './request-log.ts';

/** The counters and gauges of the parts of the service. Names and labels: docs/operating/monitoring.md. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Values that are read when the metrics are requested. */
export interface MetricSources {
  /** The folder whose free space is a metric. */
  readonly dataDir?: string;
  /** Kinds whose counters begin at 0, because an increase from "absent" to 1 would raise no alert. */
  readonly listTaskKinds?: () => readonly string[];
  readonly isReady?: () => boolean;
  readonly gauges?: readonly WatchedGauge[];
}

/** A figure of another room. It costs nothing until the metrics are read. */
export interface WatchedGauge {
  readonly name: string;
  readonly help: string;
  /** A label with few values, and never an id. */
  readonly label?: string;
  /** @returns the figure, or a figure for each value of the label */
  read(): Figures | Promise<Figures>;
}

type Figures = number | Readonly<Record<string, number>>;

export interface MeasuredRequest {
  readonly method: string;
  /** The pattern of the route, which bounds the number of series. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
  readonly reason?: Reason | undefined;
  /** Undefined if there was no project, or none was found. */
  readonly caller: Caller | undefined;
  readonly projectId: number | undefined;
  /** Whether requests of this kind are expected to take long. */
  readonly isPatient: boolean;
}

const END_STATUSES = ['FINISHED', 'FAILED', 'CANCELLED'] as const;
const PRODUCT_CHANGES = ['created', 'changed', 'deleted'] as const;
const COMMIT_REFUSALS: readonly FailureCode[] = [
  'delete_guard',
  'deletes_not_exact',
  'full_update_batch_failed',
  'full_update_empty',
  'full_update_foreign',
  'full_update_missing',
  'full_update_other',
  'full_update_replaced',
  'full_update_started',
];
/** From a cached lookup (1 ms) to the longest `wait` for a task (60 s). */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Each call creates a separate registry, so that two services in one process are counted separately. */
export function createMetrics(sources: MetricSources = {}) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'relata_' });
  watchSources(registry, sources);
  const requests = new Histogram({
    name: 'relata_http_request_duration_seconds',
    buckets: SECONDS,
    registers,
    help: 'Time from the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
  });
  const tasks = new Counter({
    name: 'relata_tasks_total',
    help: 'Tasks that ended, by kind and status.',
    registers,
    labelNames: ['kind', 'status'],
    collect() {
      for (const kind of sources.listTaskKinds?.() ?? []) {
        for (const status of END_STATUSES) this.inc({ kind, status }, 0);
      }
    },
  });
  const refusals = new Counter({
    name: 'relata_commits_refused_total',
    labelNames: ['reason'],
    registers,
    help: 'Full updates whose commit was refused, by reason.',
  });
  const products = new Counter({
    name: 'relata_products_written_total',
    labelNames: ['change'],
    registers,
    help: 'Products that a task created, changed or deleted.',
  });
  for (const reason of COMMIT_REFUSALS) refusals.inc({ reason }, 0);
  for (const change of PRODUCT_CHANGES) products.inc({ change }, 0);
  return {
    countTask: (kind: string, status: (typeof END_STATUSES)[number]) => tasks.inc({ kind, status }),
    countRefusedCommit: (reason: FailureCode) => refusals.inc({ reason }),
    countWrittenProducts(counts: Partial<Readonly<Record<(typeof PRODUCT_CHANGES)[number], number>>>) {
      for (const [change, count] of Object.entries(counts)) products.inc({ change }, count);
    },
    measureRequest: ({ method, route, status, seconds }: MeasuredRequest) =>
      requests.observe({ method, route, status }, seconds),
    /** The present state of the registry in its text format. */
    print: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

function watchSources(registry: Registry, sources: MetricSources): void {
  const { dataDir, isReady, gauges = [] } = sources;
  for (const gauge of gauges) watchGauge(registry, gauge);
  if (isReady) {
    const help = '1 while requests are served.';
    watchGauge(registry, { name: 'relata_ready', help, read: () => Number(isReady()) });
  }
  if (dataDir === undefined) return;
  watchGauge(registry, {
    name: 'relata_data_dir_free_bytes',
    help: 'Free space on the disk of the data directory.',
    async read() {
      const { bavail, bsize } = await statfs(dataDir);
      return bavail * bsize;
    },
  });
  watchGauge(registry, {
    name: 'relata_last_backup_timestamp_seconds',
    help: 'When relata backup last made a backup; 0 if never.',
    read: () => (findLastBackup(dataFolderAt(dataDir))?.at ?? 0) / 1000,
  });
}

function watchGauge(registry: Registry, { name, help, label, read }: WatchedGauge): void {
  new Gauge({
    name,
    help,
    ...(label !== undefined && { labelNames: [label] }),
    registers: [registry],
    async collect() {
      // A missing figure is visible in the metrics. The others matter most when a figure fails, for example while the
      // database is unreachable.
      const figures = await Promise.try(read).catch(() => ({}));
      this.reset();
      if (typeof figures === 'number') return this.set(figures);
      // A gauge without a label would show 0 after a reset.
      if (label === undefined) return this.remove();
      for (const [value, figure] of Object.entries(figures)) this.set({ [label]: value }, figure);
    },
  });
}

/**
 * Measures every answer. Unknown paths share one series. Call this before routes are added.
 * @param keep receives requests that failed or were slow, and calls `describe` for those that it keeps
 */
export function measureRequests(
  server: Server,
  measures: readonly ((request: MeasuredRequest) => void)[],
  keep?: (request: MeasuredRequest, describe: () => SentRequest) => void,
): void {
  server.addHook(
    'onResponse',
    requestHook((request, reply) => {
      const { isPatient = false } = request.routeOptions.config;
      const { caller, project } = request as Partial<typeof request>;
      const measured: MeasuredRequest = {
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.statusCode,
        seconds: reply.elapsedTime / 1000,
        requestId: request.id,
        reason: request.failure?.reason,
        caller,
        projectId: project?.id,
        // The query of an unknown sender remains unread, because reading a long one takes milliseconds.
        isPatient: isPatient || (caller !== undefined && isLongAnswer(request)),
      };
      for (const measure of measures) measure(measured);
      const isNoted = reply.statusCode >= 400 || (reply.elapsedTime >= SLOW_MS && !measured.isPatient);
      if (isNoted && caller !== undefined) keep?.(measured, () => describeSent(request));
    }),
  );
}

/** Whether the caller waits for a task, or requested a stream of NDJSON. */
function isLongAnswer({ query, headers }: FastifyRequest): boolean {
  const { wait, format } = (query ?? {}) as Record<string, unknown>;
  return wait !== undefined || format === 'ndjson' || (headers.accept ?? '').includes('application/x-ndjson');
}

const metricsSchema = {
  summary: 'Metrics of the service',
  description: 'The text format of Prometheus. Takes a key of account scope, whatever its access.',
  response: {
    200: { description: 'all metrics', content: { 'text/plain': { schema: { type: 'string' } } } },
    401: { ...ErrorAnswer, description: 'no key, or one of lower scope' },
  },
};

/** Source: docs/interface §10.3. */
export function serveMetrics(server: Server, metrics: Metrics): void {
  const config = { guard: 'key', role: 'owner' } as const;

  server.get('/metrics', { config, schema: metricsSchema }, async (request, reply) => {
    // The figures cover all projects and accounts.
    if (request.caller.scope.type !== 'account') throw new ServiceError('scope_refused');
    const { contentType, text } = await metrics.print();
    return reply.type(contentType).send(text);
  });
}
