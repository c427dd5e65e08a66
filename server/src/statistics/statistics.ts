/**
 * The door of statistics: what happened over time, in minutes for two days and in hours for longer. It is
 * told of every answered request and every change of a catalog, counts in memory, and every ten seconds adds
 * its counts to those of other processes; no request waits for it. It never decides anything: access counts
 * for the limits of keys. What a process has counted since its last write is lost when it dies.
 */
import type { MeasuredRequest, SentRequest } from '../http/server/server.ts';
import { isUser } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type Actor, actorOf, type Projects } from '../projects/projects.ts';
import type { Base } from '../storage/storage.ts';
import {
  addCatalogCounts,
  addNotedRequests,
  addRequestCounts,
  CATALOG_COUNTS,
  type CatalogCount,
  dropCatalogCounts,
  dropRequestCounts,
  listCatalogCounts,
  listNotedRequests,
  listRequestCounts,
  listSizesBefore,
  type NotedRequest,
  REQUEST_COUNTS,
  type RequestCount,
  sumOf,
} from './count-store.ts';

interface StatisticsParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  readonly projects: Pick<Projects, 'removeWithProject' | 'whenGone'>;
  /** Counts outside the serving thread. */
  countProducts(projectId: number): Promise<number>;
}

export type Statistics = ReturnType<typeof createStatistics>;

const FLUSH_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;

export function createStatistics({ database, clock, logger, projects, countProducts }: StatisticsParts) {
  const requests = new RequestTally();
  const catalogs = new CatalogTally();
  const noted = new RecentRequests();
  const startedAt = clock.now();
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  projects.removeWithProject('catalog_count');
  projects.whenGone(async (_, { type, id }) => {
    if (type === 'project') noted.forget(id);
  });

  /** Runs one write after another, so that waiting for the last one waits for all. */
  function flush(isLast = false): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    underWay = underWay
      .then(() => write(isLast))
      // Counts must not fail a request, and the next write must not wait for this one forever.
      .catch((error: unknown) => {
        logger.warn({ err: error }, 'statistics of some seconds were not written');
      });
    return underWay;
  }

  async function write(isLast: boolean): Promise<void> {
    for (const projectId of catalogs.takeToBeCounted(clock.now(), isLast)) {
      // A catalog that cannot be read must not hold up the counts of others.
      const size = await countProducts(projectId).catch(() => undefined);
      if (size !== undefined) catalogs.noteSize(projectId, size, clock.now());
    }
    const { counts, noted } = requests.take();
    const changes = catalogs.take();
    if (counts.length + changes.length > 0)
      await database.write('rows', async (tx) => {
        for (const step of [MINUTE_SECONDS, HOUR_SECONDS]) {
          await addRequestCounts(tx, step, counts);
          await addCatalogCounts(tx, step, changes);
        }
        await addNotedRequests(tx, noted);
      });
    if (catalogs.isWaiting()) wake();
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
    /** Called for requests that failed or were slow. */
    keepRequest: (request: MeasuredRequest, describe: () => SentRequest) =>
      noted.add(request, describe, clock.now()),
    /** The requests that this process remembers, and since when it does. */
    listRecent: (projectId: number, kind?: RecentKind) => ({
      items: noted.list(projectId, kind),
      since: startedAt,
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
    /** Call it while catalogs can still be counted. */
    close: () => flush(true),

    /** @param apiKeyIds undefined: the whole account */
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
        refuse('too much happened between /from and /to: ask for less, or for a /projectId');
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

interface AnsweredRequest extends Omit<NotedRequest, 'at'> {
  /** Whether requests of this kind normally take long. */
  readonly isPatient: boolean;
}

/** Source: docs/interface §14.7. */
const SLOW_MS = 1_000;
const MINUTE_SECONDS = 60;
const MINUTE_MS = 60_000;
const HOUR_SECONDS = 3_600;
/** The row of an account stands for all its keys and sessions. */
const WHOLE_ACCOUNT = 0;

/** The limit of a process between two writes; the worst are kept. */
const MOST_NOTED = 50;
/** Limit of unwritten keys and minutes: during a long database outage statistics are dropped. */
const MOST_COUNTS = 50_000;

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

/** Counts per subject and minute, in memory: a write for each request would cost more than most requests. */
class MinuteCounts<Count> {
  private counts = new Map<string, Mutable<Count>>();

  /** @returns the counts of the minute, beginning with `begun` */
  of(subject: string, now: number, begun: (at: number) => Count): Mutable<Count> {
    const at = now - (now % MINUTE_MS);
    const place = `${subject} ${at}`;
    if (this.counts.size >= MOST_COUNTS && !this.counts.has(place)) this.counts.clear();
    return this.counts.getOrInsertComputed(place, () => begun(at));
  }

  take(): Count[] {
    const taken = [...this.counts.values()];
    this.counts = new Map();
    return taken;
  }
}

class RequestTally {
  private readonly counts = new MinuteCounts<RequestCount>();
  private noted: NotedRequest[] = [];

  add(request: AnsweredRequest, now: number): void {
    const { accountId, status, ms } = request;
    const isSlow = ms >= SLOW_MS && !request.isPatient;
    const outcome = outcomeOf(status);
    for (const apiKeyId of new Set([WHOLE_ACCOUNT, request.apiKeyId])) {
      const begin = (at: number) => ({
        accountId,
        apiKeyId,
        at,
        ...sumOf(REQUEST_COUNTS, []),
      });
      const count = this.counts.of(`${accountId} ${apiKeyId}`, now, begin);
      count.requests += 1;
      count.totalMs += ms;
      if (isSlow) count.slow += 1;
      if (outcome !== undefined) count[outcome] += 1;
    }
    if (isSlow || status >= 500) this.note(request, now);
  }

  private note({ isPatient: _, ...request }: AnsweredRequest, now: number): void {
    this.noted.push({ ...request, at: now, ms: Math.round(request.ms) });
    if (this.noted.length <= MOST_NOTED) return;
    const mildest = this.noted.reduce((least, one) => (weigh(one) < weigh(least) ? one : least));
    this.noted.splice(this.noted.indexOf(mildest), 1);
  }

  take() {
    const taken = { counts: this.counts.take(), noted: this.noted };
    this.noted = [];
    return taken;
  }
}

/** @returns the count of a request besides all requests; undefined if it succeeded */
function outcomeOf(status: number): 'limited' | 'failed' | 'refused' | undefined {
  if (status === 429) return 'limited';
  if (status >= 500) return 'failed';
  return status >= 400 ? 'refused' : undefined;
}

/** A failure outweighs any duration. */
const weigh = ({ status, ms }: NotedRequest) => (status >= 500 ? 1e9 : 0) + ms;

type ProductCounts = Readonly<Partial<Record<'created' | 'changed' | 'deleted', number>>>;

/** A catalog of a million products takes 50 ms to count: once a minute is often enough. */
const COUNTED_EVERY_MS = MINUTE_MS;

class CatalogTally {
  private readonly counts = new MinuteCounts<CatalogCount>();
  /** Catalogs whose size may have changed. */
  private readonly toBeCounted = new Set<number>();
  private readonly countedAt = new Map<number, number>();

  addProducts(projectId: number, { created = 0, changed = 0, deleted = 0 }: ProductCounts, now: number) {
    const count = this.at(projectId, now);
    count.created += created;
    count.changed += changed;
    count.deleted += deleted;
    this.toBeCounted.add(projectId);
  }

  addTask(projectId: number, hasFailed: boolean, now: number): void {
    const count = this.at(projectId, now);
    count.tasks += 1;
    if (hasFailed) count.failedTasks += 1;
  }

  noteSize(projectId: number, products: number, now: number): void {
    this.at(projectId, now).products = products;
  }

  /** @returns the catalogs to count now; those counted a moment ago wait. @param isLast nothing may wait */
  takeToBeCounted(now: number, isLast: boolean): number[] {
    for (const [projectId, at] of this.countedAt)
      if (isLast || now - at >= COUNTED_EVERY_MS) this.countedAt.delete(projectId);
    const due = [...this.toBeCounted].filter((projectId) => !this.countedAt.has(projectId));
    for (const projectId of due) {
      this.toBeCounted.delete(projectId);
      this.countedAt.set(projectId, now);
    }
    return due;
  }

  /** Whether there are catalogs to be counted later. */
  isWaiting(): boolean {
    return this.toBeCounted.size > 0;
  }

  take = () => this.counts.take();

  private at(projectId: number, now: number): Mutable<CatalogCount> {
    return this.counts.of(`${projectId}`, now, (at) => ({
      projectId,
      at,
      products: null,
      ...sumOf(CATALOG_COUNTS, []),
    }));
  }
}

type RecentKind = 'failed' | 'slow';

/** A request of a project that failed or was slow, with the beginning of its body. */
interface RecentRequest extends SentRequest {
  readonly requestId: string;
  readonly kind: RecentKind;
  readonly at: number;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  readonly by: Actor;
}

/** Source: docs/interface §14.9. A request takes up to 6 KB: 30 MB at the worst. */
const MOST = { ofKind: 50, inAll: 5_000 };
/** Requests there are about people and keys. */
const NEVER_NOTED = /^\/management\/(session|owner|links|invitations|users|api-keys|webhook-endpoints)/;

/** The latest requests of each project, in the memory of this process. */
class RecentRequests {
  /** Ordered by the last addition. */
  private readonly byProject = new Map<number, Record<RecentKind, RecentRequest[]>>();
  private count = 0;

  /** Requests without a known project are left out. */
  add(request: MeasuredRequest, describe: () => SentRequest, at: number): void {
    const { caller, method, status, requestId } = request;
    // A key of one project may exceed its rate before the project is found.
    const ownProject = caller?.scope.type === 'project' ? caller.scope.id : undefined;
    const projectId = request.projectId ?? ownProject;
    if (caller === undefined || projectId === undefined || NEVER_NOTED.test(request.route)) return;
    const kind = status >= 400 ? 'failed' : 'slow';
    const noted = this.byProject.get(projectId) ?? { failed: [], slow: [] };
    this.byProject.delete(projectId);
    this.byProject.set(projectId, noted);
    const ms = Math.round(request.seconds * 1000);
    // Copied, as a substring would retain the whole text, which may be a URL of 128 KiB.
    const copy = JSON.parse(JSON.stringify(describe())) as SentRequest;
    noted[kind].push({ requestId, kind, at, method, status, ms, by: actorOf(caller), ...copy });
    if (noted[kind].length > MOST.ofKind) noted[kind].shift();
    else this.count += 1;
    const [oldest] = this.byProject.keys();
    if (oldest !== undefined && this.count > MOST.inAll) this.forget(oldest);
  }

  /** @returns newest first */
  list(projectId: number, kind?: RecentKind): RecentRequest[] {
    const { failed = [], slow = [] } = this.byProject.get(projectId) ?? {};
    const chosen = kind === undefined ? [...failed, ...slow] : { failed, slow }[kind];
    return chosen.toReversed().toSorted((a, b) => b.at - a.at);
  }

  forget(projectId: number): void {
    const { failed = [], slow = [] } = this.byProject.get(projectId) ?? {};
    this.count -= failed.length + slow.length;
    this.byProject.delete(projectId);
  }
}

/** The query and result of statistics. Source: docs/interface §14.7. */

export interface Span {
  /** Whole steps of UTC. */
  readonly from: number;
  readonly to: number;
  /** The step of the answer. */
  readonly stepMs: number;
  /** The step of the rows that are read: minutes or hours. */
  readonly stepSeconds: number;
}

/** The default step is minutes up to this width of a chart. */
const MINUTES_SHOWN_MS = 6 * HOUR_MS;
const MOST_STEPS = 2_000;

/** @throws query_invalid */
export function planSpan({ to, from, step }: { from?: number; to?: number; step?: number }, now: number) {
  const end = to ?? now + 1;
  const begin = from ?? end - 24 * HOUR_MS;
  if (begin >= end) refuse('/from must be before /to');
  const stepMs = (step ?? (end - begin <= MINUTES_SHOWN_MS ? MINUTE_SECONDS : HOUR_SECONDS)) * 1000;
  const span = {
    from: begin - (begin % stepMs),
    to: Math.ceil(end / stepMs) * stepMs,
    stepMs,
    stepSeconds: Math.min(stepMs / 1000, HOUR_SECONDS),
  };
  if ((span.to - span.from) / stepMs > MOST_STEPS) {
    refuse(`/step must be larger: from /from to /to are more than ${MOST_STEPS} steps`);
  }
  return span;
}

function refuse(detail: string): never {
  throw new ServiceError('query_invalid', detail);
}

/** @returns a point for each step with requests */
function sumRequests(rows: readonly RequestCount[], { stepMs }: Span) {
  const byStep = Map.groupBy(rows, ({ at }) => at - (at % stepMs));
  return [...byStep].map(([at, counts]) => {
    const { totalMs, ...sums } = sumOf(REQUEST_COUNTS, counts);
    return { at, ...sums, meanMs: Math.round((totalMs / sums.requests) * 10) / 10 };
  });
}

/** @returns a point for the beginning, with the sizes `before`, and one for each step in which something happened */
function sumSizes(
  before: ReadonlyMap<number, number>,
  rows: readonly CatalogCount[],
  { from, stepMs }: Span,
) {
  const sizes = new Map(before);
  const total = () => [...sizes.values()].reduce((sum, products) => sum + products, 0);
  const byStep = Map.groupBy(rows, ({ at }) => at - (at % stepMs));
  const first = { at: from, products: total(), ...sumOf(CATALOG_COUNTS, []) };
  const points = [...byStep].map(([at, counts]) => {
    for (const { projectId, products } of counts) if (products !== null) sizes.set(projectId, products);
    // Over all catalogs, at the end of the step.
    return { at, products: total(), ...sumOf(CATALOG_COUNTS, counts) };
  });
  return points[0]?.at === from ? points : [first, ...points];
}
