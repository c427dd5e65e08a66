import type { CatalogParts } from './catalog-parts.ts';
import { listLiveFullUpdates, undoLimitsOf } from './updates/updates.ts';

type Parts = Pick<CatalogParts, 'store' | 'database' | 'clock' | 'logger' | 'getSettings'>;

/**
 * Removes documents and rows that nothing points to from the catalogs, in the background: at most one run per
 * project at a time.
 */
export class GarbageCollection {
  private readonly parts: Parts;
  private readonly collecting = new Set<number>();
  /** Projects that got more garbage while a run was collecting theirs. */
  private readonly again = new Set<number>();
  private isClosing = false;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  async collect(projectId: number): Promise<void> {
    const { collecting, again } = this;
    if (this.isClosing) return;
    if (collecting.has(projectId)) return void again.add(projectId);
    collecting.add(projectId);
    await this.collectAll(projectId).catch((error: unknown) =>
      // The change is committed. Nothing points to the remaining garbage, and the next change continues to remove
      // it.
      this.parts.logger.warn(
        { err: error, project: projectId },
        'removing replaced products failed; the next change of the project retries it',
      ),
    );
    collecting.delete(projectId);
    if (again.delete(projectId)) await this.collect(projectId);
  }

  /** Removes a batch that was staged after its full update was discarded and its staged products were removed. */
  async collectUnlessLive(projectId: number, fullUpdateId: number): Promise<void> {
    const { database, logger } = this.parts;
    try {
      const live = await listLiveFullUpdates(database, projectId);
      if (!live.includes(fullUpdateId)) await this.collect(projectId);
    } catch (error) {
      // The remaining garbage only takes space, until the next change of the project.
      logger.warn(
        { err: error, project: projectId },
        'removing the staged products of a discarded full update failed; the next change of the project retries it',
      );
    }
  }

  close(): void {
    this.isClosing = true;
  }

  private async collectAll(projectId: number): Promise<void> {
    const { store, database, clock, getSettings } = this.parts;
    const limits = undoLimitsOf(await getSettings(projectId), clock.now());
    let isMore = true;
    while (isMore && !this.isClosing) {
      const live = await listLiveFullUpdates(database, projectId);
      isMore = await store.collectGarbage(projectId, { live, ...limits });
    }
  }
}
