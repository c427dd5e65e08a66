import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { catalogPath } from '../storage/folder/folder.ts';
import type { ForeignCatalog } from '../storage/sqlite/sqlite.ts';
import type { Storage } from '../storage/storage.ts';

const FOREIGN =
  'a catalog file belongs to another project or installation, so its project is not served; restore it from a backup';

/** Stores which catalog files the last check found to belong to another project or installation. */
export function createForeignCatalogs(
  place: Extract<Storage['place'], { kind: 'embedded' }>,
  logger: Logger,
) {
  let known: ReadonlyMap<number, string> = new Map();

  function logChanges(now: ReadonlyMap<number, string>): void {
    for (const [project, reason] of now) {
      const file = catalogPath(place, project);
      if (!known.has(project)) logger.error({ project, file, reason }, FOREIGN);
    }
    for (const project of known.keys())
      if (!now.has(project))
        logger.info(
          { project },
          'the catalog file of a project belongs to it again, so the project is served',
        );
  }

  return {
    note(found: readonly ForeignCatalog[]): void {
      const now = new Map(found.map(({ projectId, reason }) => [projectId, reason]));
      logChanges(now);
      known = now;
    },
    list: (): ForeignCatalog[] => [...known].map(([projectId, reason]) => ({ projectId, reason })),
    /** @throws catalog_foreign */
    refuse(projectId: number): void {
      if (known.has(projectId)) throw new ServiceError('catalog_foreign', { values: [projectId] });
    },
  };
}
