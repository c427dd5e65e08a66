import { randomBytes } from 'node:crypto';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type Base, type ControlTransaction, WatchedWrite } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import {
  BUILDS,
  type BuildStart,
  CHANNELS,
  type Channel,
  findPublished,
  listSnapshots,
} from '../channel-definitions/channel-definitions.ts';
import type { BuildThreads } from './build-client.ts';
import { deliverSnapshot } from './build-delivery.ts';
import type { PublishedBefore } from './feed-changes.ts';
import type { BuildOutput } from './feed-writing.ts';
import { dropPieces, publish } from './published-snapshots.ts';

export interface BuildRequest {
  readonly startedBy: BuildStart;
  /** Called in the transaction that accepts the build. */
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

/** Each build has its own thread and reads a whole catalog. */
const BUILDS_AT_ONCE = { inProcess: 2, inAccount: 2, inProject: 1 } as const;
const BUILDING_RETRY_SECONDS = 10;

/** Builds of channels. Source: docs/interface §16.3. */
export class ChannelBuilds {
  readonly #parts: ChannelBuildParts;
  readonly #task: TaskDefinition<BuildPayload>;

  constructor(parts: ChannelBuildParts) {
    this.#parts = parts;
    this.#task = {
      kind: 'channels.build',
      name: 'channel',
      increment: 'STEP_BASED',
      acceptedAs: 'RUNNING',
      isOrdered: false,
      atOnce: BUILDS_AT_ONCE,
      run: (payload, run) => this.#run(payload, run),
    };
    parts.tasks.define([this.#task]);
  }

  /** @throws channel_building; then `alongside` has written nothing */
  start(
    { id, projectId, definition }: Channel,
    project: Pick<ChosenProject, 'id' | 'name'>,
    { startedBy, alongside }: BuildRequest,
  ): Promise<Task> {
    return this.#parts.tasks.accept(this.#task, {
      project,
      payload: { channelId: id },
      origin: 'CHANNEL',
      lane: String(id),
      name: definition.name,
      async alongside(tx, task) {
        if (await BUILDS.hasOpen(tx, { projectId, id }))
          throw new ServiceError('channel_building', 'a build of this channel is in progress', {
            retryAfterSeconds: BUILDING_RETRY_SECONDS,
          });
        await BUILDS.insert(tx, task, { ownerId: id, startedBy });
        await alongside?.(tx, task);
      },
    });
  }

  async #run({ channelId }: BuildPayload, run: TaskRun): Promise<void> {
    const { database } = this.#parts;
    const { projectId, number } = run.task;
    const channel = await CHANNELS.find(database.read, { id: projectId }, channelId);
    if (channel === undefined) throw new ServiceError('not_found');
    const snapshots = await listSnapshots(database.read, channel);
    run.clearDoubt();
    // If an earlier run has published the snapshot, in a process that died or lost the answer, only the delivery
    // remains.
    if (!snapshots.some(({ taskNumber }) => taskNumber === number)) await this.#makeSnapshot(run, channel);
    await deliverSnapshot(this.#parts, run, channel);
  }

  async #makeSnapshot(run: TaskRun, channel: Channel): Promise<void> {
    const { database, payloads } = this.#parts;
    const pieces: string[] = [];
    const publication = new WatchedWrite();
    try {
      const output = await this.#build(run, channel, pieces);
      await this.#refuseLoss(channel, output);
      const dropped = await run.takeEffect(() =>
        publication.run(() => publish(database, { channel, task: run.task, output })),
      );
      // If this fails, a later start removes the pieces, because no snapshot has them any more.
      await dropPieces(payloads, dropped).catch(() => {});
      await run.log(describeResult(output));
    } catch (error) {
      const unserved = publication.mayBeStored ? [] : pieces;
      // The failure of the build is the one to report. A later start removes pieces that remain.
      for (const name of unserved) await payloads.remove(channel.projectId, name).catch(() => {});
      throw error;
    }
  }

  async #build(run: TaskRun, channel: Channel, pieces: string[]): Promise<BuildOutput> {
    const { threads, countProducts } = this.#parts;
    const { id, projectId, definition } = channel;
    const { type, variant } = definition.format;
    await run.log(`building ${type}${variant === undefined ? '' : ` as ${variant}`}`);
    const pieceName = `channel-${id}-${randomBytes(12).toString('hex')}`;
    const products = await countProducts(projectId);
    const before = definition.changes ? await this.#findBefore(channel) : undefined;
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

  /** Finds the rows with which the build is compared: rows that were published and have reached their destinations. */
  async #findBefore(channel: Channel): Promise<PublishedBefore | undefined> {
    const { published, createdAt = 0 } = (await findPublished(this.#parts.database.read, channel)) ?? {};
    return published && { rows: published, since: createdAt };
  }

  /** @throws channel_rows_left_out, channel_shrunk */
  async #refuseLoss(channel: Channel, { counts: { rows, leftOut } }: BuildOutput): Promise<void> {
    const { maxLeftOutPercent, maxDeletePercent } = channel.definition;
    const isNone = rows === 0 && leftOut > 0;
    if (isNone || leftOut * 100 > maxLeftOutPercent * (rows + leftOut)) {
      const share = `${leftOut} of ${rows + leftOut} products lack it; at most ${maxLeftOutPercent} % may lack it`;
      const details = [isNone ? `all ${leftOut} products lack it` : share, 'the report names them'];
      throw new ServiceError('channel_rows_left_out', { details });
    }
    const before = (await findPublished(this.#parts.database.read, channel))?.rows ?? 0;
    if ((before - rows) * 100 <= maxDeletePercent * before) return;
    const hint = `maxDeletePercent is ${maxDeletePercent}; raise it if a build is meant to lose more rows`;
    throw new ServiceError('channel_shrunk', hint, { values: [rows, before] });
  }
}

const describeResult = ({ counts, catalogVersion }: BuildOutput) =>
  `${counts.removed === undefined ? '' : `${counts.rows - (counts.unchanged ?? 0)} rows changed, ${counts.removed} are gone: `}published ${counts.rows} of ${counts.products} products of catalog version ${catalogVersion} with ${counts.related} related ones, ${counts.relatedLeftOut} others are not named; ${counts.filtered} were filtered out, ${counts.leftOut} left out; ${counts.files} files, ${counts.bytes} bytes`;
