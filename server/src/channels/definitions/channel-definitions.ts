import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type Asker, findNextRun, type TextChecks } from '../../pipelines/pipelines.ts';
import { type ListPage, type PageWish, readPlace, toPage } from '../../projects/projects.ts';
import {
  type ControlTransaction,
  type Database,
  type ExpectedStates,
  readNow,
  refuseOtherState,
  type Secrets,
} from '../../storage/storage.ts';
import type { Task, Tasks } from '../../tasks/tasks.ts';
import { type BuildPlace, hasOpenBuild, listBuildPlaces, listLastBuilds } from './build-store.ts';
import { type Channel, type ChannelDefinition, markOfChannel, type Snapshot } from './channel.ts';
import { type CheckedCatalog, checkChannel } from './channel-check.ts';
import type { SentChannel } from './channel-schemas.ts';
import { fillSecrets, maskDefinition, openStored, sealChannel } from './channel-secrets.ts';
import {
  type ChannelKey,
  countChannels,
  findChannel,
  insertChannel,
  listChannels,
  type NewChannel,
  removeChannel,
  updateChannel,
} from './channel-store.ts';
import { findPublished, listSnapshots, removeSnapshot } from './snapshot-store.ts';

/** A build that was started; its task has the counts. */
export interface ChannelBuild extends Omit<BuildPlace, 'taskNumber'> {
  readonly task: Task;
}

/** A channel with what it serves and its newest build. */
export interface ChannelState {
  readonly channel: Channel;
  readonly published: Snapshot | undefined;
  readonly lastBuild: ChannelBuild | undefined;
}

/** A channel, and the state that a change expects to replace. */
type ExpectedChannel = ChannelKey & { readonly expected?: ExpectedStates };

/** A definition as sent, and its author. */
export interface SentDefinition extends Asker {
  readonly sent: SentChannel;
}

/** Written in the transaction of a change: its author and its answer. */
export type AlongsideChange = (tx: ControlTransaction, after: Channel, before?: Channel) => Promise<void>;

const CHANNELS = 1_000;
/** 192 bits, which nobody can guess. */
const TOKEN_BYTES = 24;

const makeToken = () => randomBytes(TOKEN_BYTES).toString('base64url');

/** The channels of all projects. */
export function createChannelLists({
  database,
  tasks,
}: {
  readonly database: Database;
  readonly tasks: Tasks;
}) {
  const { read } = database;

  async function get(key: ChannelKey): Promise<Channel> {
    const channel = await findChannel(read, key);
    if (channel === undefined) throw new ServiceError('not_found');
    return channel;
  }

  async function withTasks(projectId: number, places: readonly BuildPlace[]): Promise<ChannelBuild[]> {
    const found = await tasks.listNumbered(
      projectId,
      places.map(({ taskNumber }) => taskNumber),
    );
    const byNumber = new Map(found.map((task) => [task.number, task]));
    return places.flatMap(({ taskNumber, ...place }) => {
      const task = byNumber.get(taskNumber);
      return task === undefined ? [] : { ...place, task };
    });
  }

  async function withStates(projectId: number, channels: readonly Channel[]): Promise<ChannelState[]> {
    const [from = 0, to = 0] = [channels[0]?.id, channels.at(-1)?.id];
    const builds = await withTasks(projectId, await listLastBuilds(read, projectId, { from, to }));
    const last = new Map(builds.map((build) => [build.channelId, build]));
    const states: ChannelState[] = [];
    for (const channel of channels)
      states.push({
        channel,
        published: await findPublished(read, channel),
        lastBuild: last.get(channel.id),
      });
    return states;
  }

  return {
    /** @throws not_found */
    get,
    /** @throws not_found */
    async getState(key: ChannelKey): Promise<ChannelState> {
      const channel = await get(key);
      const [state] = await withStates(key.projectId, [channel]);
      return state ?? { channel, published: undefined, lastBuild: undefined };
    },
    /** By id. @throws query_invalid */
    async list(projectId: number, wish: PageWish): Promise<ListPage<ChannelState>> {
      const place = readPlace(wish);
      const page = toPage(await listChannels(read, projectId, place), place);
      return { ...page, items: await withStates(projectId, page.items) };
    },
    /** Newest first. @throws not_found, query_invalid */
    async listBuilds(key: ChannelKey, wish: PageWish): Promise<ListPage<ChannelBuild>> {
      const place = readPlace(wish);
      await get(key);
      const places = await listBuildPlaces(read, key, place);
      const page = toPage(
        places.map((one) => ({ ...one, id: one.taskNumber })),
        place,
      );
      return { ...page, items: await withTasks(key.projectId, page.items) };
    },
  };
}

export interface ChannelChangeParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly textChecks: TextChecks;
  readCatalog(projectId: number): Promise<CheckedCatalog>;
  dropSnapshots(snapshots: readonly Snapshot[]): Promise<void>;
}

/** Changes of definitions, each in one transaction with its entry in the audit log. */
export function createChannelChanges(parts: ChannelChangeParts) {
  const { database, clock, secrets, textChecks } = parts;

  const check = async (projectId: number, { sent, ...asker }: SentDefinition) =>
    checkChannel(sent, {
      ...(await parts.readCatalog(projectId)),
      ...{ now: clock.now(), checkTexts: textChecks(asker) },
    });

  /** @throws not_found */
  async function change(
    { expected, ...key }: ExpectedChannel,
    toNext: (before: Channel, times: { now: number; updatedAt: number }) => Channel,
    alongside: AlongsideChange,
  ): Promise<void> {
    await database.write(
      async (tx) => {
        const before = await findChannel(tx, key);
        if (before === undefined) throw new ServiceError('not_found');
        refuseOtherState(expected, markOfChannel(before));
        const updatedAt = Math.max(clock.now(), before.updatedAt + 1);
        const after = toNext(before, { now: await readNow(tx, database), updatedAt });
        await updateChannel(tx, after);
        await alongside(tx, after, before);
      },
      { of: key.projectId },
    );
  }

  return {
    /** @throws request_invalid, rate_limited */
    async create(project: ChosenProject, sent: SentDefinition, alongside: AlongsideChange): Promise<void> {
      const definition = fillSecrets(await check(project.id, sent), []);
      await database.write(
        async (tx) => {
          await refuseMore(tx, project.id);
          const nextBuildAt = planNext(definition, await readNow(tx, database));
          const plan = { nextBuildAt, token: makeToken(), createdAt: clock.now() };
          const added = { projectId: project.id, definition, ...plan };
          await alongside(tx, await insertSealed(tx, added, secrets));
        },
        { of: project.id },
      );
    },

    /** @throws not_found, request_invalid, rate_limited, changed_meanwhile */
    async replace(key: ExpectedChannel, sent: SentDefinition, alongside: AlongsideChange): Promise<void> {
      // Before mistakes in the body are reported.
      if ((await findChannel(database.read, key)) === undefined) throw new ServiceError('not_found');
      const checked = await check(key.projectId, sent);
      await change(
        key,
        (before, times) => {
          const opened = openStored(before, secrets, checked.destinations);
          const after = toReplaced(opened, fillSecrets(checked, opened.definition.destinations), times);
          return after === opened ? before : sealChannel(after, secrets);
        },
        alongside,
      );
    },

    /** Gives the published files another address; the old one is 404 from then on. @throws not_found */
    rotateUrl: (key: ChannelKey, alongside: AlongsideChange) =>
      change(key, (before, { updatedAt }) => ({ ...before, token: makeToken(), updatedAt }), alongside),

    /** @throws not_found, changed_meanwhile, channel_busy while a build is going on */
    async remove({ expected, ...key }: ExpectedChannel, alongside: AlongsideChange): Promise<void> {
      const dropped = await database.write(
        async (tx) => {
          const channel = await findChannel(tx, key);
          if (channel === undefined) throw new ServiceError('not_found');
          refuseOtherState(expected, markOfChannel(channel));
          if (await hasOpenBuild(tx, key)) throw new ServiceError('channel_busy');
          await removeChannel(tx, key);
          const snapshots = await listSnapshots(tx, key);
          for (const snapshot of snapshots) await removeSnapshot(tx, snapshot);
          await alongside(tx, channel);
          return snapshots;
        },
        { of: key.projectId },
      );
      await parts.dropSnapshots(dropped);
    },
  };
}

/** Its secrets are bound to its id, which it has only when it is there. */
async function insertSealed(tx: ControlTransaction, added: NewChannel, secrets: Secrets): Promise<Channel> {
  const { definition } = added;
  const inserted = await insertChannel(tx, { ...added, definition: maskDefinition(definition) });
  const sealed = sealChannel({ ...inserted, definition }, secrets);
  if (sealed.sealed !== undefined) await updateChannel(tx, sealed);
  return sealed;
}

async function refuseMore(tx: ControlTransaction, projectId: number): Promise<void> {
  if ((await countChannels(tx, projectId)) < CHANNELS) return;
  const details = [`a project has at most ${CHANNELS.toLocaleString('en')} channels`];
  throw new ServiceError('request_invalid', { details });
}

/** One that follows changes is built at once. */
function planNext({ trigger }: ChannelDefinition, now: number): number | undefined {
  if (trigger.type === 'change') return now;
  return trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined;
}

/** What was planned stays where the schedule stays: who changes the name a second before misses no build. */
function toReplaced(
  before: Channel,
  definition: ChannelDefinition,
  { now, updatedAt }: { now: number; updatedAt: number },
): Channel {
  // What changes nothing is no change: its ETag stays (§7.6 rule 1).
  if (isDeepStrictEqual(before.definition, definition)) return before;
  const isSamePlan = isDeepStrictEqual(before.definition.trigger, definition.trigger);
  return {
    ...before,
    definition,
    revision: before.revision + 1,
    // One that waits for a change has no time: it is built at once, as a new one.
    nextBuildAt: (isSamePlan ? before.nextBuildAt : undefined) ?? planNext(definition, now),
    // What is served follows another definition: a change is waited for no longer.
    builtVersion: undefined,
    updatedAt,
  };
}
