/**
 * Starts builds when a schedule is due or a catalog has changed. Source: docs/interface §16.4. A channel that follows
 * its catalog has a time before which it is not built again. If the catalog is unchanged at that time, the channel
 * waits without a time, and its catalog is no longer read. The next write of the catalog gives the waiting channels a
 * time.
 */
import { createSchedule, moveDue, startOnce } from '../../definitions/definitions.ts';
import type { Found } from '../../projects/projects.ts';
import { type Base, readNow } from '../../storage/storage.ts';
import { createDueWatch } from '../../tasks/tasks.ts';
import type { Channel } from '../channel-definitions/channel-definitions.ts';
import {
  CHANNELS,
  listFollowing,
  listUnnoticed,
  planNext,
} from '../channel-definitions/channel-definitions.ts';
import type { ChannelBuilds } from './channel-builds.ts';

export interface ChannelScheduleParts extends Pick<Base, 'database' | 'logger'> {
  readonly builds: Pick<ChannelBuilds, 'start'>;
  /** Reads the version of a catalog as last committed. */
  readVersion(projectId: number): Promise<number>;
}

/** How often processes on a shared database look for changes that another process missed because it died. */
const SWEEP_EVERY_MS = 60_000;

export function createChannelSchedule(parts: ChannelScheduleParts) {
  const { database, logger } = parts;
  return createSchedule({
    database,
    logger,
    table: CHANNELS,
    subject: 'channels',
    startDue: (due) => startDue(parts, due),
  });
}

/** @returns functions that note each write of a catalog, and that give waiting channels their time */
export function createChangeNotices(parts: Omit<ChannelScheduleParts, 'builds'>) {
  const { database, logger } = parts;
  const written = new Set<number>();
  let sweepAt = 0;

  async function listWritten(): Promise<number[]> {
    if (performance.now() >= sweepAt) {
      for (const projectId of await listUnnoticed(database)) written.add(projectId);
      // With a single process, no write is missed while the process lives.
      sweepAt = database.isShared ? performance.now() + SWEEP_EVERY_MS : Number.POSITIVE_INFINITY;
    }
    return [...written];
  }

  const changes = createDueWatch<number>({
    logger,
    subject: 'changes that channels wait for',
    listDue: async (after) => (after === undefined ? listWritten() : []),
    async startDue(projectId) {
      // Deleted before the catalog is read, so that a write during the reading is noted again.
      written.delete(projectId);
      try {
        await wakeFollowing(parts, projectId);
      } catch (error) {
        written.add(projectId);
        throw error;
      }
    },
  });
  return { changes, noteWrite: (projectId: number) => void written.add(projectId) };
}

async function wakeFollowing(
  { database, readVersion }: Omit<ChannelScheduleParts, 'builds'>,
  projectId: number,
): Promise<void> {
  // Read before the channels: a channel with a later time reads the catalog after the write.
  const now = await readNow(database.read, database);
  const following = await listFollowing(database.read, projectId, now);
  if (following.length === 0) return;
  const version = await readVersion(projectId);
  const behind = following.filter(({ state }) => state.builtVersion !== version);
  if (behind.length === 0) return;
  await database.write(projectId, async (tx) => {
    // A channel that is already due stays due, unless it begins to wait before this transaction locks the project.
    for (const channel of behind)
      await moveDue(tx, CHANNELS, { resource: { ...channel, dueAt: undefined }, next: { dueAt: now } });
  });
}

async function startDue(parts: ChannelScheduleParts, { resource, project }: Found<Channel>): Promise<void> {
  const { database, builds, readVersion } = parts;
  const { projectId, state, definition } = resource;
  const isChange = definition.trigger.type === 'change';
  const version = isChange ? await readVersion(projectId) : undefined;
  if (isChange && version === state.builtVersion) return waitForChange(parts, resource);
  const { trigger } = definition;
  const waitMs = trigger.type === 'change' ? trigger.minSecondsBetween * 1_000 : 0;
  const dueAt = planNext(trigger, await readNow(database.read, database), waitMs);
  const next = { dueAt, ...(isChange && { columns: { built_version: version } }) };
  const startedBy = isChange ? 'change' : 'schedule';
  const isStarted = await startOnce(CHANNELS, { resource, next, busy: 'channel_building' }, (alongside) =>
    builds.start(resource, project, { startedBy, alongside }),
  );
  // A change is not rescheduled during a build, because it is still a change afterwards.
  if (!isStarted && !isChange)
    await database.write(projectId, (tx) => moveDue(tx, CHANNELS, { resource, next }));
}

/**
 * Reads the version again under the lock that notices wait for. So either this transaction sees the change, or the
 * notice sees the waiting channel.
 */
async function waitForChange({ database, readVersion }: ChannelScheduleParts, channel: Channel) {
  const { projectId, state } = channel;
  await database.write(projectId, async (tx) => {
    if ((await readVersion(projectId)) === state.builtVersion)
      await moveDue(tx, CHANNELS, { resource: channel, next: { dueAt: undefined } });
  });
}
