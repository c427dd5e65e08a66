/** What the service knows about the state of its files: damaged and foreign catalogs, a full disk. */
import { statfs } from 'node:fs/promises';
import type { Config } from '../config.ts';
import type { FailureCode } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { ForeignCatalog } from '../storage/sqlite/sqlite.ts';
import type { Storage } from '../storage/storage.ts';
import { CatalogWatch } from './catalog-watch.ts';

/** Failures that make a check of a project's catalog due. */
const SUSPICIOUS: ReadonlySet<string | undefined> = new Set<FailureCode | 'unexpected'>([
  ...(['catalog_damaged', 'storage_failed', 'unexpected'] as const),
]);
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
  const catalogs = place.kind === 'embedded' ? new CatalogWatch(place, logger) : undefined;
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
    listDamaged: (): readonly number[] => catalogs?.listDamaged() ?? [],
    listForeign: (): readonly ForeignCatalog[] => catalogs?.listForeign() ?? [],
    /** @returns what an operator has to fix, for the health check; no paths, as it is open to everyone */
    async listProblems(): Promise<string[]> {
      const damaged = (catalogs?.listDamaged() ?? []).map(
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
