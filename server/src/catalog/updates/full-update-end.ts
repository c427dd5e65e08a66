import type { Task } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import { listBatches } from './batch-store.ts';
import { closeFullUpdate, type FullUpdate, type FullUpdateKey, listUnclosed } from './full-update-store.ts';
import type { Staging } from './staging.ts';

type EndState = 'committed' | 'discarded';

/** Ends a full update and its uploads: after its commit, or because it is discarded. */
export class FullUpdateEnd {
  private readonly parts: CatalogParts;
  private readonly staging: Staging;

  constructor(parts: CatalogParts, staging: Staging) {
    this.parts = parts;
    this.staging = staging;
  }

  /** Ends a full update and its uploads, and removes their bodies. */
  async close(key: FullUpdateKey, state: EndState): Promise<void> {
    await this.removeBodies(key.projectId, await this.end(key, state));
  }

  /** @returns the names of the payloads to remove */
  async end(key: FullUpdateKey, state: EndState): Promise<readonly string[]> {
    const { database, tasks } = this.parts;
    const batches = await listBatches(database.read, key);
    const uploadTasks = await Promise.all(batches.map(({ taskId }) => tasks.find(taskId)));
    const uploads = uploadTasks.filter((task) => task !== undefined);
    await tasks.endTasks(uploads, state === 'committed' ? 'FINISHED' : 'CANCELLED');
    await closeFullUpdate(database, key, state);
    // Runs before the bodies are removed, because batches that are being staged are no longer needed.
    this.staging.forget(key.id);
    return batches.map(({ payloadName }) => payloadName);
  }

  async removeBodies(projectId: number, names: readonly string[]): Promise<void> {
    for (const name of names) await this.parts.payloads.remove(projectId, name);
    this.parts.collectGarbage(projectId);
  }

  /**
   * The new full update is stored. If closing the old ones fails, they are closed with the next one or at the next
   * start.
   */
  async closeDiscarded(projectId: number): Promise<void> {
    const { database, logger } = this.parts;
    try {
      for (const update of await listUnclosed(database))
        if (update.projectId === projectId && update.state === 'discarded')
          await this.close(update, 'discarded');
    } catch (error) {
      // No reader sees a discarded full update, and upkeep closes the remaining ones.
      logger.warn(
        { err: error, project: projectId },
        'closing a discarded full update failed; it is retried within an hour',
      );
    }
  }

  /** Closes full updates that a former process left half closed: they were discarded, or their commits have ended. */
  async closeEnded(): Promise<void> {
    const { database, tasks } = this.parts;
    for (const update of await listUnclosed(database)) {
      const { state, commitTaskId } = update;
      const commit = commitTaskId === undefined ? undefined : await tasks.find(commitTaskId);
      const isUnderWay = state === 'committing' && commit?.finishedAt === undefined;
      if (!isUnderWay) await this.close(update, endOf(state, commit));
    }
  }
}

const endOf = (state: FullUpdate['state'], commit: Task | undefined): EndState =>
  state !== 'discarded' && commit?.status === 'FINISHED' ? 'committed' : 'discarded';
