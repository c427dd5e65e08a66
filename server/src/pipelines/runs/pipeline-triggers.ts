import { createHash, randomBytes } from 'node:crypto';
import { createSchedule, findNextRun, moveDue, startOnce } from '../../definitions/definitions.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { cutPieces } from '../../kernel/pieces.ts';
import type { Found } from '../../projects/projects.ts';
import { type Base, readNow, WatchedWrite } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import {
  countTrigger,
  findWindow,
  PIPELINES,
  type Pipeline,
  RUNS,
  type UploadedFile,
} from '../definitions/definitions.ts';
import { takesFile } from '../sources/sources.ts';
import { type PipelineRuns, RUNNING_SECONDS, type RunRequest } from './pipeline-runs.ts';

/** Written in the transaction that accepts a run. */
type AlongsideRun = NonNullable<RunRequest['alongside']>;

/** A file as it is sent in. */
export interface SentFile {
  readonly name: string;
  readonly charset: string | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** It may have been sent before, and then its answer is known whatever the pipeline does now. */
  readonly mayBeRepeated: boolean;
}

/** Everything but schedules that starts a run. */
export function createPipelineTriggers(
  { database, payloads }: Pick<Base, 'database' | 'payloads'>,
  runs: PipelineRuns,
) {
  return {
    /** @throws pipeline_running, pipeline_file_missing */
    run: (
      pipeline: Pipeline,
      project: ChosenProject,
      request: Pick<RunRequest, 'isForced' | 'alongside'>,
    ): Promise<Task> => runs.start(pipeline, project, { ...request, startedBy: 'manual' }),

    /**
     * Keeps a file, and has it read by a run.
     * @param accept  starts the run and is called once the file is durable; what it does not use is removed
     * @throws pipeline_running, request_invalid where the pipeline takes no file, or the file is empty; and what reading
     * the body throws
     */
    async upload<Answer>(
      { pipeline, project, sent }: { pipeline: Pipeline; project: ChosenProject; sent: SentFile },
      accept: (digest: string, start: (alongside: AlongsideRun) => Promise<Task>) => Promise<Answer>,
    ): Promise<Answer> {
      const { source } = pipeline.definition;
      const other = `the source of this pipeline is ${source.type}: only one whose source is upload takes a file`;
      if (!takesFile(source)) throw new ServiceError('request_invalid', { details: [other] });
      // Checked before gigabytes are sent, and again when the run is accepted.
      if (!sent.mayBeRepeated && (await RUNS.hasOpen(database.read, pipeline)))
        throw new ServiceError('pipeline_running', { retryAfterSeconds: RUNNING_SECONDS });
      const place = { payloads, projectId: project.id };
      const { pieces, sizeBytes, digest } = await storePieces(sent.chunks, place);
      const acceptance = new WatchedWrite();
      const start = async (alongside: AlongsideRun) => {
        if (sizeBytes === 0) throw new ServiceError('request_invalid', { details: ['the file is empty'] });
        const { name, charset } = sent;
        const upload: UploadedFile = { name, charset, sizeBytes, pieces };
        return acceptance.run(() =>
          runs.start(pipeline, project, { startedBy: 'upload', upload, alongside }),
        );
      };
      try {
        return await accept(digest, start);
      } finally {
        // It was refused, or answered before by another file of the same bytes.
        if (!acceptance.mayBeStored) await removePieces(pieces, place).catch(() => {});
      }
    },

    /** @returns the pipeline that a webhook starts; undefined where there is none, or it has another trigger now */
    async findWebhook(triggerId: string): Promise<Found<Pipeline> | undefined> {
      // Anything else is no id, and not every store takes it as a text.
      if (!/^[\w-]{1,64}$/.test(triggerId)) return undefined;
      const found = await PIPELINES.findBy(database.read, 'trigger_id', triggerId);
      return found?.resource.definition.trigger.type === 'webhook' ? found : undefined;
    },

    /** @throws pipeline_running, pipeline_too_soon: then the call is not counted */
    async trigger({ resource: pipeline, project }: Found<Pipeline>, alongside: AlongsideRun): Promise<Task> {
      const { trigger } = pipeline.definition;
      const seconds = trigger.type === 'webhook' ? trigger.minSecondsBetween : 0;
      const window = { projectId: project.id, id: pipeline.id, windowMs: seconds * 1000 };
      const count: AlongsideRun = async (tx, task) => {
        const restMs = await countTrigger(tx, window, database);
        const details = [`this pipeline is triggered at most once in ${seconds} seconds`];
        if (restMs !== undefined)
          throw new ServiceError('pipeline_too_soon', { retryAfterSeconds: restMs / 1000, details });
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

/** What one piece holds, and so what is held of a file at a time. */
const PIECE_BYTES = 8 * 1024 * 1024;

type PiecePlace = Pick<Base, 'payloads'> & { readonly projectId: number };

/**
 * Writes a file in pieces; they are durable when it returns.
 * @returns the payloads, in their order, with size and digest of the file
 * @throws what reading or writing throws; then no piece is left
 */
async function storePieces(chunks: AsyncIterable<Uint8Array>, { payloads, projectId }: PiecePlace) {
  const name = `pipeline-${randomBytes(12).toString('hex')}`;
  const digest = createHash('sha256');
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
      // Named before it is there, so that one that was written by half goes too.
      pieces.push(next);
      await payloads.write(projectId, next, piece);
    }
  } catch (error) {
    // What cannot be removed now belongs to no run, and goes at a later start.
    await removePieces(pieces, { payloads, projectId }).catch(() => {});
    throw error;
  }
  return { pieces, sizeBytes, digest: digest.digest('hex') };
}

async function removePieces(pieces: readonly string[], { payloads, projectId }: PiecePlace): Promise<void> {
  for (const name of pieces) await payloads.remove(projectId, name);
}

/** Starts pipelines when their schedules are due. Source: docs/interface.md §13.3. */
export function createPipelineSchedule(
  { database, logger }: Pick<Base, 'database' | 'logger'>,
  runs: PipelineRuns,
) {
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
