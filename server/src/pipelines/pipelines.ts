/**
 * The door of pipelines: what feeds a catalog without a client. A pipeline is a stored definition; a run of it is a
 * task. What starts one (a call, an upload, a schedule, a webhook) is decided here, across processes by the database;
 * what a run does is in `pipeline-runs.ts`. Pipelines know catalogs and never how products are kept.
 */
import type { Catalog } from '../catalog/catalog.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Relations } from '../relations/relations.ts';
import type { Database, PayloadFiles, Secrets } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { AccountPlaces } from './account-places.ts';
import type { SentPreview } from './definitions/definitions.ts';
import {
  checkTried,
  createPipelineChanges,
  createPipelineLists,
  dropForgottenRuns,
  fillSecrets,
  findPipeline,
  listOpenPieces,
  openSource,
  openStored,
  removePipelinesOf,
  sealPlainSources,
} from './definitions/definitions.ts';
import { createTextChecks } from './mapping/mapping.ts';
import type { RunThreads } from './runs/runs.ts';
import { createPipelineTriggers, createSchedule, PipelineRuns, type Preview } from './runs/runs.ts';

export { AccountPlaces, type Asker } from './account-places.ts';
export { checkSchedule, findNextRun, type Pipeline, SEALED_SOURCES } from './definitions/definitions.ts';
export {
  createTextChecks,
  type ExpressionResult,
  MappingProblem,
  NO_PATTERNS,
  openExpressions,
  type TextChecks,
} from './mapping/mapping.ts';
export { createRunThreads, type RunThreadData, runThreadOperations } from './runs/runs.ts';
export { SOURCE_LIMITS, type SourceSettings } from './sources/sources.ts';

export interface PipelineParts {
  readonly database: Database;
  readonly payloads: PayloadFiles;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tasks: Tasks;
  /** What fetches, reads and maps. */
  readonly threads: RunThreads;
  readonly catalog: Pick<Catalog, 'gatherWrites' | 'dropGathered'>;
  readonly relations: Pick<Relations, 'links'>;
  getLocale(projectId: number): Promise<string>;
}

/** Each has a thread of its own, for up to a minute. */
const PREVIEWS = { inProcess: 4, inAccount: 2, waiting: 0 } as const;

export type Pipelines = ReturnType<typeof createPipelines>;

export function createPipelines({
  database,
  payloads,
  secrets,
  clock,
  logger,
  tasks,
  threads,
  catalog,
  relations,
  getLocale,
}: PipelineParts) {
  const runs = new PipelineRuns({
    ...{ database, payloads, tasks, threads },
    ...{ gatherWrites: catalog.gatherWrites, dropGathered: catalog.dropGathered },
    gatherLinks: (task, relationId) => relations.links.gather(task, relationId),
    findPipeline: (projectId, id) => findPipeline(database.read, { projectId, id }),
    openSource: (pipeline) => openSource(pipeline, secrets),
  });
  tasks.define(runs.definitions);
  const lists = createPipelineLists({ database, tasks });
  const textChecks = createTextChecks();
  const previews = new AccountPlaces(PREVIEWS);

  return {
    ...lists,
    ...createPipelineChanges({ database, clock, secrets, textChecks }),
    ...createPipelineTriggers({ database, payloads, runs }),
    /** To be started where tasks run. */
    schedule: createSchedule({ database, logger, runs }),
    close: () => threads.close(),

    /**
     * Maps the first rows of the real source, and stores nothing.
     * @throws request_invalid, not_found for the stored pipeline, rate_limited, not_ready, and whatever the source or its
     * format refuses
     */
    async preview(project: ChosenProject, sent: SentPreview, signal?: AbortSignal): Promise<Preview> {
      const { id: projectId, accountId } = project;
      const { pipelineId, file, catalog: isCounted = false } = sent;
      const asker = { accountId, signal };
      return previews.use(asker, async () => {
        const stored = pipelineId === undefined ? undefined : await lists.get({ projectId, id: pipelineId });
        const checked = await checkTried(sent, textChecks(asker));
        const tried = fillSecrets(checked, stored && openStored(stored, secrets, checked.source));
        const counted = isCounted ? { locale: await getLocale(projectId) } : undefined;
        return threads.preview(
          { projectId, ...tried, file: file && readFile(file), catalog: counted },
          signal,
        );
      });
    },

    /** Seals what an earlier version stored as it was sent. @returns how many could not be: there is no key */
    sealPlain: () => sealPlainSources(database, secrets),
    /** Payloads of files whose runs have not ended. */
    listPayloads: () => listOpenPieces(database.read),
    /** Runs go with their tasks. */
    dropForgotten: () => dropForgottenRuns(database),
    /** What a project that is gone for good had. */
    removeOf: removePipelinesOf,
  };
}

const PREVIEWED_MIB = 8;

function readFile({ name, base64, isBeginning = false }: NonNullable<SentPreview['file']>) {
  return { name, bytes: readBase64(base64), isBeginning };
}

function readBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text))
    throw new ServiceError('request_invalid', { details: ['/file/base64 must be base64'] });
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length <= PREVIEWED_MIB * 1024 * 1024) return bytes;
  const details = [`/file/base64 must not hold more than ${PREVIEWED_MIB} MiB, the beginning is enough`];
  throw new ServiceError('request_invalid', { details });
}
