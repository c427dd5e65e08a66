import { randomBytes } from 'node:crypto';
import { openDefinition } from '../../definitions/definitions.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type ControlTransaction,
  type Database,
  type PayloadFiles,
  type Secrets,
  WatchedWrite,
} from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import {
  BUILDS,
  type BuildStart,
  CHANNEL_SECRETS,
  CHANNELS,
  type Channel,
  findPublished,
  listSnapshots,
  type Snapshot,
} from '../definitions/definitions.ts';
import { describeDestination } from '../destinations/destinations.ts';
import { planFiles } from '../formats/formats.ts';
import type { BuildThreads } from './build-client.ts';
import type { BuildOutput } from './build-thread.ts';
import { dropPieces, publish } from './publish.ts';

export interface BuildRequest {
  readonly startedBy: BuildStart;
  /** Written in the transaction that accepts the build. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

export interface ChannelBuildParts {
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly secrets: Secrets;
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

/** Builds of channels. Source: docs/interface.md §16.3. */
export class ChannelBuilds {
  readonly definitions: readonly TaskDefinition<never>[];
  private readonly parts: ChannelBuildParts;
  private readonly buildTask: TaskDefinition<BuildPayload> = {
    kind: 'channels.build',
    name: 'channel',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: false,
    atOnce: BUILDS_AT_ONCE,
    run: (payload, run) => this.run(payload, run),
  };

  constructor(parts: ChannelBuildParts) {
    this.parts = parts;
    this.definitions = [this.buildTask];
  }

  /** @throws channel_building; then what stands `alongside` is not written */
  start(
    { id, projectId, definition }: Channel,
    project: Pick<ChosenProject, 'id' | 'name'>,
    { startedBy, alongside }: BuildRequest,
  ): Promise<Task> {
    return this.parts.tasks.accept(this.buildTask, {
      project,
      payload: { channelId: id },
      origin: 'CHANNEL',
      lane: String(id),
      name: definition.name,
      async alongside(tx, task) {
        if (await BUILDS.hasOpen(tx, { projectId, id })) throw refuseWhileBuilding();
        await BUILDS.insert(tx, task, { ownerId: id, startedBy });
        await alongside?.(tx, task);
      },
    });
  }

  private async run({ channelId }: BuildPayload, run: TaskRun): Promise<void> {
    const { database } = this.parts;
    const { projectId, number } = run.task;
    const channel = await CHANNELS.find(database.read, { id: projectId }, channelId);
    if (channel === undefined) throw new ServiceError('not_found');
    const made = await listSnapshots(database.read, channel);
    run.clearDoubt();
    // A process that died since, or a run that lost the answer, had published it: what is left is to deliver it.
    if (!made.some(({ taskNumber }) => taskNumber === number)) await this.publish(run, channel);
    await this.deliver(run, channel);
  }

  private async publish(run: TaskRun, channel: Channel): Promise<void> {
    const { database, payloads } = this.parts;
    const pieces: string[] = [];
    const publication = new WatchedWrite();
    try {
      const output = await this.build(run, channel, pieces);
      await this.refuseLoss(channel, output);
      const dropped = await run.takeEffect(() =>
        publication.run(() => publish(database, { channel, task: run.task, output })),
      );
      // They go at a later start, if not now: nobody owns them any more.
      await dropPieces(payloads, dropped).catch(() => {});
      await run.log(describeResult(output));
    } catch (error) {
      const unserved = publication.isKept ? [] : pieces;
      // The failure of the build is what counts; pieces that stay are removed at a later start.
      for (const name of unserved) await payloads.remove(channel.projectId, name).catch(() => {});
      throw error;
    }
  }

  private async build(run: TaskRun, channel: Channel, pieces: string[]): Promise<BuildOutput> {
    const { threads, countProducts } = this.parts;
    const { projectId, definition } = channel;
    const { type, variant } = definition.format;
    await run.log(`building ${type}${variant === undefined ? '' : ` as ${variant}`}`);
    const pieceName = `channel-${channel.id}-${randomBytes(12).toString('hex')}`;
    const products = await countProducts(projectId);
    const output = await threads.build(
      { projectId, definition, pieceName },
      { run, products, onPiece: (name) => void pieces.push(name) },
    );
    for (const warning of output.warnings) await run.log(warning);
    const { warnings, counts } = output;
    run.count({ counts, ...(warnings.length > 0 && { warnings }) });
    return output;
  }

  /** @throws secret_unreadable, channel_undelivered; what is published stays */
  private async deliver(run: TaskRun, channel: Channel): Promise<void> {
    const { database, secrets, threads } = this.parts;
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
    for (const message of failed) {
      await run.log(`not delivered to ${message}`);
      run.report({ code: 'undelivered', message });
    }
    throw new ServiceError('channel_undelivered', { details: failed });
  }

  /** @throws channel_rows_left_out, channel_shrunk */
  private async refuseLoss(channel: Channel, { counts }: BuildOutput): Promise<void> {
    const { maxLeftOutPercent, maxDeletePercent } = channel.definition;
    const { rows, leftOut } = counts;
    const isNone = rows === 0 && leftOut > 0;
    if (isNone || leftOut * 100 > maxLeftOutPercent * (rows + leftOut)) {
      const share = `${leftOut} of ${rows + leftOut} products lack it, at most ${maxLeftOutPercent} % may`;
      const details = [isNone ? `all ${leftOut} products lack it` : share, 'the report names them'];
      throw new ServiceError('channel_rows_left_out', { details });
    }
    const before = (await findPublished(this.parts.database.read, channel))?.rows ?? 0;
    if ((before - rows) * 100 <= maxDeletePercent * before) return;
    const details = [
      `maxDeletePercent is ${maxDeletePercent}: raise it for a build that is meant to lose more`,
    ];
    throw new ServiceError('channel_shrunk', { values: [rows, before], details });
  }
}

/** @returns names that a larger build before gave its last files */
function listStale(
  { definition: { format } }: Channel,
  { files }: Snapshot,
  kept: readonly Snapshot[],
): string[] {
  const most = Math.max(...kept.map((one) => one.files.length));
  const { nameOf } = planFiles(format);
  return Array.from({ length: most - files.length }, (_, at) => nameOf(files.length + 1 + at));
}

const describeResult = ({ counts, catalogVersion }: BuildOutput) =>
  `published ${counts.rows} of ${counts.products} products of catalog version ${catalogVersion} with ${counts.related} related ones, ${counts.relatedLeftOut} others are not named; ${counts.filtered} were filtered out, ${counts.leftOut} left out; ${counts.files} files, ${counts.bytes} bytes`;

const refuseWhileBuilding = () =>
  new ServiceError('channel_building', {
    details: ['a build of this channel is going on'],
    retryAfterSeconds: BUILDING_RETRY_SECONDS,
  });
