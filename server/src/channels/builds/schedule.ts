/** Starts builds when a schedule is due or a catalog has changed. Source: docs/interface.md §16.4. */
import { ServiceError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import { findNextRun } from '../../pipelines/pipelines.ts';
import { type ControlTransaction, type Database, readNow } from '../../storage/storage.ts';
import { createDueWatch, type DueWatch, Moved } from '../../tasks/tasks.ts';
import {
  type BuildStart,
  type Channel,
  type FoundChannel,
  listDue,
  moveNext,
  type NextBuild,
} from '../definitions/definitions.ts';
import type { ChannelBuilds } from './channel-builds.ts';

export interface ChannelScheduleParts {
  readonly database: Database;
  readonly logger: Logger;
  readonly builds: Pick<ChannelBuilds, 'start'>;
  /** Of a catalog. */
  readVersion(projectId: number): Promise<number>;
}

/** Channels that wait for a change stay due until there is one. */
const TOGETHER = 10_000;

const isBuilding = (error: unknown) => error instanceof ServiceError && error.code === 'channel_building';

/**
 * Every process that runs tasks looks. The next time is written in the transaction that starts the build, so one of them
 * starts it; a time that passed while nobody looked is due once.
 */
export function createChannelSchedule(parts: ChannelScheduleParts): DueWatch {
  const { database, logger } = parts;
  return createDueWatch({
    logger,
    failing: 'channels',
    listDue: () => listDue(database, TOGETHER),
    openLook() {
      const versions = new Map<number, Promise<number>>();
      return (found) => startDue(parts, found, versions);
    },
  });
}

/** @param versions of catalogs, each read once a look */
async function startDue(
  parts: ChannelScheduleParts,
  found: FoundChannel,
  versions: Map<number, Promise<number>>,
): Promise<void> {
  const { channel } = found;
  if (channel.definition.trigger.type !== 'change') return startPlanned(parts, found);
  const { projectId, builtVersion } = channel;
  const reading = versions.get(projectId) ?? parts.readVersion(projectId);
  versions.set(projectId, reading);
  const version = await reading;
  if (version === builtVersion) return;
  const next = { nextBuildAt: await planNext(parts, channel), version };
  // While it is being built nothing moves: the change is still one afterwards.
  await startOnce(parts, found, { startedBy: 'change', next });
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
