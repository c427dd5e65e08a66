import { randomBytes } from 'node:crypto';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction, Database, PayloadFiles } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import {
  type BuildStart,
  type Channel,
  findChannel,
  findPublished,
  hasOpenBuild,
  insertBuild,
  listSnapshots,
} from '../definitions/definitions.ts';
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

/** Builds of channels. Source: docs/interface.md §15.3. */
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
        if (await hasOpenBuild(tx, { projectId, id })) throw refuseWhileBuilding();
        await insertBuild(tx, task, { channelId: id, startedBy });
        await alongside?.(tx, task);
      },
    });
  }

  private async run({ channelId }: BuildPayload, run: TaskRun): Promise<void> {
    const { database, payloads } = this.parts;
    const { projectId, number } = run.task;
    const channel = await findChannel(database.read, { projectId, id: channelId });
    if (channel === undefined) throw new ServiceError('not_found');
    const made = await listSnapshots(database.read, channel);
    // A process that died since had published it: what is left is to say so.
    if (made.some(({ taskNumber }) => taskNumber === number)) return;
    const pieces: string[] = [];
    try {
      const output = await this.build(run, channel, pieces);
      await this.refuseLoss(channel, output);
      const dropped = await run.takeEffect(() => publish(database, { channel, task: run.task, output }));
      // They go at a later start, if not now: nobody owns them any more.
      await dropPieces(payloads, dropped).catch(() => {});
      await run.log(describeResult(output));
    } catch (error) {
      for (const name of pieces) await payloads.remove(projectId, name).catch(() => {});
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

const describeResult = ({ counts, catalogVersion }: BuildOutput) =>
  `published ${counts.rows} of ${counts.products} products of catalog version ${catalogVersion} with ${counts.related} related ones; ${counts.filtered} were filtered out, ${counts.leftOut} left out; ${counts.files} files, ${counts.bytes} bytes`;

const refuseWhileBuilding = () =>
  new ServiceError('channel_building', {
    details: ['a build of this channel is going on'],
    retryAfterSeconds: BUILDING_RETRY_SECONDS,
  });
