import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { catalogPath } from '../storage/folder/folder.ts';
import type { ForeignCatalog } from '../storage/sqlite/sqlite.ts';
import type { Storage } from '../storage/storage.ts';

const FOREIGN =
  'a catalog file belongs to another project or installation, so its project is not served; restore it from a backup';

/** Stores which catalog files the last check found to belong to another project or installation. */
export function createForeignCatalogs(
  location: Extract<Storage['place'], { kind: 'embedded' }>,
  logger: Logger,
) {
  let reasonByProject: ReadonlyMap<number, string> = new Map();

  function logChanges(now: ReadonlyMap<number, string>): void {
    for (const [project, reason] of now) {
      const file = catalogPath(location, project);
      if (!reasonByProject.has(project)) logger.error({ project, file, reason }, FOREIGN);
    }
    for (const project of reasonByProject.keys())
      if (!now.has(project))
        logger.info(
          { project },
          'the catalog file of a project belongs to it again, so the project is served',
        );
  }

  return {
    note(catalogs: readonly ForeignCatalog[]): void {
      const now = new Map(catalogs.map(({ projectId, reason }) => [projectId, reason]));
      logChanges(now);
      reasonByProject = now;
    },
    list: (): ForeignCatalog[] => [...reasonByProject].map(([projectId, reason]) => ({ projectId, reason })),
    /** @throws catalog_foreign */
    refuse(projectId: number): void {
      if (reasonByProject.has(projectId)) throw new ServiceError('catalog_foreign', { values: [projectId] });
    },
  };
}
