import { randomBytes } from 'node:crypto';
import { openDefinition } from '../../definitions/definitions.ts';
import { recordEvents } from '../../events/events.ts';
import { planFiles } from '../../formats/formats.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import {
  type Base,
  type ControlTransaction,
  type Database,
  readNow,
  type ThreadPlace,
  WatchedWrite,
} from '../../storage/storage.ts';
import { createThreadSupply } from '../../storage/threads/threads.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import {
  BUILDS,
  type BuildStart,
  CHANNEL_SECRETS,
  CHANNELS,
  type Channel,
  findPublished,
  forgetRows,
  insertSnapshot,
  listSnapshots,
  removeSnapshot,
  type Snapshot,
  savePublished,
} from '../channel-definitions/channel-definitions.ts';
import { describeDestination } from '../destinations/destinations.ts';
import type { Delivery, DeliveryOrder, PreviewOrder } from './build-thread.ts';
import type { BuildEvent, BuildOrder, BuildOutput, PublishedBefore } from './feed-writing.ts';

export interface BuildRequest {
  readonly startedBy: BuildStart;
  /** Written in the transaction that accepts the build. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

export interface ChannelBuildParts extends Pick<Base, 'database' | 'payloads' | 'secrets'> {
  readonly tasks: Tasks;
  readonly threads: BuildThreads;
  countProducts(projectId: number): Promise<number>;
}

interface BuildPayload {
  readonly channelId: number;
}

/** Each has a thread of its own and reads a whole catalog. */
const BUILDS_AT_ONCE = { inProcess: 2, inAccount: 2, inProject: 1 } as const;
const BUILDING_RETRY_SECONDS = 10;

export type ChannelBuilds = ReturnType<typeof createChannelBuilds>;

/** Builds of channels. Source: docs/interface §16.3. */
export function createChannelBuilds(parts: ChannelBuildParts) {
  const { tasks, threads, database, payloads, countProducts } = parts;
  const buildTask: TaskDefinition<BuildPayload> = {
    kind: 'channels.build',
    name: 'channel',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: false,
    atOnce: BUILDS_AT_ONCE,
    run: runBuild,
  };
  tasks.define([buildTask]);

  async function runBuild({ channelId }: BuildPayload, run: TaskRun): Promise<void> {
    const { projectId, number } = run.task;
    const channel = await CHANNELS.find(database.read, { id: projectId }, channelId);
    if (channel === undefined) throw new ServiceError('not_found');
    const made = await listSnapshots(database.read, channel);
    run.clearDoubt();
    // An earlier run, in a process that died or lost the answer, has published it: only delivery is left.
    if (!made.some(({ taskNumber }) => taskNumber === number)) await makeSnapshot(run, channel);
    await deliver(parts, run, channel);
  }

  async function makeSnapshot(run: TaskRun, channel: Channel): Promise<void> {
    const pieces: string[] = [];
    const publication = new WatchedWrite();
    try {
      const output = await build(run, channel, pieces);
      await refuseLoss(channel, output);
      const dropped = await run.takeEffect(() =>
        publication.run(() => publish(database, { channel, task: run.task, output })),
      );
      // If not now, they are removed at a later start, as no snapshot has them any more.
      await dropPieces(payloads, dropped).catch(() => {});
      await run.log(describeResult(output));
    } catch (error) {
      const unserved = publication.mayBeStored ? [] : pieces;
      // The failure of the build is what matters; pieces that remain are removed at a later start.
      for (const name of unserved) await payloads.remove(channel.projectId, name).catch(() => {});
      throw error;
    }
  }

  async function build(run: TaskRun, channel: Channel, pieces: string[]): Promise<BuildOutput> {
    const { id, projectId, definition } = channel;
    const { type, variant } = definition.format;
    await run.log(`building ${type}${variant === undefined ? '' : ` as ${variant}`}`);
    const pieceName = `channel-${id}-${randomBytes(12).toString('hex')}`;
    const products = await countProducts(projectId);
    const before = definition.changes ? await findBefore(channel) : undefined;
    const order = { projectId, definition, pieceName, before };
    const { warnings, ...output } = await threads.build(order, {
      run,
      products,
      onPiece: (name) => void pieces.push(name),
    });
    for (const warning of warnings) await run.log(warning);
    run.count({ counts: output.counts, ...(warnings.length > 0 && { warnings }) });
    return { warnings, ...output };
  }

  /** Finds what the build is compared with: rows that were published and have reached their destinations. */
  async function findBefore(channel: Channel): Promise<PublishedBefore | undefined> {
    const { published, createdAt = 0 } = (await findPublished(database.read, channel)) ?? {};
    return published && { rows: published, since: createdAt };
  }

  /** @throws channel_rows_left_out, channel_shrunk */
  async function refuseLoss(channel: Channel, { counts: { rows, leftOut } }: BuildOutput): Promise<void> {
    const { maxLeftOutPercent, maxDeletePercent } = channel.definition;
    const isNone = rows === 0 && leftOut > 0;
    if (isNone || leftOut * 100 > maxLeftOutPercent * (rows + leftOut)) {
      const share = `${leftOut} of ${rows + leftOut} products lack it, at most ${maxLeftOutPercent} % may`;
      const details = [isNone ? `all ${leftOut} products lack it` : share, 'the report names them'];
      throw new ServiceError('channel_rows_left_out', { details });
    }
    const before = (await findPublished(database.read, channel))?.rows ?? 0;
    if ((before - rows) * 100 <= maxDeletePercent * before) return;
    const hint = `maxDeletePercent is ${maxDeletePercent}: raise it for a build that is meant to lose more`;
    throw new ServiceError('channel_shrunk', hint, { values: [rows, before] });
  }

  return {
    /** @throws channel_building; then nothing `alongside` is written */
    start: (
      { id, projectId, definition }: Channel,
      project: Pick<ChosenProject, 'id' | 'name'>,
      { startedBy, alongside }: BuildRequest,
    ): Promise<Task> =>
      tasks.accept(buildTask, {
        project,
        payload: { channelId: id },
        origin: 'CHANNEL',
        lane: String(id),
        name: definition.name,
        async alongside(tx, task) {
          if (await BUILDS.hasOpen(tx, { projectId, id }))
            throw new ServiceError('channel_building', 'a build of this channel is going on', {
              retryAfterSeconds: BUILDING_RETRY_SECONDS,
            });
          await BUILDS.insert(tx, task, { ownerId: id, startedBy });
          await alongside?.(tx, task);
        },
      }),
  };
}

/** @throws secret_unreadable, channel_undelivered; what is published stays, and a build of changes starts from scratch */
async function deliver(
  { database, payloads, secrets, threads }: ChannelBuildParts,
  run: TaskRun,
  channel: Channel,
): Promise<void> {
  const { destinations } = openDefinition(CHANNEL_SECRETS, channel, secrets);
  const snapshots = destinations.length === 0 ? [] : await listSnapshots(database.read, channel);
  const snapshot = snapshots.find(({ taskNumber }) => taskNumber === run.task.number);
  if (snapshot === undefined) return;
  const stale = listStale(channel, snapshot, snapshots);
  const failed: string[] = [];
  for (const destination of destinations) {
    const to = describeDestination(destination);
    await run.log(`delivering to ${to}`);
    const { files, bytes, problem } = await threads.deliver({ snapshot, stale, destination }, run.signal);
    if (problem === undefined) await run.log(`delivered ${files} files, ${bytes} bytes to ${to}`);
    else failed.push(`${to}: ${problem}`);
  }
  if (failed.length === 0) return;
  for (const name of await forgetRows(database, snapshot))
    await payloads.remove(channel.projectId, name).catch(() => {});
  for (const message of failed) {
    await run.log(`not delivered to ${message}`);
    run.report({ code: 'undelivered', message });
  }
  throw new ServiceError('channel_undelivered', { details: failed });
}

/** @returns the names of the last files of a larger earlier build */
function listStale({ definition: { format } }: Channel, { files }: Snapshot, former: readonly Snapshot[]) {
  const most = Math.max(...former.map((one) => one.files.length));
  const { nameOf } = planFiles(format);
  return Array.from({ length: most - files.length }, (_, at) => nameOf(files.length + 1 + at));
}

const describeResult = ({ counts, catalogVersion }: BuildOutput) =>
  `${counts.removed === undefined ? '' : `${counts.rows - (counts.unchanged ?? 0)} rows changed, ${counts.removed} are gone: `}published ${counts.rows} of ${counts.products} products of catalog version ${catalogVersion} with ${counts.related} related ones, ${counts.relatedLeftOut} others are not named; ${counts.filtered} were filtered out, ${counts.leftOut} left out; ${counts.files} files, ${counts.bytes} bytes`;

export interface ChannelThreadData {
  readonly place: ThreadPlace;
  /** CIDR ranges that may be delivered to although they are not public. */
  readonly allow: readonly string[];
}

/** For objects: pages of products and what is made of them. */
const HEAP_MIB = 512;
const PREVIEW_MS = 60_000;

export type BuildThreads = ReturnType<typeof createBuildThreads>;

interface BuildParts {
  readonly run: TaskRun;
  /** The number in the catalog a moment ago. */
  readonly products: number;
  /** Called before the payload is written. */
  onPiece(name: string): void;
}

/** A build has a thread of its own, which ends with it if the build is stopped midway. */
export function createBuildThreads(entry: URL, data: ChannelThreadData) {
  const builds = createThreadSupply(entry, { workerData: data, heapMib: HEAP_MIB });
  const previews = createThreadSupply(entry, { workerData: data, heapMib: HEAP_MIB });
  return {
    build: (order: BuildOrder, parts: BuildParts) =>
      builds.use(parts.run.signal, async (thread) => {
        await thread.run('open', order, { key: 0 });
        for (;;) {
          const event = await thread.run<BuildEvent>('next', {}, { key: 0 });
          if (event.kind === 'end') return event.output;
          await takeEvent(event, parts);
        }
      }),
    deliver: (order: DeliveryOrder, signal: AbortSignal) =>
      builds.use(signal, (thread) => thread.run<Delivery>('deliver', order, { key: 0 })),
    async preview(order: PreviewOrder, signal?: AbortSignal) {
      const timeUp = AbortSignal.timeout(PREVIEW_MS);
      const either = signal === undefined ? timeUp : AbortSignal.any([signal, timeUp]);
      try {
        return await previews.use(either, (thread) => thread.run<Uint8Array>('preview', order, { key: 0 }));
      } catch (error) {
        signal?.throwIfAborted();
        if (!timeUp.aborted) throw error;
        const detail = `looking at the first products took longer than ${PREVIEW_MS / 1_000} s`;
        throw new ServiceError('channel_unfit', detail);
      }
    },
    async close() {
      await builds.close();
      await previews.close();
    },
  };
}

async function takeEvent(
  event: Exclude<BuildEvent, { kind: 'end' }>,
  { run, products, onPiece }: BuildParts,
) {
  if (event.kind === 'piece') return onPiece(event.name);
  for (const line of event.report) run.report(line);
  run.count({ counts: event.counts });
  await run.progress((event.counts.products / Math.max(products, event.counts.products, 1)) * 100);
}

/** Besides the one that is served, so that slow readers can read a file to its end. */
const FORMER_SNAPSHOTS = 3;

/** Replaces what a channel serves, in one transaction. @returns snapshots no longer served @throws changed_meanwhile */
function publish(
  database: Database,
  { channel, task, output }: { channel: Channel; task: Task; output: BuildOutput },
): Promise<readonly Snapshot[]> {
  return database.write(channel.projectId, async (tx) => {
    if (!(await savePublished(tx, channel, task.number)))
      throw new ServiceError('changed_meanwhile', {
        details: ['the channel was changed or deleted while it was built: build it again'],
      });
    const at = await readNow(tx, database);
    await insertSnapshot(tx, {
      projectId: channel.projectId,
      channelId: channel.id,
      taskNumber: task.number,
      catalogVersion: output.catalogVersion,
      rows: output.counts.rows,
      files: output.files,
      ...(output.published && { published: output.published }),
      createdAt: at,
    });
    const { rows } = output.counts;
    const data = { channelId: channel.id, name: channel.definition.name, rows };
    const event = { type: 'channel.published' as const, at, taskNumber: task.number, data };
    await recordEvents(tx, channel.projectId, [event]);
    const old = (await listSnapshots(tx, channel)).slice(1 + FORMER_SNAPSHOTS);
    for (const snapshot of old) await removeSnapshot(tx, snapshot);
    return old;
  });
}

/** Removes the pieces of snapshots; call it when the snapshots are gone. */
export async function dropPieces(payloads: PayloadFiles, snapshots: readonly Snapshot[]): Promise<void> {
  for (const { projectId, files, published } of snapshots)
    for (const { name } of [...files, published].flatMap((file) => file?.pieces ?? []))
      await payloads.remove(projectId, name);
}
