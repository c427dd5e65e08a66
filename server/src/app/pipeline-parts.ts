/** The composition of pipelines: their runs with the threads that read. */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import {
  createPipelines,
  createRunThreads,
  type Pipelines,
  SOURCE_LIMITS,
  type SourceSettings,
} from '../pipelines/pipelines.ts';
import type { Projects } from '../projects/projects.ts';
import type { Relations } from '../relations/relations.ts';
import type { Secrets, Storage } from '../storage/storage.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { threadEntry, threadPlaceOf } from './stores.ts';

const MIB = 1024 * 1024;

export interface PipelineNeeds {
  readonly config: Config;
  readonly storage: Storage;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly projects: Projects;
  readonly tasks: Tasks;
  readonly catalog: Catalog;
  readonly relations: Relations;
}

/** @param version of the service, sent to sources */
export function openPipelines(needs: PipelineNeeds, version: string): Pipelines {
  const { config, storage, secrets, clock, logger, projects, tasks, catalog, relations } = needs;
  const { database, payloads } = storage;
  const sources = describeSources(config, version);
  const threads = createRunThreads(threadEntry('pipeline-worker'), {
    place: threadPlaceOf(config, storage),
    sources,
  });
  const pipelines = createPipelines({
    ...{ database, payloads, secrets, clock, logger, tasks, threads },
    ...{ catalog, relations, getLocale: (id: number) => projects.getLocale(id) },
  });
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
