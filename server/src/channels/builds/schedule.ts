/**
 * Starts builds when a schedule is due or a catalog has changed. Source: docs/interface.md §16.4.
 *
 * A channel that follows its catalog has the time before which it is not built again. When that has come and the catalog is as it
 * was, the channel waits without a time, and is read no more. The write of a catalog gives the channels that wait for it a time.
 */
import { createSchedule, moveDue, startOnce } from '../../definitions/definitions.ts';
import type { Found } from '../../projects/projects.ts';
import { type Base, readNow } from '../../storage/storage.ts';
import { createDueWatch } from '../../tasks/tasks.ts';
import {
  CHANNELS,
  type Channel,
  listFollowing,
  listUnnoticed,
  planNext,
} from '../definitions/definitions.ts';
import type { ChannelBuilds } from './channel-builds.ts';

export interface ChannelScheduleParts extends Pick<Base, 'database' | 'logger'> {
  readonly builds: Pick<ChannelBuilds, 'start'>;
  /** Of a catalog, as last committed. */
  readVersion(projectId: number): Promise<number>;
}

/** How often processes on one database search for changes whose own process died before it noticed them. */
const SWEEP_EVERY_MS = 60_000;

export function createChannelSchedule(parts: ChannelScheduleParts) {
  const { database, logger } = parts;
  return createSchedule({
    ...{ database, logger, table: CHANNELS, subject: 'channels' },
    startDue: (found) => startDue(parts, found),
  });
}

/** @returns what notes each write of a catalog, and what gives channels that wait for it their time */
export function createChangeNotices(parts: Omit<ChannelScheduleParts, 'builds'>) {
  const { database, logger } = parts;
  const written = new Set<number>();
  let sweepAt = 0;

  async function listWritten(): Promise<number[]> {
    if (performance.now() >= sweepAt) {
      for (const projectId of await listUnnoticed(database)) written.add(projectId);
      // Of one process no write goes unnoticed while it lives.
      sweepAt = database.isShared ? performance.now() + SWEEP_EVERY_MS : Number.POSITIVE_INFINITY;
    }
    return [...written];
  }

  const changes = createDueWatch<number>({
    logger,
    subject: 'changes that channels wait for',
    listDue: async (after) => (after === undefined ? listWritten() : []),
    async startDue(projectId) {
      // Before anything is read: a write that comes meanwhile is noted again.
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
  // Before the channels are read: one whose time comes later than this reads the catalog after the write.
  const now = await readNow(database.read, database);
  const following = await listFollowing(database.read, projectId, now);
  if (following.length === 0) return;
  const version = await readVersion(projectId);
  const behind = following.filter(({ state }) => state.builtVersion !== version);
  if (behind.length === 0) return;
  await database.write(projectId, async (tx) => {
    // One that is due by its time stays so, unless it begins to wait before this has the project.
    for (const channel of behind)
      await moveDue(tx, CHANNELS, {
        ...{ resource: { ...channel, dueAt: undefined }, next: { dueAt: now } },
      });
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
  // While it is being built a change does not move: it is still one afterwards.
  if (!isStarted && !isChange)
    await database.write(projectId, (tx) => moveDue(tx, CHANNELS, { resource, next }));
}

/** The version is read again where notices of the project wait: a change is seen by this, or its notice sees that the channel waits. */
async function waitForChange({ database, readVersion }: ChannelScheduleParts, channel: Channel) {
  const { projectId, state } = channel;
  await database.write(projectId, async (tx) => {
    if ((await readVersion(projectId)) === state.builtVersion)
      await moveDue(tx, CHANNELS, { resource: channel, next: { dueAt: undefined } });
  });
}
