/**
 * The door of statistics: requests, catalog sizes and updates over time, per minute for two days and per hour for
 * longer. It counts every answered request and every change of a catalog in memory. Every ten seconds it adds its
 * counts to those of other processes, and no request waits for that. The limits of keys do not use these counts,
 * because access has its own. A process that dies loses the counts since its last write.
 */
import type { MeasuredRequest, SentRequest } from '../http/server/server.ts';
import { isUser } from '../kernel/caller.ts';
import type { Projects } from '../projects/projects.ts';
import type { Base } from '../storage/storage.ts';
import { CatalogTally, type ProductCounts } from './catalog-tally.ts';
import {
  addCatalogCounts,
  addNotedRequests,
  addRequestCounts,
  dropCatalogCounts,
  dropRequestCounts,
  listCatalogCounts,
  listNotedRequests,
  listRequestCounts,
  listSizesBefore,
} from './count-store.ts';
import { type RecentKind, RecentRequests } from './recent-requests.ts';
import { RequestTally, WHOLE_ACCOUNT } from './request-tally.ts';
import {
  HOUR_MS,
  HOUR_SECONDS,
  MINUTE_SECONDS,
  refuse,
  type Span,
  sumRequests,
  sumSizes,
} from './statistics-span.ts';

export { planSpan, type Span } from './statistics-span.ts';

interface StatisticsParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  readonly projects: Pick<Projects, 'removeWithProject' | 'onRemoval'>;
  /** Counts the products outside the serving thread. */
  countProducts(projectId: number): Promise<number>;
}

export type Statistics = ReturnType<typeof createStatistics>;

export function createStatistics(parts: StatisticsParts) {
  const { database, clock, projects } = parts;
  const unwritten = new UnwrittenCounts(parts);
  const noted = new RecentRequests();
  const startedAt = clock.now();
  projects.removeWithProject('catalog_count');
  projects.onRemoval(async (_, { type, id }) => {
    if (type === 'project') noted.forget(id);
  });

  return {
    /** Ignores requests without a caller, which only the metrics count. */
    noteRequest: (request: MeasuredRequest): void => unwritten.addRequest(request),
    /** Is called for requests that failed or were slow. */
    keepRequest: (request: MeasuredRequest, describe: () => SentRequest) =>
      noted.add(request, describe, clock.now()),
    /** @returns the requests that this process keeps, and since when it has kept them */
    listRecent: (projectId: number, kind?: RecentKind) => ({
      items: noted.list(projectId, kind),
      since: startedAt,
    }),
    /** Is called when a task has changed a catalog. */
    noteProducts: (projectId: number, counts: ProductCounts): void =>
      unwritten.addProducts(projectId, counts),
    noteTask: (projectId: number, hasFailed: boolean): void => unwritten.addTask(projectId, hasFailed),
    /** Writes the counts, which also happens every ten seconds. */
    flush: () => unwritten.flush(),
    /** Writes the last counts. Call it while catalogs can still be counted. */
    close: () => unwritten.flush(true),

    /** @param apiKeyIds undefined for the whole account */
    async listRequests(accountId: number, apiKeyIds: readonly number[] | undefined, span: Span) {
      const of = { accountId, apiKeyIds: apiKeyIds ?? [WHOLE_ACCOUNT] };
      return sumRequests(await listRequestCounts(database, of, span), span);
    },
    listNoted: (accountId: number, apiKeyIds: readonly number[] | undefined, span: Span) =>
      listNotedRequests(database, { accountId, apiKeyIds }, { ...span, limit: 100 }),
    async listCatalogs(projectIds: readonly number[], span: Span) {
      const before = await listSizesBefore(database, projectIds, span.from);
      const rows = await listCatalogCounts(database, projectIds, span);
      if (rows === undefined)
        refuse('the span from /from to /to has too many values: send a shorter span, or a /projectId');
      return sumSizes(before, rows, span);
    },
    dropOld() {
      const now = clock.now();
      const before = { minutes: now - 48 * HOUR_MS, hours: now - 90 * 24 * HOUR_MS };
      return database.write('rows', async (tx) => {
        await dropRequestCounts(tx, { ...before, noted: now - 7 * 24 * HOUR_MS });
        await dropCatalogCounts(tx, before);
      });
    },
  };
}

const FLUSH_EVERY_MS = 10_000;

/** The counts of this process since its last write, and the timer of the next write. */
class UnwrittenCounts {
  private readonly parts: StatisticsParts;
  private readonly requests = new RequestTally();
  private readonly catalogs = new CatalogTally();
  private timer: NodeJS.Timeout | undefined;
  private underWay: Promise<void> = Promise.resolve();

  constructor(parts: StatisticsParts) {
    this.parts = parts;
  }

  addRequest({ caller, projectId, seconds, reason: _, ...answered }: MeasuredRequest): void {
    if (caller === undefined) return;
    const { accountId } = caller;
    const apiKeyId = isUser(caller) ? WHOLE_ACCOUNT : caller.keyId;
    const of = { accountId, apiKeyId, projectId: projectId ?? null };
    this.requests.add({ ...answered, ...of, ms: seconds * 1000 }, this.parts.clock.now());
    this.wake();
  }

  addProducts(projectId: number, counts: ProductCounts): void {
    this.catalogs.addProducts(projectId, counts, this.parts.clock.now());
    this.wake();
  }

  addTask(projectId: number, hasFailed: boolean): void {
    this.catalogs.addTask(projectId, hasFailed, this.parts.clock.now());
    this.wake();
  }

  /** Writes run one after another, so the promise of the last write resolves after all writes. */
  flush(isLast = false): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.underWay = this.underWay
      .then(() => this.write(isLast))
      // A failed write must not fail a request or the next write.
      .catch((error: unknown) => {
        this.parts.logger.warn(
          { err: error },
          'writing statistics failed; the counts of some seconds are lost',
        );
      });
    return this.underWay;
  }

  private async write(isLast: boolean): Promise<void> {
    const { clock, countProducts, database } = this.parts;
    for (const projectId of this.catalogs.takeToBeCounted(clock.now(), isLast)) {
      // A catalog that cannot be read must not delay the counts of others.
      const size = await countProducts(projectId).catch(() => undefined);
      if (size !== undefined) this.catalogs.noteSize(projectId, size, clock.now());
    }
    const { counts, noted } = this.requests.take();
    const changes = this.catalogs.take();
    if (counts.length + changes.length > 0)
      await database.write('rows', async (tx) => {
        for (const step of [MINUTE_SECONDS, HOUR_SECONDS]) {
          await addRequestCounts(tx, step, counts);
          await addCatalogCounts(tx, step, changes);
        }
        await addNotedRequests(tx, noted);
      });
    if (this.catalogs.isWaiting()) this.wake();
  }

  private wake(): void {
    this.timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }
}
