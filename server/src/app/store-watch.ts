/** Tracks the state of the service's files: damaged and foreign catalogs, and a full disk. */
import { statfs } from 'node:fs/promises';
import type { Config } from '../config.ts';
import type { FailureCode } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { ForeignCatalog } from '../storage/sqlite/sqlite.ts';
import type { Storage } from '../storage/storage.ts';
import { CatalogWatch } from './catalog-watch.ts';

/** Failures after which the catalog of the project is checked. */
const SUSPICIOUS: ReadonlySet<string | undefined> = new Set<FailureCode | 'unexpected'>([
  ...(['catalog_damaged', 'storage_failed', 'unexpected'] as const),
]);
/** How long a disk is reported as full after a write has failed. */
const FULL_MS = 60_000;
const MIB = 1024 * 1024;
/** The next batch would not fit into less free space. */
const LEAST_FREE_BYTES = 64 * MIB;

export type StoreWatch = ReturnType<typeof watchStore>;

interface WatchParts {
  readonly config: Pick<Config, 'dataDir'>;
  readonly storage: Pick<Storage, 'place'>;
  readonly logger: Logger;
}

/** Watches the files of the embedded store. On PostgreSQL it only reports a full disk. */
export function watchStore({ config, storage: { place }, logger }: WatchParts) {
  const catalogs = place.kind === 'embedded' ? new CatalogWatch(place, logger) : undefined;
  const disk = watchDisk(place.kind === 'embedded' ? config.dataDir : undefined, logger);
  return {
    /** Call it for each failure of a request or task. @param code the code of the refusal */
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
    /** @returns the problems that an operator has to fix, without paths, because the health check is public */
    async listProblems(): Promise<string[]> {
      const damaged = (catalogs?.listDamaged() ?? []).map(
        (id) =>
          `the catalog of project ${id} is damaged or being checked: restore it from a backup if this continues`,
      );
      const foreign = this.listForeign().map(
        ({ projectId, reason }) =>
          `the catalog of project ${projectId} is not served, ${reason}: restore the project from a backup`,
      );
      return [...(await disk.describe()), ...damaged, ...foreign];
    },
    /** Checks all catalogs now. Resolves when the checks are complete. */
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
      if (isNews)
        logger.error({ dataDir, disk: name }, 'free space has run out; writes are refused with 507');
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
