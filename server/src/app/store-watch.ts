/** What the service knows about the state of its files: damaged and foreign catalogs, a full disk. */
import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { FailureCode } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { type ForeignCatalog, listForeignCatalogs, openDamageMarks } from '../storage/sqlite/sqlite.ts';
import { catalogPath, dataFolderAt, listCatalogs, type Storage } from '../storage/storage.ts';
import { createThreadPool, type ThreadPool } from '../storage/threads/threads.ts';
import { createForeignCatalogs } from './foreign-catalogs.ts';
import { threadEntry } from './stores.ts';

/** Failures that make a check of a project's catalog due. */
const SUSPICIOUS: ReadonlySet<string | undefined> = new Set<FailureCode | 'unexpected'>([
  ...(['catalog_damaged', 'storage_failed', 'unexpected'] as const),
]);
/** Delay after the start, for the work that has waited. */
const FIRST_ROUND_MS = 60_000;
const ROUND_MS = 24 * 3_600_000;
/** A damaged catalog is checked again, as it may have been restored. */
const AGAIN_MS = 60_000;
/** Delay before a check that could not read the file is repeated. */
const RETRY_MS = 1_000;
/** After a failure that a check did not explain, no other check is made for this long. */
const CLEARED_MS = 600_000;
/** A round pauses this many times as long as it reads. */
const REST = 4;
/** Catalogs whose owners are read before the service serves, 0.3 ms each; more are left to the thread. */
const MOST_AT_START = 500;
/** How long a disk that was full is shown as full. */
const FULL_MS = 60_000;
const MIB = 1024 * 1024;
/** With less free space, the next batch would not fit. */
const LEAST_FREE_BYTES = 64 * MIB;

export type StoreWatch = ReturnType<typeof watchStore>;

interface WatchParts {
  readonly config: Pick<Config, 'dataDir'>;
  readonly storage: Pick<Storage, 'place'>;
  readonly logger: Logger;
}

/** Watches the embedded store; PostgreSQL watches its own files, and only its disk is reported. */
export function watchStore({ config, storage: { place }, logger }: WatchParts) {
  const catalogs = place.kind === 'embedded' ? watchCatalogs(place, logger) : undefined;
  const disk = watchDisk(place.kind === 'embedded' ? config.dataDir : undefined, logger);
  return {
    /** Notes each failure of a request or task. @param code of the refusal */
    note(code: FailureCode | 'unexpected' | undefined, projectId: number | undefined): void {
      if (code === 'storage_full') disk.noteFull();
      if (SUSPICIOUS.has(code) && projectId !== undefined)
        catalogs?.suspect(projectId, code === 'catalog_damaged');
      if (code === 'catalog_foreign' && projectId !== undefined) catalogs?.suspectOwner(projectId);
    },
    /** @throws catalog_damaged, catalog_foreign */
    refuse: (projectId: number): void => catalogs?.refuse(projectId),
    listDamaged: (): readonly number[] => catalogs?.list() ?? [],
    listForeign: (): readonly ForeignCatalog[] => catalogs?.listForeign() ?? [],
    /** @returns what an operator has to fix, for the health check; no paths, as it is open to everyone */
    async listProblems(): Promise<string[]> {
      const damaged = (catalogs?.list() ?? []).map(
        (id) =>
          `the catalog of project ${id} is damaged or being checked: restore it from a backup if this stays`,
      );
      const foreign = this.listForeign().map(
        ({ projectId, reason }) =>
          `the catalog of project ${projectId} is not served, ${reason}: restore the project from a backup`,
      );
      return [...(await disk.describe()), ...damaged, ...foreign];
    },
    /** Checks all catalogs now. @returns when it is done */
    checkAll: async (): Promise<void> => catalogs?.checkAll(),
    start: (): void => catalogs?.start(),
    close: async (): Promise<void> => catalogs?.close(),
  };
}

function watchDisk(dataDir: string | undefined, logger: Logger) {
  const name = dataDir === undefined ? 'the disk of the database' : 'the disk of the data directory';
  let fullAt = Number.NEGATIVE_INFINITY;
  const isFull = () => performance.now() - fullAt < FULL_MS;
  return {
    noteFull(): void {
      const isNews = !isFull();
      fullAt = performance.now();
      const text = `free space on ${dataDir ?? name} has run out: writes are refused with 507`;
      if (isNews) logger.error({ dataDir }, text);
    },
    async describe(): Promise<string[]> {
      const disk = dataDir === undefined ? undefined : await statfs(dataDir).catch(() => undefined);
      const free = disk && disk.bavail * disk.bsize;
      if (!isFull() && (free ?? LEAST_FREE_BYTES) >= LEAST_FREE_BYTES) return [];
      const left = free === undefined ? '' : `, ${Math.floor(free / MIB)} MiB are left`;
      return [`free space on ${name} has run out${left}: writes are refused with 507`];
    },
  };
}

/** @returns a stamp that changes when a catalog file is written to or replaced */
const stampOf = (path: string) =>
  [path, `${path}-wal`].map((one) => statSync(one, { throwIfNoEntry: false })?.mtimeMs).join();

function watchCatalogs(place: Extract<Storage['place'], { kind: 'embedded' }>, logger: Logger) {
  const marks = openDamageMarks(place.catalogs, place.markMoves);
  const due = new Set<number>();
  const clearedAt = new Map<number, number>();
  /** By damaged catalog, when its files were last changed. */
  const logged = new Map<number, string>();
  const foreign = createForeignCatalogs(place, logger);
  let areOwnersDue = false;
  const stopped = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  let working: Promise<void> | undefined;

  function mark(projectId: number, why: string): void {
    try {
      marks.add(projectId, why);
    } catch (error) {
      logger.error({ err: error, project: projectId }, 'a damaged catalog could not be marked as such');
    }
  }

  function judge(projectId: number, problems: readonly string[]): void {
    const facts = { project: projectId, file: catalogPath(place, projectId) };
    const isMarked = marks.has(projectId);
    if (problems.length === 0) {
      clearedAt.set(projectId, performance.now());
      if (!isMarked) return;
      marks.remove(projectId);
      logged.delete(projectId);
      logger.info(facts, 'a catalog that was marked as damaged is whole, it is served again');
    } else {
      mark(projectId, problems.join('\n'));
      const text = 'a catalog is damaged and is not served: restore it from a backup';
      if (!logged.has(projectId)) logger.error({ ...facts, problems }, text);
      logged.set(projectId, stampOf(facts.file));
    }
  }

  async function checkOwnersIn(thread: ThreadPool): Promise<void> {
    if (!areOwnersDue) return;
    areOwnersDue = false;
    await thread
      .run<ForeignCatalog[]>('listForeign', {}, { key: 0 })
      .then(foreign.note)
      .catch((error: unknown) => {
        logger.warn({ err: error }, 'the owners of catalog files could not be checked; retrying');
        timers.push(setTimeout(checkOwners, RETRY_MS).unref());
      });
  }

  /** Uses a thread of its own, at low priority, while there is something to check. */
  async function work(): Promise<void> {
    const thread = createThreadPool(threadEntry('check-worker'), { size: 1, workerData: place });
    try {
      await checkOwnersIn(thread);
      for (let [projectId] = due; projectId !== undefined; [projectId] = due) {
        const begun = performance.now();
        due.delete(projectId);
        await thread
          .run<string[]>('check', { projectId }, { key: projectId })
          .then((problems) => judge(projectId as number, problems))
          .catch((error: unknown) => {
            logger.warn({ err: error, project: projectId }, 'a catalog could not be checked');
            // A disk that fails for a moment can look like damage; once it can be read, the difference shows.
            timers.push(setTimeout(() => void check([projectId as number]), RETRY_MS).unref());
          });
        await checkOwnersIn(thread);
        await delay(REST * (performance.now() - begun), undefined, { signal: stopped.signal, ref: false });
      }
    } catch {
      // Stopped.
    } finally {
      await thread.end();
      working = undefined;
      // Became due while the thread ended.
      if (areOwnersDue) void check([]);
    }
  }

  function check(projectIds: readonly number[]): Promise<void> {
    for (const id of projectIds) due.add(id);
    if (stopped.signal.aborted || (due.size === 0 && !areOwnersDue)) return Promise.resolve();
    working ??= work();
    return working;
  }

  /** Resolves when it is done, unless other checks are under way, which then include it. */
  function checkOwners(): Promise<void> {
    areOwnersDue = true;
    return check([]);
  }

  function checkAll(): Promise<void> {
    areOwnersDue = true;
    return check(listCatalogs(place));
  }

  const every = (ms: number, act: () => void) => timers.push(setInterval(act, ms).unref());

  return {
    list: () => marks.list(),
    listForeign: foreign.list,
    refuse(projectId: number): void {
      marks.refuse(projectId);
      foreign.refuse(projectId);
    },
    suspectOwner(projectId: number): void {
      if (!foreign.list().some((one) => one.projectId === projectId)) void checkOwners();
    },
    /** @param isCertain SQLite could not read the file, so nothing may be answered as absent from it */
    suspect(projectId: number, isCertain: boolean): void {
      if (marks.has(projectId)) return;
      if (isCertain) mark(projectId, 'SQLite could not read it; a check is under way');
      else if (performance.now() - (clearedAt.get(projectId) ?? Number.NEGATIVE_INFINITY) < CLEARED_MS)
        return;
      void check([projectId]);
    },
    checkAll,
    start(): void {
      const catalogs = listCatalogs(place);
      if (catalogs.length <= MOST_AT_START)
        foreign.note(listForeignCatalogs(dataFolderAt(dirname(place.catalogs))));
      else areOwnersDue = true;
      void check(marks.list());
      timers.push(setTimeout(checkAll, FIRST_ROUND_MS).unref());
      every(ROUND_MS, () => void checkAll());
      every(AGAIN_MS, () => {
        const changed = marks.list().filter((id) => logged.get(id) !== stampOf(catalogPath(place, id)));
        areOwnersDue ||= foreign.list().length > 0;
        void check(changed);
      });
    },
    async close(): Promise<void> {
      for (const timer of timers) clearTimeout(timer);
      stopped.abort();
      await working;
    },
  };
}
