import { createHash, randomBytes } from 'node:crypto';
import { type Catalog, openPassage } from '../../catalog/catalog.ts';
import type { GatheredWrites } from '../../catalog/updates/updates.ts';
import {
  createSchedule,
  findNextRun,
  moveDue,
  openDefinition,
  startOnce,
} from '../../definitions/definitions.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { cutPieces } from '../../kernel/pieces.ts';
import type { Found } from '../../projects/projects.ts';
import type { Relations } from '../../relations/relations.ts';
import { type Base, type ControlTransaction, readNow, WatchedWrite } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import { isOfPairs } from '../mapping/mapping.ts';
import {
  countTrigger,
  findRun,
  findWindow,
  NO_COUNTS,
  PIPELINE_SECRETS,
  PIPELINES,
  type Pipeline,
  type PipelineDefinition,
  type ReadSummary,
  RUNS,
  type RunCounts,
  type RunStart,
  saveRead,
  saveStamp,
  type UploadedFile,
} from '../pipeline-definitions/pipeline-definitions.ts';
import { describeSource, takesFile } from '../sources/sources.ts';
import type { RunThreads } from './run-client.ts';
import type { ReadOrder } from './run-reading.ts';

interface RunRequest {
  readonly startedBy: RunStart;
  readonly upload?: UploadedFile | undefined;
  /** Reads the source even if it is unchanged since the last run. */
  readonly isForced?: boolean | undefined;
  /** Written in the transaction that accepts the run. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

export interface PipelineRunParts extends Pick<Base, 'database' | 'payloads' | 'secrets'> {
  readonly tasks: Tasks;
  readonly threads: RunThreads;
  readonly catalog: Pick<Catalog, 'gatherWrites' | 'dropGathered'>;
  readonly relations: Pick<Relations, 'links' | 'tables'>;
}

interface RunPayload extends Pick<RunRequest, 'isForced'> {
  readonly pipelineId: number;
}

/** How long a caller should wait while a run is in progress, as its end is unknown. Source: docs/interface §4.9. */
const RUNNING_SECONDS = 30;

/** What a source is read with: the stamp of the last run, unless the run is forced, and the uploaded file. */
type ReadFrom = Pick<ReadOrder, 'last' | 'upload'>;

/** Accepted writes. */
interface Accepted {
  readonly parts: readonly Task[];
  readonly read: ReadSummary;
}

type PipelineRuns = ReturnType<typeof createPipelineRuns>;

/** Runs of pipelines: they fetch, read, map and write. Source: docs/interface §13.2. */
export function createPipelineRuns({
  database,
  payloads,
  secrets,
  tasks,
  threads,
  catalog,
  relations,
}: PipelineRunParts) {
  const runTask: TaskDefinition<RunPayload> = {
    kind: 'pipelines.run',
    name: 'pipeline',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: false,
    /** Each has a thread of its own; a project or account with slow sources leaves room for others. */
    atOnce: { inProcess: 6, inAccount: 4, inProject: 3 },
    run,
    eventOfEnd: ({ pipelineId }, { name, failure: error }) =>
      error && { type: 'pipeline.failed', data: { pipelineId, name, error } },
    /** Removes products that were gathered but not written, and the uploaded file. */
    async ended(_, task) {
      await catalog.dropGathered(task);
      const { upload } = (await findRun(database, task)) ?? {};
      for (const piece of upload?.pieces ?? []) await payloads.remove(task.projectId, piece);
    },
  };
  tasks.define([runTask]);

  async function run({ pipelineId, isForced }: RunPayload, taskRun: TaskRun): Promise<void> {
    const stored = await findRun(database, taskRun.task);
    let accepted = await resume(taskRun, stored?.read);
    if (accepted === undefined) {
      taskRun.clearDoubt();
      const pipeline = await PIPELINES.find(database.read, { id: taskRun.task.projectId }, pipelineId);
      if (pipeline === undefined) throw new ServiceError('not_found');
      const last = isForced ? undefined : pipeline.state.stamp;
      accepted = await write(taskRun, pipeline, { last, upload: stored?.upload });
    }
    if (accepted !== undefined) await conclude(taskRun, pipelineId, accepted);
  }

  /** @returns what a process that died since had accepted, which only has to be waited for */
  async function resume(taskRun: TaskRun, read: ReadSummary | undefined): Promise<Accepted | undefined> {
    const parts = await tasks.parts.list(taskRun.task);
    if (parts.length === 0 || read === undefined) return undefined;
    await taskRun.passOn(async () => {});
    for (const line of read.report) taskRun.report(line);
    taskRun.leaveOut(read.unreported);
    return { parts, read };
  }

  /** @returns undefined if there is nothing new */
  async function write(taskRun: TaskRun, pipeline: Pipeline, from: ReadFrom): Promise<Accepted | undefined> {
    const { mode, maxDeletePercent } = pipeline.definition;
    const gathered = await gather(taskRun.task, pipeline.definition);
    const acceptance = new WatchedWrite();
    try {
      const read = await readSource(taskRun, pipeline, { ...from, gathered });
      if (read === undefined) {
        await gathered.discard();
        await taskRun.log('nothing new: the source is what it was at the last run');
        taskRun.count({ ...NO_COUNTS, nothingNew: true } satisfies RunCounts);
        return undefined;
      }
      const things = isOfPairs(mode) ? 'sources' : 'products';
      await taskRun.log(`writing ${read.products} ${things}, mode ${mode}`);
      const note = (tx: ControlTransaction) => saveRead(tx, taskRun.task, read);
      const accept = () => acceptance.run(() => gathered.accept({ maxDeletePercent, note }));
      return { parts: await taskRun.passOn(accept), read };
    } catch (error) {
      if (!acceptance.mayBeStored) await gathered.discard();
      throw error;
    }
  }

  async function gather(task: Task, { mode, relationId = 0, tableName = '' }: PipelineDefinition) {
    if (mode === 'table') return relations.tables.gather(task, tableName);
    return mode === 'links' ? relations.links.gather(task, relationId) : catalog.gatherWrites(task, mode);
  }

  /** @throws rows_rejected, products_too_few and whatever makes a source unreadable */
  async function readSource(
    taskRun: TaskRun,
    pipeline: Pipeline,
    { gathered, ...from }: ReadFrom & { readonly gathered: GatheredWrites },
  ): Promise<ReadSummary | undefined> {
    const { onRejectedRow, minProducts, ...tried } = openDefinition(PIPELINE_SECRETS, pipeline, secrets);
    await taskRun.log(`fetching ${describeSource(tried.source)}`);
    const read = await threads.read(
      { ...tried, ...from, projectId: pipeline.projectId, stopsAtProblem: onRejectedRow === 'stop' },
      { run: taskRun, onRejectedRow, onProducts: (bytes) => gathered.add({ bytes, encoding: 'identity' }) },
    );
    if (read === undefined) return undefined;
    const least = Math.max(1, minProducts);
    if (read.products < least) throw new ServiceError('products_too_few', { values: [read.products, least] });
    return { ...read, revision: pipeline.revision };
  }

  async function conclude(taskRun: TaskRun, pipelineId: number, { parts, read }: Accepted): Promise<void> {
    const ended = await tasks.parts.waitFor(taskRun, parts);
    const passage = openPassage(taskRun);
    for (const part of ended) {
      await tasks.parts.tell(taskRun, part, passage.pass);
      passage.takeNotes(part.result ?? {});
    }
    taskRun.count({ ...sumCounts(read, ended), ...(await passage.end()) });
    const { projectId } = taskRun.task;
    await saveStamp(database, { projectId, id: pipelineId, revision: read.revision }, read.stamp);
  }

  return {
    /** @throws pipeline_running, pipeline_file_missing; then nothing `alongside` is written */
    start(
      { id, projectId, definition }: Pipeline,
      project: Pick<ChosenProject, 'id' | 'name'>,
      { startedBy, upload, isForced = false, alongside }: RunRequest,
    ): Promise<Task> {
      // With a schedule or a webhook the run fails, as there is no caller to send a file.
      const isByCaller = startedBy === 'manual' || startedBy === 'upload';
      if (takesFile(definition.source) && upload === undefined && isByCaller)
        throw new ServiceError('pipeline_file_missing');
      return tasks.accept(runTask, {
        project,
        payload: { pipelineId: id, isForced },
        origin: 'PIPELINE',
        // A slow source delays no other pipeline.
        lane: String(id),
        name: definition.name,
        async alongside(tx, task) {
          if (await RUNS.hasOpen(tx, { projectId, id }))
            throw new ServiceError('pipeline_running', 'a run of this pipeline is going on', {
              retryAfterSeconds: RUNNING_SECONDS,
            });
          await RUNS.insert(tx, task, { ownerId: id, startedBy, upload: upload && JSON.stringify(upload) });
          await alongside?.(tx, task);
        },
      });
    },
  };
}

function sumCounts({ rows, products, filtered, rejected }: ReadSummary, parts: readonly Task[]): RunCounts {
  const written = { created: 0, changed: 0, unchanged: 0, deleted: 0 };
  for (const { result } of parts) {
    const counts = (result ?? {}) as Partial<typeof written>;
    for (const key of ['created', 'changed', 'unchanged', 'deleted'] as const)
      written[key] += counts[key] ?? 0;
  }
  return { rows, products, filtered, rejected, ...written };
}

/** Called in the transaction that accepts a run. */
type AlongsideRun = NonNullable<RunRequest['alongside']>;

/** An uploaded file. */
export interface SentFile {
  readonly name: string;
  readonly charset: string | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Whether it may have been sent before, in which case its answer is known whatever the pipeline does now. */
  readonly mayBeRepeated: boolean;
}

/** Everything that starts a run, except schedules. */
export function createPipelineTriggers({ database, payloads }: Base, runs: PipelineRuns) {
  return {
    /** @throws pipeline_running, pipeline_file_missing */
    run: (
      pipeline: Pipeline,
      project: ChosenProject,
      request: Pick<RunRequest, 'isForced' | 'alongside'>,
    ): Promise<Task> => runs.start(pipeline, project, { ...request, startedBy: 'manual' }),

    /**
     * Stores a file, and has a run read it.
     * @param accept starts the run, called once the file is durable; pieces that it does not use are removed
     * @throws pipeline_running, request_invalid if the pipeline takes no file, or the file is empty; and any
     * error of reading the body
     */
    async upload<Answer>(
      { pipeline, project, sent }: { pipeline: Pipeline; project: ChosenProject; sent: SentFile },
      accept: (digest: string, start: (alongside: AlongsideRun) => Promise<Task>) => Promise<Answer>,
    ): Promise<Answer> {
      const { source } = pipeline.definition;
      const other = `the source of this pipeline is ${source.type}: only one whose source is upload takes a file`;
      if (!takesFile(source)) throw new ServiceError('request_invalid', other);
      // Checked before gigabytes are sent, and again when the run is accepted.
      if (!sent.mayBeRepeated && (await RUNS.hasOpen(database.read, pipeline)))
        throw new ServiceError('pipeline_running', { retryAfterSeconds: RUNNING_SECONDS });
      const place = { payloads, projectId: project.id };
      const { pieces, sizeBytes, digest } = await storePieces(sent.chunks, place);
      const acceptance = new WatchedWrite();
      const start = async (alongside: AlongsideRun) => {
        if (sizeBytes === 0) throw new ServiceError('request_invalid', 'the file is empty');
        const upload: UploadedFile = { name: sent.name, charset: sent.charset, sizeBytes, pieces };
        const request = { startedBy: 'upload', upload, alongside } as const;
        return acceptance.run(() => runs.start(pipeline, project, request));
      };
      try {
        return await accept(digest, start);
      } finally {
        // It was refused, or an earlier file with the same bytes was answered already.
        if (!acceptance.mayBeStored) await removePieces(pieces, place).catch(() => {});
      }
    },

    /** @returns the pipeline that a webhook starts; undefined if there is none, or it has another trigger now */
    async findWebhook(triggerId: string): Promise<Found<Pipeline> | undefined> {
      const found = await PIPELINES.findByToken(database.read, 'trigger_id', triggerId);
      return found?.resource.definition.trigger.type === 'webhook' ? found : undefined;
    },

    /** @throws pipeline_running, pipeline_too_soon; then the call is not counted */
    async trigger({ resource: pipeline, project }: Found<Pipeline>, alongside: AlongsideRun): Promise<Task> {
      const { trigger } = pipeline.definition;
      const seconds = trigger.type === 'webhook' ? trigger.minSecondsBetween : 0;
      const window = { projectId: project.id, id: pipeline.id, windowMs: seconds * 1000 };
      const count: AlongsideRun = async (tx, task) => {
        const restMs = await countTrigger(tx, window, database);
        const detail = `this pipeline is triggered at most once in ${seconds} seconds`;
        if (restMs !== undefined)
          throw new ServiceError('pipeline_too_soon', detail, { retryAfterSeconds: restMs / 1000 });
        await alongside(tx, task);
      };
      try {
        return await runs.start(pipeline, project, { startedBy: 'webhook', alongside: count });
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'pipeline_running') throw error;
        const restMs = await findWindow(database.read, window, database);
        const retryAfterSeconds = Math.max(RUNNING_SECONDS, restMs / 1000);
        throw new ServiceError('pipeline_running', { ...error.facts, retryAfterSeconds });
      }
    },
  };
}

/** The size of a piece, and so how much of a file is held at a time. */
const PIECE_BYTES = 8 * 1024 * 1024;

type PiecePlace = Pick<Base, 'payloads'> & { readonly projectId: number };

/**
 * Writes a file in pieces, durable when it returns.
 * @returns the payloads, in order, with the size and digest of the file
 * @throws any error of reading or writing; then no piece is left
 */
async function storePieces(chunks: AsyncIterable<Uint8Array>, { payloads, projectId }: PiecePlace) {
  const name = `pipeline-${randomBytes(12).toString('hex')}`;
  const digest = digestFile();
  const pieces: string[] = [];
  let sizeBytes = 0;
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      digest.update(chunk);
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  try {
    for await (const piece of cutPieces(measured(), PIECE_BYTES)) {
      const next = `${name}-${pieces.length}`;
      // Listed before it exists, so that a partly written one is removed too.
      pieces.push(next);
      await payloads.write(projectId, next, piece);
    }
  } catch (error) {
    // A piece that cannot be removed now belongs to no run, and is removed at a later start.
    await removePieces(pieces, { payloads, projectId }).catch(() => {});
    throw error;
  }
  return { pieces, sizeBytes, digest: digest.end() };
}

/** In the header of gzip: its first bytes, and where it has the time at which the file was packed. Source: RFC 1952 §2.3. */
const GZIP = { magic: Buffer.from([0x1f, 0x8b]), time: { from: 4, to: 8 } };

/** Digests a file without the time at which gzip packed it, so that the same file packed again is the same. */
function digestFile() {
  const hash = createHash('sha256');
  let head: Buffer = Buffer.alloc(0);
  const isWhole = () => head.length >= GZIP.time.to;
  const addHead = () => {
    if (head.subarray(0, GZIP.magic.length).equals(GZIP.magic)) head.fill(0, GZIP.time.from, GZIP.time.to);
    hash.update(head);
  };
  return {
    update(chunk: Uint8Array): void {
      if (isWhole()) return void hash.update(chunk);
      head = Buffer.concat([head, chunk]);
      if (isWhole()) addHead();
    },
    end(): string {
      if (!isWhole()) addHead();
      return hash.digest('hex');
    },
  };
}

async function removePieces(pieces: readonly string[], { payloads, projectId }: PiecePlace): Promise<void> {
  for (const name of pieces) await payloads.remove(projectId, name);
}

/** Starts pipelines when their schedules are due. Source: docs/interface §13.3. */
export function createPipelineSchedule({ database, logger }: Base, runs: PipelineRuns) {
  async function startDue({ resource: pipeline, project }: Found<Pipeline>): Promise<void> {
    const { trigger } = pipeline.definition;
    const now = await readNow(database.read, database);
    const next = { dueAt: trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined };
    const chosen = { resource: pipeline, next, busy: 'pipeline_running' } as const;
    const isStarted = await startOnce(PIPELINES, chosen, (alongside) =>
      runs.start(pipeline, project, { startedBy: 'schedule', alongside }),
    );
    if (isStarted) return;
    const { projectId, id, dueAt } = pipeline;
    const isOurs = await database.write(projectId, (tx) => moveDue(tx, PIPELINES, chosen));
    if (!isOurs) return;
    const facts = { projectId, pipelineId: id, dueAt };
    logger.info(facts, 'a schedule was due while its pipeline was running, this time is left out');
  }

  return createSchedule({ database, logger, table: PIPELINES, subject: 'schedules of pipelines', startDue });
}
