import type { Found } from '../../definitions/definitions.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type Database, type PayloadFiles, WatchedWrite } from '../../storage/storage.ts';
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
import type { PipelineRuns, RunRequest } from './pipeline-runs.ts';
import { removePieces, storePieces } from './upload-pieces.ts';

export interface TriggerParts {
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly runs: PipelineRuns;
}

/** Written in the transaction that accepts a run. */
type AlongsideRun = NonNullable<RunRequest['alongside']>;

/** A file as it is sent in. */
export interface SentFile {
  readonly name: string;
  readonly mediaType: string | undefined;
  readonly charset: string | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** It may have been sent before, and then its answer is known whatever the pipeline does now. */
  readonly mayBeRepeated: boolean;
}

/** While a run is going on a caller has to wait, and nobody knows how long. Source: docs/interface.md §4.9. */
const RUNNING_SECONDS = 30;

/** Everything but schedules that starts a run. */
export function createPipelineTriggers({ database, payloads, runs }: TriggerParts) {
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
      refuseFileOf(pipeline);
      // Asked before gigabytes are sent; whether it still holds is asked again when the run is accepted.
      if (!sent.mayBeRepeated && (await RUNS.hasOpen(database.read, pipeline)))
        throw new ServiceError('pipeline_running', { retryAfterSeconds: RUNNING_SECONDS });
      const place = { payloads, projectId: project.id };
      const { pieces, sizeBytes, digest } = await storePieces(sent.chunks, place);
      const acceptance = new WatchedWrite();
      const start = async (alongside: AlongsideRun) => {
        if (sizeBytes === 0) throw new ServiceError('request_invalid', { details: ['the file is empty'] });
        const { name, mediaType, charset } = sent;
        const upload: UploadedFile = { name, mediaType, charset, sizeBytes, pieces };
        return acceptance.run(() =>
          runs.start(pipeline, project, { startedBy: 'upload', upload, alongside }),
        );
      };
      try {
        return await accept(digest, start);
      } finally {
        // It was refused, or answered before by another file of the same bytes.
        if (!acceptance.isKept) await removePieces(pieces, place).catch(() => {});
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
        if (restMs !== undefined) throw tooSoon(restMs, seconds);
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

function refuseFileOf({ definition: { source } }: Pipeline): void {
  if (takesFile(source)) return;
  const details = [
    `the source of this pipeline is ${source.type}: only one whose source is upload takes a file`,
  ];
  throw new ServiceError('request_invalid', { details });
}

function tooSoon(restMs: number, seconds: number): ServiceError {
  const details = [`this pipeline is triggered at most once in ${seconds} seconds`];
  return new ServiceError('pipeline_too_soon', { retryAfterSeconds: restMs / 1000, details });
}
