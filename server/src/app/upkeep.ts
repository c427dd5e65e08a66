/** What the service does by itself from time to time: forgetting what is old, removing what nobody owns any more. */
import type { Access } from '../access/access.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import { dropOldAnswers } from '../http/http.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Pipelines } from '../pipelines/pipelines.ts';
import type { Projects } from '../projects/projects.ts';
import type { Statistics } from '../statistics/statistics.ts';
import type { Database, PayloadFiles } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

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
  readonly pipelines: Pipelines;
  readonly webhooks: Webhooks;
}

/** The payload of a task, as far as it names what it needs to be kept. */
interface OwnedPayloads {
  readonly source?: { readonly payloadName?: string };
  readonly payloadNames?: readonly string[];
}

const listOwned = ({ payload }: { payload: string }): string[] => {
  const { source, payloadNames = [] } = JSON.parse(payload) as OwnedPayloads;
  return [source?.payloadName ?? [], payloadNames].flat();
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function startUpkeep(parts: UpkeepParts) {
  const { config, clock, logger, database, payloads, tasks } = parts;
  const { projects, access, statistics, catalog, pipelines, webhooks } = parts;
  let timer: NodeJS.Timeout | undefined;

  async function tidy(): Promise<void> {
    try {
      const now = clock.now();
      await tasks.dropEndedBefore(now - config.taskRetentionDays * DAY_MS);
      await pipelines.dropForgotten();
      await webhooks.dropOld();
      await dropOldAnswers(database, now - DAY_MS);
      await access.dropEnded();
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
      const owned = new Set([...(await catalog.listPayloads()), ...(await pipelines.listPayloads())]);
      for (const task of await tasks.listOpen()) for (const name of listOwned(task)) owned.add(name);
      for (const { projectId, name } of await payloads.listOlderThan(DAY_MS)) {
        if (!owned.has(name)) await payloads.remove(projectId, name);
      }
    },
  };
}
