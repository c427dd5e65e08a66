/**
 * Starts builds when a schedule is due or a catalog has changed. Source: docs/interface.md §16.4.
 *
 * A channel that follows its catalog has the time before which it is not built again. When that has come and the catalog is as it
 * was, the channel waits without a time, and is read no more. The write of a catalog gives the channels that wait for it a time.
 */
import { ServiceError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import { findNextRun } from '../../pipelines/pipelines.ts';
import { type ControlTransaction, type Database, readNow } from '../../storage/storage.ts';
import { createDueWatch, Moved } from '../../tasks/tasks.ts';
import {
  type BuildStart,
  type Channel,
  type FoundChannel,
  listDue,
  listFollowing,
  listUnnoticed,
  moveNext,
  type NextBuild,
} from '../definitions/definitions.ts';
import type { ChannelBuilds } from './channel-builds.ts';

export interface ChannelScheduleParts {
  readonly database: Database;
  readonly logger: Logger;
  readonly builds: Pick<ChannelBuilds, 'start'>;
  /** Of a catalog, as last committed. */
  readVersion(projectId: number): Promise<number>;
}

/** Of those that are due, read at a time. */
const TOGETHER = 500;
/** How often processes on one database search for changes whose own process died before it noticed them. */
const SWEEP_EVERY_MS = 60_000;

const isBuilding = (error: unknown) => error instanceof ServiceError && error.code === 'channel_building';

/**
 * Every process that runs tasks looks. The next time is written in the transaction that starts the build, so one of them
 * starts it; a time that passed while nobody looked is due once.
 */
export function createChannelSchedule(parts: ChannelScheduleParts) {
  const { database, logger } = parts;
  return createDueWatch<FoundChannel>({
    logger,
    subject: 'channels',
    listDue: (after) => listDue(database, { after: after?.channel, limit: TOGETHER }),
    startDue: (found) =>
      found.channel.definition.trigger.type === 'change'
        ? startChanged(parts, found)
        : startPlanned(parts, found),
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
  const behind = following.filter(({ builtVersion }) => builtVersion !== version);
  if (behind.length === 0) return;
  await database.write(
    async (tx) => {
      // One that is due by its time stays so, unless it begins to wait before this has the project.
      for (const channel of behind)
        await moveNext(tx, { ...channel, nextBuildAt: undefined }, { nextBuildAt: now });
    },
    { of: projectId },
  );
}

async function startChanged(parts: ChannelScheduleParts, found: FoundChannel): Promise<void> {
  const { channel } = found;
  const version = await parts.readVersion(channel.projectId);
  if (version === channel.builtVersion) return waitForChange(parts, channel);
  const next = { nextBuildAt: await planNext(parts, channel), version };
  // While it is being built nothing moves: the change is still one afterwards.
  await startOnce(parts, found, { startedBy: 'change', next });
}

/** The version is read again where notices of the project wait: a change is seen by this, or its notice sees that the channel waits. */
async function waitForChange(
  { database, readVersion }: ChannelScheduleParts,
  channel: Channel,
): Promise<void> {
  const { projectId, builtVersion } = channel;
  await database.write(
    async (tx) => {
      if ((await readVersion(projectId)) === builtVersion)
        await moveNext(tx, channel, { nextBuildAt: undefined });
    },
    { of: projectId },
  );
}

async function startPlanned(parts: ChannelScheduleParts, found: FoundChannel): Promise<void> {
  const { channel } = found;
  const next = { nextBuildAt: await planNext(parts, channel) };
  if (await startOnce(parts, found, { startedBy: 'schedule', next })) return;
  await parts.database.write((tx) => moveNext(tx, channel, next), { of: channel.projectId });
}

/** @returns false while a build is going on */
async function startOnce(
  { builds }: ChannelScheduleParts,
  { channel, project }: FoundChannel,
  { startedBy, next }: { readonly startedBy: BuildStart; readonly next: NextBuild },
): Promise<boolean> {
  const alongside = async (tx: ControlTransaction) => {
    if (!(await moveNext(tx, channel, next))) throw new Moved();
  };
  try {
    await builds.start(channel, project, { startedBy, alongside });
    return true;
  } catch (error) {
    if (error instanceof Moved) return true;
    if (isBuilding(error)) return false;
    throw error;
  }
}

async function planNext(
  { database }: ChannelScheduleParts,
  { definition: { trigger } }: Channel,
): Promise<number | undefined> {
  const now = await readNow(database.read, database);
  if (trigger.type === 'change') return now + trigger.minSecondsBetween * 1_000;
  return trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined;
}
