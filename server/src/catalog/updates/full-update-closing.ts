import type { CatalogParts } from '../parts.ts';
import { closeFullUpdate, listBatches, listUnclosed } from './full-update-store.ts';

/** The end of full updates: their uploads end with them, and what only they needed goes. */
export class FullUpdateClosing {
  private readonly parts: CatalogParts;
  private readonly onClosed: (fullUpdateId: number) => void;

  constructor(parts: CatalogParts, onClosed: (fullUpdateId: number) => void) {
    this.parts = parts;
    this.onClosed = onClosed;
  }

  /** Uploads end with their full update. */
  async close(projectId: number, fullUpdateId: number, state: 'committed' | 'discarded'): Promise<void> {
    await this.removeBodies(projectId, await this.end(projectId, fullUpdateId, state));
  }

  /** The same of a commit, which nobody should see later because of its bodies: 2 ms each, of 15 MB. */
  async closeCommitted(projectId: number, fullUpdateId: number): Promise<void> {
    const bodies = await this.end(projectId, fullUpdateId, 'committed');
    // The commit took effect; bodies that stay take room only.
    this.removeBodies(projectId, bodies).catch((error: unknown) =>
      this.parts.logger.warn({ err: error, project: projectId }, 'bodies are removed at the next start'),
    );
  }

  /** @returns the payloads that are left */
  private async end(
    projectId: number,
    fullUpdateId: number,
    state: 'committed' | 'discarded',
  ): Promise<readonly string[]> {
    const { database, tasks } = this.parts;
    const key = { id: fullUpdateId, projectId };
    const batches = await listBatches(database.read, key);
    const uploads = await Promise.all(batches.map(({ taskId }) => tasks.find(taskId)));
    const known = uploads.filter((task) => task !== undefined);
    await tasks.endTasks(known, state === 'committed' ? 'FINISHED' : 'CANCELLED');
    await closeFullUpdate(database, key, state);
    // Before its bodies are removed: batches being staged are no longer needed.
    this.onClosed(fullUpdateId);
    return batches.map(({ payloadName }) => payloadName);
  }

  private async removeBodies(projectId: number, names: readonly string[]): Promise<void> {
    for (const name of names) await this.parts.payloads.remove(projectId, name);
    this.parts.collectGarbage(projectId);
  }

  /** The new one is stored: what fails in closing the old ones is done with the next, or at the next start. */
  async closeDiscarded(projectId: number): Promise<void> {
    try {
      const unclosed = await listUnclosed(this.parts.database);
      const mine = unclosed.filter((one) => one.projectId === projectId && one.state === 'discarded');
      for (const { id } of mine) await this.close(projectId, id, 'discarded');
    } catch (error) {
      // No reader sees a discarded session; upkeep closes what is left.
      this.parts.logger.warn({ err: error, project: projectId }, 'a discarded full update is closed later');
    }
  }

  /** Closes what a former process left half closed: it was discarded, or its commit has ended. */
  async closeEnded(): Promise<void> {
    for (const { id, projectId, state, commitTaskId } of await listUnclosed(this.parts.database)) {
      const commit = commitTaskId === undefined ? undefined : await this.parts.tasks.find(commitTaskId);
      const isUnderWay = state === 'committing' && commit?.finishedAt === undefined;
      if (isUnderWay) continue;
      const isCommitted = state !== 'discarded' && commit?.status === 'FINISHED';
      await this.close(projectId, id, isCommitted ? 'committed' : 'discarded');
    }
  }
}
