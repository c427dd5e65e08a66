/** What the service does by itself from time to time: forgetting what is old, removing what nobody owns any more. */
import type { Access } from './access/access.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Config } from './config.ts';
import { dropOldAnswers } from './http/http.ts';
import type { Clock } from './kernel/clock.ts';
import type { Logger } from './kernel/logger.ts';
import type { Projects } from './projects/projects.ts';
import type { Statistics } from './statistics/statistics.ts';
import type { Database, PayloadFiles } from './storage/storage.ts';
import type { Tasks } from './tasks/tasks.ts';

export interface UpkeepParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly tasks: Tasks;
  readonly projects: Projects;
  readonly access: Access;
  readonly statistics: Statistics;
  readonly catalog: Catalog;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function startUpkeep(parts: UpkeepParts) {
  const { config, clock, logger, database, payloads, tasks, projects, access, statistics, catalog } = parts;
  let timer: NodeJS.Timeout | undefined;

  async function tidy(): Promise<void> {
    try {
      const now = clock.now();
      await tasks.dropEndedBefore(now - config.taskRetentionDays * DAY_MS);
      await dropOldAnswers(database, now - DAY_MS);
      await access.dropEndedWindows();
      await statistics.dropOld();
      // Of a process that died while others went on.
      await catalog.fullUpdates.closeEnded();
      await projects.purgeDeleted((projectId) => catalog.store.removeCatalog(projectId));
    } catch (error) {
      logger.warn({ err: error }, 'tidying up failed, it is tried again in an hour');
    }
  }

  return {
    start(): void {
      timer = setInterval(() => void tidy(), HOUR_MS);
      timer.unref();
      void tidy();
    },
    stop: () => clearInterval(timer),
    /** Payloads whose request was never accepted, because the process died in between. */
    async removeOrphans(): Promise<void> {
      const owned = new Set(await catalog.listPayloads());
      for (const task of await tasks.listOpen()) {
        const { source } = JSON.parse(task.payload) as { source?: { payloadName?: string } };
        if (source?.payloadName !== undefined) owned.add(source.payloadName);
      }
      for (const { projectId, name } of await payloads.listOlderThan(DAY_MS)) {
        if (!owned.has(name)) await payloads.remove(projectId, name);
      }
    },
  };
}
