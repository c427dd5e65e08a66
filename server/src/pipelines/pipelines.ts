/**
 * The door of pipelines: what feeds a catalog without a client. A pipeline is a stored definition; a run of it is a
 * task. What starts one (a call, an upload, a schedule, a webhook) is decided here, across processes by the database;
 * what a run does is in `pipeline-runs.ts`. Pipelines know catalogs and never how products are kept.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ChosenProject } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { type ListPage, type PageWish, readPlace, toPage } from '../projects/projects.ts';
import type { ControlTransaction, Database, PayloadFiles } from '../storage/storage.ts';
import type { Task } from '../tasks/tasks.ts';
import type { Pipeline, PipelineDefinition, UploadedFile } from './pipeline.ts';
import { checkPipeline, checkTried, fillHeaders } from './pipeline-check.ts';
import {
  dropForgottenRuns,
  findLastRuns,
  hasOpenRun,
  listOpenPieces,
  listRuns,
  type PipelineRun,
} from './pipeline-history-store.ts';
import type { PipelineRuns, Preview, RunRequest } from './pipeline-runs.ts';
import { findNextRun } from './pipeline-schedule.ts';
import type { SentPipeline, SentPreview } from './pipeline-schemas.ts';
import {
  countPipelines,
  countTrigger,
  type FoundPipeline,
  findByTrigger,
  findPipeline,
  findWindow,
  insertPipeline,
  listPipelines,
  type PipelineKey,
  readNow,
  removePipeline,
  removePipelinesOf,
  updatePipeline,
} from './pipeline-store.ts';
import { createSchedule } from './schedule.ts';
import { maskSource } from './sources/sources.ts';
import { removePieces, storePieces } from './upload-pieces.ts';

export type { Pipeline } from './pipeline.ts';

export interface PipelineParts {
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runs: PipelineRuns;
}

/** A pipeline with its newest run. */
export interface PipelineState {
  readonly pipeline: Pipeline;
  readonly lastRun: PipelineRun | undefined;
}

/** Written in the transaction of a change: who made it, and what is answered. */
export type AlongsideChange = (tx: ControlTransaction, after: Pipeline, before?: Pipeline) => Promise<void>;

/** Takes a run's place in its transaction. */
type AlongsideRun = NonNullable<RunRequest['alongside']>;

/** A file as it is sent in. */
export interface SentFile {
  readonly name: string;
  readonly mediaType: string | undefined;
  readonly charset: string | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

export type Pipelines = ReturnType<typeof createPipelines>;

const PIPELINES = 1_000;
/** 192 bits, which nobody guesses. */
const TRIGGER_ID_BYTES = 24;
/** While a run is going on a caller has to wait, and nobody knows how long. Source: docs/interface.md §4.9. */
const RUNNING_SECONDS = 30;

const makeTriggerId = () => randomBytes(TRIGGER_ID_BYTES).toString('base64url');

export function createPipelines(parts: PipelineParts) {
  const { database, clock, runs } = parts;
  const schedule = createSchedule(parts);

  async function get(key: PipelineKey): Promise<Pipeline> {
    const pipeline = await findPipeline(database.read, key);
    if (pipeline === undefined) throw new ServiceError('not_found');
    return pipeline;
  }

  async function withLastRun(pipeline: Pipeline): Promise<PipelineState> {
    const { projectId, id } = pipeline;
    const found = await findLastRuns(database.read, projectId, { from: id, to: id });
    return { pipeline, lastRun: found.get(id) };
  }

  /** @throws not_found */
  async function change(
    key: PipelineKey,
    toNext: (before: Pipeline, now: number) => Pipeline,
    alongside: AlongsideChange,
  ): Promise<void> {
    await database.write(
      async (tx) => {
        const before = await findPipeline(tx, key);
        if (before === undefined) throw new ServiceError('not_found');
        const after = toNext(before, await readNow(tx, database));
        await updatePipeline(tx, after);
        await alongside(tx, after, before);
      },
      { of: key.projectId },
    );
  }

  return {
    ...createTriggers(parts),
    ...createUpkeep(parts),
    schedule,
    /** @throws not_found */
    get,
    /** @throws not_found */
    getState: async (key: PipelineKey) => withLastRun(await get(key)),
    withLastRun,

    /** By id. @throws query_invalid */
    async list(projectId: number, wish: PageWish): Promise<ListPage<PipelineState>> {
      const place = readPlace(wish);
      const page = toPage(await listPipelines(database.read, projectId, place), place);
      const [from = 0, to = 0] = [page.items[0]?.id, page.items.at(-1)?.id];
      const last = await findLastRuns(database.read, projectId, { from, to });
      return { ...page, items: page.items.map((pipeline) => ({ pipeline, lastRun: last.get(pipeline.id) })) };
    },

    /** @throws request_invalid */
    async create(project: ChosenProject, sent: SentPipeline, alongside: AlongsideChange): Promise<void> {
      const checked = await checkPipeline(sent, clock.now());
      const definition = fillHeaders(checked, undefined);
      await database.write(
        async (tx) => {
          await refuseMore(tx, project.id);
          const nextRunAt = planNext(definition, await readNow(tx, database));
          const added = { definition, nextRunAt, triggerId: makeTriggerId(), createdAt: clock.now() };
          await alongside(tx, await insertPipeline(tx, { projectId: project.id, ...added }));
        },
        { of: project.id },
      );
    },

    /** @throws not_found, request_invalid */
    async replace(key: PipelineKey, sent: SentPipeline, alongside: AlongsideChange): Promise<void> {
      await get(key);
      const checked = await checkPipeline(sent, clock.now());
      await change(
        key,
        (before, now) => {
          const definition = fillHeaders(checked, before.definition.source);
          return toReplaced(before, definition, { now, updatedAt: clock.now() });
        },
        alongside,
      );
    },

    /** Gives the webhook another URL; the old one is 404 from then on. @throws not_found */
    renewTriggerId: (key: PipelineKey, alongside: AlongsideChange) =>
      change(
        key,
        (before) => ({ ...before, triggerId: makeTriggerId(), updatedAt: clock.now() }),
        alongside,
      ),

    /** @throws not_found, pipeline_busy while a run is going on */
    async remove(key: PipelineKey, alongside: AlongsideChange): Promise<void> {
      await database.write(
        async (tx) => {
          const pipeline = await findPipeline(tx, key);
          if (pipeline === undefined) throw new ServiceError('not_found');
          if (await hasOpenRun(tx, key)) throw new ServiceError('pipeline_busy');
          await removePipeline(tx, key);
          await alongside(tx, pipeline);
        },
        { of: key.projectId },
      );
    },

    /** Newest first. @throws not_found, query_invalid */
    async listRuns(key: PipelineKey, wish: PageWish): Promise<ListPage<PipelineRun>> {
      const place = readPlace(wish);
      await get(key);
      const found = await listRuns(database.read, key, place);
      const { items, nextCursor } = toPage(
        found.map((run) => ({ id: run.task.number, run })),
        place,
      );
      return { items: items.map(({ run }) => run), nextCursor };
    },

    /**
     * Maps the first rows of the real source, and stores nothing.
     * @throws request_invalid, not_found for the stored pipeline, and whatever the source or its format refuses
     */
    async preview(projectId: number, sent: SentPreview): Promise<Preview> {
      const { pipelineId, file } = sent;
      const stored = pipelineId === undefined ? undefined : await get({ projectId, id: pipelineId });
      const tried = fillHeaders(await checkTried(sent), stored?.definition.source);
      return runs.preview(projectId, tried, file && { name: file.name, bytes: readBase64(file.base64) });
    },
  };
}

/** Everything but schedules that starts a run. */
function createTriggers({ database, payloads, runs }: PipelineParts) {
  return {
    /** @throws pipeline_running, pipeline_file_missing */
    run: (pipeline: Pipeline, project: ChosenProject, alongside: AlongsideRun): Promise<Task> =>
      runs.start(pipeline, project, { startedBy: 'manual', alongside }),

    /**
     * Keeps a file, and has it read by a run.
     * @param accept  starts the run and is called once the file is durable; what it does not use is removed
     * @throws request_invalid where the pipeline takes no file, or the file is empty; and what reading the body throws
     */
    async upload<Answer>(
      { pipeline, project, sent }: { pipeline: Pipeline; project: ChosenProject; sent: SentFile },
      accept: (digest: string, start: (alongside: AlongsideRun) => Promise<Task>) => Promise<Answer>,
    ): Promise<Answer> {
      refuseFileOf(pipeline);
      const place = { payloads, projectId: project.id };
      const { pieces, sizeBytes, digest } = await storePieces(sent.chunks, place);
      let isUsed = false;
      const start = async (alongside: AlongsideRun) => {
        if (sizeBytes === 0) throw new ServiceError('request_invalid', { details: ['the file is empty'] });
        const { chunks: _, ...kind } = sent;
        const upload: UploadedFile = { ...kind, sizeBytes, pieces };
        const task = await runs.start(pipeline, project, { startedBy: 'upload', upload, alongside });
        isUsed = true;
        return task;
      };
      try {
        return await accept(digest, start);
      } finally {
        // It was refused, or answered before by another file of the same bytes.
        if (!isUsed) await removePieces(pieces, place).catch(() => {});
      }
    },

    /** @returns the pipeline that a webhook starts; undefined where there is none, or it has another trigger now */
    async findWebhook(triggerId: string): Promise<FoundPipeline | undefined> {
      const found = await findByTrigger(database.read, triggerId);
      return found?.pipeline.definition.trigger.type === 'webhook' ? found : undefined;
    },

    /** @throws pipeline_running, pipeline_too_soon: then the call is not counted */
    async trigger({ pipeline, project }: FoundPipeline, alongside: AlongsideRun): Promise<Task> {
      const { trigger } = pipeline.definition;
      const seconds = trigger.type === 'webhook' ? trigger.minSecondsBetween : 0;
      const wanted = { projectId: project.id, id: pipeline.id, windowMs: seconds * 1000 };
      const count: AlongsideRun = async (tx, task) => {
        const restMs = await countTrigger(tx, wanted, database);
        if (restMs !== undefined) throw tooSoon(restMs, seconds);
        await alongside(tx, task);
      };
      try {
        return await runs.start(pipeline, project, { startedBy: 'webhook', alongside: count });
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'pipeline_running') throw error;
        const restMs = await findWindow(database.read, wanted, database);
        const retryAfterSeconds = Math.max(RUNNING_SECONDS, restMs / 1000);
        throw new ServiceError('pipeline_running', { ...error.facts, retryAfterSeconds });
      }
    },
  };
}

function createUpkeep({ database }: PipelineParts) {
  return {
    /** Of files whose runs have not ended. */
    listPayloads: () => listOpenPieces(database.read),
    /** Runs go with their tasks. */
    dropForgotten: () => dropForgottenRuns(database),
    removeOf: removePipelinesOf,
  };
}

/** @returns a definition without what is secret, for the audit log */
export const showDefinition = ({ definition }: Pipeline): object => ({
  ...definition,
  source: maskSource(definition.source),
});

async function refuseMore(tx: ControlTransaction, projectId: number): Promise<void> {
  if ((await countPipelines(tx, projectId)) < PIPELINES) return;
  const details = [`a project has at most ${PIPELINES.toLocaleString('en')} pipelines`];
  throw new ServiceError('request_invalid', { details });
}

function refuseFileOf({ definition: { source } }: Pipeline): void {
  if (source.type === 'upload') return;
  const details = [`the source of this pipeline is ${source.type}: only one whose source is upload takes a file`];
  throw new ServiceError('request_invalid', { details });
}

function tooSoon(restMs: number, seconds: number): ServiceError {
  const details = [`this pipeline is triggered at most once in ${seconds} seconds`];
  return new ServiceError('pipeline_too_soon', { retryAfterSeconds: restMs / 1000, details });
}

function planNext({ trigger }: PipelineDefinition, now: number): number | undefined {
  return trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined;
}

/** What was planned stays where the schedule stays: who changes the name a second before misses no run. */
function toReplaced(
  before: Pipeline,
  definition: PipelineDefinition,
  { now, updatedAt }: { now: number; updatedAt: number },
): Pipeline {
  const isSamePlan = isDeepStrictEqual(before.definition.trigger, definition.trigger);
  const reading = ({ source, format, mapping, mode }: PipelineDefinition) => [source, format, mapping, mode];
  const isSameReading = isDeepStrictEqual(reading(before.definition), reading(definition));
  return {
    ...before,
    definition,
    revision: before.revision + 1,
    nextRunAt: isSamePlan ? before.nextRunAt : planNext(definition, now),
    stamp: isSameReading ? before.stamp : undefined,
    updatedAt,
  };
}

const PREVIEWED_MIB = 8;

function readBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text))
    throw new ServiceError('request_invalid', { details: ['/file/base64 must be base64'] });
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length <= PREVIEWED_MIB * 1024 * 1024) return bytes;
  const details = [`/file/base64 must not hold more than ${PREVIEWED_MIB} MiB, the first rows are enough`];
  throw new ServiceError('request_invalid', { details });
}
