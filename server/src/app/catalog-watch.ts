/** Checks the catalog files of an embedded store at intervals, and after a failure that may be due to damage. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../kernel/logger.ts';
import { catalogPath, dataFolderAt, listCatalogs } from '../storage/folder/folder.ts';
import { type ForeignCatalog, listForeignCatalogs, openDamageMarks } from '../storage/sqlite/sqlite.ts';
import type { Storage } from '../storage/storage.ts';
import { createThreadPool, type ThreadPool } from '../storage/threads/threads.ts';
import { createForeignCatalogs } from './foreign-catalogs.ts';
import { threadEntry } from './stores.ts';

/** The delay after the start, so that work that has waited comes first. */
const FIRST_ROUND_MS = 60_000;
const ROUND_MS = 24 * 3_600_000;
/** A damaged catalog is checked again at this interval, because it may have been restored. */
const AGAIN_MS = 60_000;
/** The delay before a check that could not read the file is repeated. */
const RETRY_MS = 1_000;
/** After a check without findings, a failure does not cause another check for this long. */
const CLEARED_MS = 600_000;
/** A round pauses for this multiple of the time that a check took. */
const REST = 4;
/** A start reads the owners of up to this many catalogs (0.3 ms each). If there are more, the thread reads them. */
const MOST_AT_START = 500;

type EmbeddedPlace = Extract<Storage['place'], { kind: 'embedded' }>;

/** Tracks damaged and foreign catalogs, which are not served. */
export class CatalogWatch {
  private readonly location: EmbeddedPlace;
  private readonly logger: Logger;
  private readonly marks: ReturnType<typeof openDamageMarks>;
  private readonly foreign: ReturnType<typeof createForeignCatalogs>;
  private readonly due = new Set<number>();
  private areOwnersDue = false;
  private readonly clearedAt = new Map<number, number>();
  /** For each damaged catalog in the log, a stamp of its files. */
  private readonly logged = new Map<number, string>();
  private readonly stopped = new AbortController();
  private readonly timers: NodeJS.Timeout[] = [];
  private working: Promise<void> | undefined;

  constructor(location: EmbeddedPlace, logger: Logger) {
    this.location = location;
    this.logger = logger;
    this.marks = openDamageMarks(location.catalogs, location.markMoves);
    this.foreign = createForeignCatalogs(location, logger);
  }

  start(): void {
    const catalogs = listCatalogs(this.location);
    if (catalogs.length <= MOST_AT_START)
      this.foreign.note(listForeignCatalogs(dataFolderAt(dirname(this.location.catalogs))));
    else this.areOwnersDue = true;
    void this.check(this.marks.list());
    this.timers.push(setTimeout(() => void this.checkAll(), FIRST_ROUND_MS).unref());
    this.every(ROUND_MS, () => void this.checkAll());
    this.every(AGAIN_MS, () => this.checkAgain());
  }

  async close(): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    this.stopped.abort();
    await this.working;
  }

  listDamaged(): readonly number[] {
    return this.marks.list();
  }

  listForeign(): readonly ForeignCatalog[] {
    return this.foreign.list();
  }

  /** @throws catalog_damaged, catalog_foreign */
  refuse(projectId: number): void {
    this.marks.refuse(projectId);
    this.foreign.refuse(projectId);
  }

  suspectOwner(projectId: number): void {
    if (!this.foreign.list().some((catalog) => catalog.projectId === projectId)) void this.checkOwners();
  }

  /** @param isCertain whether SQLite could not read the file; then no answer may treat its products as absent */
  suspect(projectId: number, isCertain: boolean): void {
    if (this.marks.has(projectId)) return;
    const clearedAt = this.clearedAt.get(projectId) ?? Number.NEGATIVE_INFINITY;
    if (isCertain) this.mark(projectId, 'SQLite could not read it; a check is under way');
    else if (performance.now() - clearedAt < CLEARED_MS) return;
    void this.check([projectId]);
  }

  checkAll(): Promise<void> {
    this.areOwnersDue = true;
    return this.check(listCatalogs(this.location));
  }

  /** Checks the owners of all catalogs. Checks that are already in progress include this one. */
  private checkOwners(): Promise<void> {
    this.areOwnersDue = true;
    return this.check([]);
  }

  /** Checks the damaged catalogs whose files have changed, and the owners if a catalog is foreign. */
  private checkAgain(): void {
    const { foreign, location, logged, marks } = this;
    const changed = marks.list().filter((id) => logged.get(id) !== stampOf(catalogPath(location, id)));
    this.areOwnersDue ||= foreign.list().length > 0;
    void this.check(changed);
  }

  private check(projectIds: readonly number[]): Promise<void> {
    for (const id of projectIds) this.due.add(id);
    if (this.stopped.signal.aborted || (this.due.size === 0 && !this.areOwnersDue)) return Promise.resolve();
    this.working ??= this.work();
    return this.working;
  }

  /** Runs all due checks in a separate thread with low priority, which ends after the last check. */
  private async work(): Promise<void> {
    const thread = createThreadPool(threadEntry('check-worker'), { size: 1, workerData: this.location });
    try {
      await this.checkOwnersIn(thread);
      for (let [projectId] = this.due; projectId !== undefined; [projectId] = this.due) {
        const begun = performance.now();
        this.due.delete(projectId);
        await this.checkIn(thread, projectId);
        await this.checkOwnersIn(thread);
        const restMs = REST * (performance.now() - begun);
        await delay(restMs, undefined, { signal: this.stopped.signal, ref: false });
      }
    } catch {
      // The service has stopped.
    } finally {
      await thread.end();
      this.working = undefined;
      // The owners became due while the thread ended.
      if (this.areOwnersDue) void this.check([]);
    }
  }

  private async checkIn(thread: ThreadPool, projectId: number): Promise<void> {
    await thread
      .run<string[]>('check', { projectId }, { key: projectId })
      .then((problems) => this.judge(projectId, problems))
      .catch((error: unknown) => {
        this.logger.warn({ err: error, project: projectId }, 'checking a catalog failed; retrying in 1 s');
        // A temporary failure of the disk can look like damage, so the check is repeated.
        this.timers.push(setTimeout(() => void this.check([projectId]), RETRY_MS).unref());
      });
  }

  private async checkOwnersIn(thread: ThreadPool): Promise<void> {
    if (!this.areOwnersDue) return;
    this.areOwnersDue = false;
    await thread
      .run<ForeignCatalog[]>('listForeign', {}, { key: 0 })
      .then(this.foreign.note)
      .catch((error: unknown) => {
        this.logger.warn({ err: error }, 'checking the owners of catalog files failed; retrying in 1 s');
        this.timers.push(setTimeout(() => void this.checkOwners(), RETRY_MS).unref());
      });
  }

  private judge(projectId: number, problems: readonly string[]): void {
    const { clearedAt, logged, logger, marks } = this;
    const facts = { project: projectId, file: catalogPath(this.location, projectId) };
    const isMarked = marks.has(projectId);
    if (problems.length === 0) {
      clearedAt.set(projectId, performance.now());
      if (!isMarked) return;
      marks.remove(projectId);
      logged.delete(projectId);
      logger.info(facts, 'a catalog that was marked as damaged has no damage; it is served again');
    } else {
      this.mark(projectId, problems.join('\n'));
      const text = 'a catalog is damaged and is not served; restore it from a backup';
      if (!logged.has(projectId)) logger.error({ ...facts, problems }, text);
      logged.set(projectId, stampOf(facts.file));
    }
  }

  private mark(projectId: number, why: string): void {
    try {
      this.marks.add(projectId, why);
    } catch (error) {
      this.logger.error(
        { err: error, project: projectId },
        'storing the mark of a damaged catalog failed; the catalog is not served until this process stops',
      );
    }
  }

  private every(ms: number, act: () => void): void {
    this.timers.push(setInterval(act, ms).unref());
  }
}

/** @returns a stamp that changes when a catalog file is written to or replaced */
const stampOf = (path: string) =>
  [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs).join();
