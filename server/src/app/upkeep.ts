/** Periodic maintenance: removes old rows, and payloads without an owner. */
import { CHANNEL_SECRETS } from '../channels/channel-definitions/channel-definitions.ts';
import { dropAnswersBefore as dropOldAnswers } from '../http/answers/answers.ts';
import { PIPELINE_SECRETS } from '../pipelines/pipeline-definitions/pipeline-definitions.ts';
import { resealColumn } from '../storage/secrets/secrets.ts';
import { listNeededPayloads } from '../transfer/transfer.ts';
import type { Parts } from './parts.ts';

const SECRETS_PLAIN = 'secrets of pipelines are stored unencrypted; set RELATA_SECRET_KEYS to encrypt them';
const SECRETS_UNREADABLE =
  'there are secrets that no key of the service decrypts; add their key to RELATA_SECRET_KEYS, or enter them again';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function startUpkeep(parts: Parts) {
  const { config, clock, logger, database, payloads, tasks } = parts;
  const { projects, access, statistics, catalog, pipelines, webhooks } = parts;
  let timer: NodeJS.Timeout | undefined;

  async function tidy(): Promise<void> {
    try {
      const now = clock.now();
      await tasks.dropEndedBefore(now - config.taskRetentionDays * DAY_MS);
      await webhooks.dropOld();
      await dropOldAnswers(database, now - DAY_MS);
      await access.dropEnded();
      await statistics.dropOld();
      // Closes the full updates of a process that died while others continued.
      await catalog.fullUpdates.ends.closeEnded();
      await projects.purgeDeleted((projectId) => catalog.store.removeCatalog(projectId));
    } catch (error) {
      // An unreachable database must not stop the service. Old rows stay for another hour.
      logger.warn({ err: error }, 'removing old rows failed; retrying in an hour');
    }
  }

  function noteSealed(table: string, { resealed, unreadable }: { resealed: number; unreadable: number }) {
    const facts = { table, resealed, unreadable };
    if (resealed > 0) logger.info(facts, 'stored secrets were encrypted again with the present key');
    if (unreadable > 0) logger.warn(facts, SECRETS_UNREADABLE);
  }

  return {
    start(): void {
      timer = setInterval(() => void tidy(), HOUR_MS);
      timer.unref();
      void tidy();
    },
    stop: () => clearInterval(timer),
    /**
     * Seals secrets with the current key if they are unsealed or were sealed with an earlier key.
     * Source: docs/operating/settings.md, "Secrets".
     */
    async sealSecrets(): Promise<void> {
      const plain = await pipelines.sealPlain();
      if (plain > 0) logger.warn({ pipelines: plain }, SECRETS_PLAIN);
      for (const { column } of [PIPELINE_SECRETS, CHANNEL_SECRETS])
        noteSealed(column.table, await resealColumn(database, parts.secrets, column));
      noteSealed('webhook_endpoint', await webhooks.sealSecrets());
    },
    /** Removes payloads of requests that were never accepted because the process died before. */
    async removeOrphans(): Promise<void> {
      const owned = new Set((await listNeededPayloads(database.read)).map(({ name }) => name));
      for (const { projectId, name } of await payloads.listOlderThan(DAY_MS)) {
        if (!owned.has(name)) await payloads.remove(projectId, name);
      }
    },
  };
}
