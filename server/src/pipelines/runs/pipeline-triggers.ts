import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Found } from '../../projects/projects.ts';
import { type Base, WatchedWrite } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import {
  countTrigger,
  findWindow,
  PIPELINES,
  type Pipeline,
  RUNS,
  type UploadedFile,
} from '../pipeline-definitions/pipeline-definitions.ts';
import { takesFile } from '../sources/sources.ts';
import { type PipelineRuns, RUNNING_SECONDS, type RunRequest } from './pipeline-runs.ts';
import { removePieces, storePieces } from './uploaded-files.ts';

/** Called in the transaction that accepts a run. */
type AlongsideRun = NonNullable<RunRequest['alongside']>;

/** An uploaded file. */
export interface SentFile {
  readonly name: string;
  readonly charset: string | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
  /**
   * Whether the file may have been sent before. Then its stored answer is returned, whatever the pipeline is doing now.
   */
  readonly mayBeRepeated: boolean;
}

interface FileUpload {
  readonly pipeline: Pipeline;
  readonly project: ChosenProject;
  readonly sent: SentFile;
}

interface TriggerParts extends Pick<Base, 'database' | 'payloads'> {
  readonly runs: PipelineRuns;
}

/** Everything that starts a run, except schedules. */
export function createPipelineTriggers({ database, payloads }: Base, runs: PipelineRuns) {
  const parts: TriggerParts = { database, payloads, runs };
  return {
    /** @throws pipeline_running, pipeline_file_missing */
    run: (
      pipeline: Pipeline,
      project: ChosenProject,
      request: Pick<RunRequest, 'isForced' | 'alongside'>,
    ): Promise<Task> => runs.start(pipeline, project, { ...request, startedBy: 'manual' }),

    /**
     * Stores a file, and starts a run that reads it.
     * @param accept starts the run; called when the file is durable. Pieces that it does not use are removed.
     * @throws pipeline_running; request_invalid if the pipeline takes no file, or if the file is empty; any error of
     * reading the body
     */
    upload: <Answer>(
      upload: FileUpload,
      accept: (digest: string, start: (alongside: AlongsideRun) => Promise<Task>) => Promise<Answer>,
    ): Promise<Answer> => storeAndAccept(parts, upload, accept),

    /**
     * @returns the pipeline that a webhook starts; undefined if no pipeline has this id, or if its trigger is another
     * now
     */
    async findWebhook(triggerId: string): Promise<Found<Pipeline> | undefined> {
      const webhook = await PIPELINES.findByToken(database.read, 'trigger_id', triggerId);
      return webhook?.resource.definition.trigger.type === 'webhook' ? webhook : undefined;
    },

    /** @throws pipeline_running, pipeline_too_soon; then the call is not counted */
    trigger: (webhook: Found<Pipeline>, alongside: AlongsideRun): Promise<Task> =>
      startByWebhook(parts, webhook, alongside),
  };
}

async function storeAndAccept<Answer>(
  { database, payloads, runs }: TriggerParts,
  { pipeline, project, sent }: FileUpload,
  accept: (digest: string, start: (alongside: AlongsideRun) => Promise<Task>) => Promise<Answer>,
): Promise<Answer> {
  const { source } = pipeline.definition;
  const onlyUploads = `the source of this pipeline is ${source.type}; only a pipeline with the source upload takes a file`;
  if (!takesFile(source)) throw new ServiceError('request_invalid', onlyUploads);
  // Checked before gigabytes are sent, and again when the run is accepted.
  if (!sent.mayBeRepeated && (await RUNS.hasOpen(database.read, pipeline)))
    throw new ServiceError('pipeline_running', { retryAfterSeconds: RUNNING_SECONDS });
  const store = { payloads, projectId: project.id };
  const { pieces, sizeBytes, digest } = await storePieces(sent.chunks, store);
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
    // The run was refused, or an earlier file with the same bytes was already answered.
    if (!acceptance.mayBeStored) await removePieces(pieces, store).catch(() => {});
  }
}

async function startByWebhook(
  { database, runs }: TriggerParts,
  { resource: pipeline, project }: Found<Pipeline>,
  alongside: AlongsideRun,
): Promise<Task> {
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
}
