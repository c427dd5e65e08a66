/** The composition of pipelines: their runs with the threads that read, their routes, their entries in the audit log. */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Access } from '../access/access.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import type { AnswerOnce, Server } from '../http/http.ts';
import type { Caller, ChosenProject } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { pipelineRoutes } from '../pipelines/definitions/pipeline-routes.ts';
import {
  createPipelines,
  createRunThreads,
  type Pipeline,
  type PipelineRouteParts,
  type Pipelines,
  SOURCE_LIMITS,
  type SourceSettings,
  showDefinition,
} from '../pipelines/pipelines.ts';
import { pipelineRunRoutes } from '../pipelines/runs/pipeline-run-routes.ts';
import { webhookRoutes } from '../pipelines/runs/webhook-routes.ts';
import { describeChange, type Projects } from '../projects/projects.ts';
import type { Storage } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { threadEntry, threadPlaceOf } from './stores.ts';

const MIB = 1024 * 1024;

export interface PipelineNeeds {
  readonly config: Config;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly projects: Projects;
  readonly tasks: Tasks;
  readonly catalog: Catalog;
}

/** @param version  of the service, which sources are told */
export function openPipelines(needs: PipelineNeeds, version: string): Pipelines {
  const { config, storage, clock, logger, projects, tasks, catalog } = needs;
  const { database, payloads } = storage;
  const sources = describeSources(config, version);
  const threads = createRunThreads(threadEntry('pipeline-worker'), {
    place: threadPlaceOf(config, storage),
    sources,
  });
  const pipelines = createPipelines({ database, payloads, clock, logger, tasks, threads, catalog });
  projects.whenGone(async (tx, { type, id }) => {
    if (type === 'project') await pipelines.removeOf(tx, id);
  });
  return pipelines;
}

function describeSources(config: Config, version: string): SourceSettings {
  const maxPackedBytes = config.sourceMaxMib * MIB;
  return {
    ...SOURCE_LIMITS,
    importDir: config.importDir,
    tempDir: makeTempFolder(config),
    allow: [...config.fetchAllow],
    userAgent: `relata/${version}`,
    maxPackedBytes,
    maxUnpackedBytes: 2 * maxPackedBytes,
  };
}

/** An archive of gigabytes does not belong into what is often memory; with PostgreSQL there may be no such folder. */
function makeTempFolder({ dataDir, database }: Config): string {
  const folder = join(dataDir, 'temp');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch (error) {
    if (database === undefined) throw error;
    return tmpdir();
  }
}

export interface PipelineRouteNeeds extends Pick<PipelineNeeds, 'config' | 'projects'> {
  readonly access: Access;
  readonly pipelines: Pipelines;
  readonly answerOnce: AnswerOnce;
  /** Where webhooks are called. */
  findBaseUrl(): string;
  getProject(request: { caller: Caller }, projectId: number): Promise<ChosenProject>;
}

export function addPipelineRoutes(
  server: Server,
  { config, projects, access, pipelines, answerOnce, findBaseUrl, getProject }: PipelineRouteNeeds,
): void {
  const describe = (author: Caller, action: string, { projectId, id, definition }: Pipeline) => ({
    ...{ author, projectId, action: `pipeline.${action}` },
    subject: { type: 'pipeline', id, name: definition.name },
  });
  const parts: PipelineRouteParts = {
    ...{ pipelines, answerOnce, getProject, sourceMaxMib: config.sourceMaxMib },
    findBaseUrl,
    recordPipelineChange: (tx, { caller }, { action, pipeline, before }) => {
      const details = before && describeChange(showDefinition(before), showDefinition(pipeline));
      const change = describe(caller, action, pipeline);
      return projects.recordChange({ ...change, ...(details && { details }) }, tx);
    },
  };
  pipelineRoutes(parts)(server);
  pipelineRunRoutes(parts)(server);
  webhookRoutes({
    ...{ pipelines, answerOnce, guards: access },
    recordTrigger: (tx, caller, { pipeline }) =>
      projects.recordChange({ ...describe(caller, 'run', pipeline), details: { startedBy: 'webhook' } }, tx),
  })(server);
}
