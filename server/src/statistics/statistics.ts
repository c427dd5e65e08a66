/**
 * The door of statistics: what happened over time, in minutes for two days and in hours for longer. It is told of
 * every answered request and of every change of a catalog, counts in memory, and writes every ten seconds what was
 * counted, beside what other processes counted; no request waits for it. It never decides about anything: limits of keys
 * are counted by access. What a process has counted since its last write is lost when it dies.
 */
import type { MeasuredRequest, SentRequest } from '../http/server/server.ts';
import { isUser } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Projects } from '../projects/projects.ts';
import type { Base, ControlTransaction, Database } from '../storage/storage.ts';
import * as catalogStore from './catalog-count-store.ts';
import { CatalogTally, type ProductCounts } from './catalog-tally.ts';
import { type RecentKind, RecentRequests } from './recent-requests.ts';
import * as requestStore from './request-count-store.ts';
import { HOUR_SECONDS, MINUTE_SECONDS, RequestTally, WHOLE_ACCOUNT } from './request-tally.ts';
import { type Span, sumRequests, sumSizes } from './series.ts';

export interface StatisticsParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  readonly projects: Pick<Projects, 'whenGone'>;
  /** Off the serving thread. */
  countProducts(projectId: number): Promise<number>;
}

export type Statistics = ReturnType<typeof createStatistics>;

const FLUSH_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
const MINUTES_RETAINED_MS = 48 * HOUR_MS;
const HOURS_RETAINED_MS = 90 * 24 * HOUR_MS;
const NOTED_RETAINED_MS = 7 * 24 * HOUR_MS;
const SHOWN_REQUESTS = 100;

export function createStatistics({ database, clock, logger, projects, countProducts }: StatisticsParts) {
  const requests = new RequestTally();
  const catalogs = new CatalogTally();
  const noted = new RecentRequests();
  const keptSince = clock.now();
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  projects.whenGone(async (tx, gone) => {
    if (gone.type !== 'project') return;
    noted.forget(gone.id);
    await catalogStore.removeCatalogCounts(tx, gone.id);
  });

  /** One write after another, so that waiting for the last one waits for all. */
  function flush(isLast = false): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    underWay = underWay
      .then(() => write(isLast))
      // Counts are no reason to fail a request, and the next write must not wait for this one for ever.
      .catch((error: unknown) => {
        logger.warn({ err: error }, 'statistics of some seconds were not written');
      });
    return underWay;
  }

  async function write(isLast: boolean): Promise<void> {
    for (const projectId of catalogs.takeToBeCounted(clock.now(), isLast)) {
      // One that cannot be read must not keep the counts of others.
      const size = await countProducts(projectId).catch(() => undefined);
      if (size !== undefined) catalogs.noteSize(projectId, size, clock.now());
    }
    const { counts, noted } = requests.take();
    const changes = catalogs.take();
    if (counts.length + changes.length > 0) await database.write('rows', (tx) => writeAll(tx));
    if (catalogs.isWaiting()) wake();

    async function writeAll(tx: ControlTransaction): Promise<void> {
      for (const step of [MINUTE_SECONDS, HOUR_SECONDS]) {
        await requestStore.addRequestCounts(tx, step, counts);
        await catalogStore.addCatalogCounts(tx, step, changes);
      }
      await requestStore.addNotedRequests(tx, noted);
    }
  }

  function wake(): void {
    timer ??= setTimeout(() => void flush(), FLUSH_EVERY_MS).unref();
  }

  return {
    /** Requests without a caller are only in the metrics. */
    noteRequest({ caller, projectId, seconds, reason: _, ...answered }: MeasuredRequest): void {
      if (caller === undefined) return;
      const { accountId } = caller;
      const apiKeyId = isUser(caller) ? WHOLE_ACCOUNT : caller.keyId;
      const of = { accountId, apiKeyId, projectId: projectId ?? null };
      requests.add({ ...answered, ...of, ms: seconds * 1000 }, clock.now());
      wake();
    },
    /** Of requests that failed or were slow. */
    keepRequest: (request: MeasuredRequest, describe: () => SentRequest) =>
      noted.add(request, describe, clock.now()),
    /** Those that this process keeps, and since when it does. */
    listRecent: (projectId: number, kind?: RecentKind) => ({
      items: noted.list(projectId, kind),
      since: keptSince,
    }),
    /** Called when a task has changed a catalog. */
    noteProducts(projectId: number, counts: ProductCounts): void {
      catalogs.addProducts(projectId, counts, clock.now());
      wake();
    },
    noteTask(projectId: number, hasFailed: boolean): void {
      catalogs.addTask(projectId, hasFailed, clock.now());
      wake();
    },
    /** Writes the counts; also done every ten seconds. */
    flush: () => flush(),
    /** To be called while catalogs can still be counted. */
    close: () => flush(true),

    ...createReads(database),
    dropOld: () => dropOld(database, clock.now()),
  };
}

function createReads(database: Database) {
  return {
    /** @param apiKeyIds undefined: the whole account */
    async listRequests(accountId: number, apiKeyIds: readonly number[] | undefined, span: Span) {
      const rows = await requestStore.listRequestCounts(
        database,
        { accountId, apiKeyIds: apiKeyIds ?? [WHOLE_ACCOUNT] },
        span,
      );
      return sumRequests(rows, span);
    },
    listNoted: (accountId: number, apiKeyIds: readonly number[] | undefined, span: Span) =>
      requestStore.listNotedRequests(database, { accountId, apiKeyIds }, { ...span, limit: SHOWN_REQUESTS }),
    async listCatalogs(projectIds: readonly number[], span: Span) {
      const before = await catalogStore.listSizesBefore(database, projectIds, span.from);
      const rows = await catalogStore.listCatalogCounts(database, projectIds, span);
      if (rows !== undefined) return sumSizes(before, rows, span);
      throw new ServiceError(
        'query_invalid',
        'too much happened between /from and /to: ask for less, or for a /projectId',
      );
    },
  };
}

/** Removes counts beyond their retention. */
function dropOld(database: Database, now: number): Promise<void> {
  const before = { minutes: now - MINUTES_RETAINED_MS, hours: now - HOURS_RETAINED_MS };
  return database.write('rows', async (tx) => {
    await requestStore.dropRequestCounts(tx, { ...before, noted: now - NOTED_RETAINED_MS });
    await catalogStore.dropCatalogCounts(tx, before);
  });
}
