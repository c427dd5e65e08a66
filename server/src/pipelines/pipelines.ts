/**
 * The door of pipelines, which feed a catalog without a client. A pipeline is a stored definition, and a run of it is a
 * task. This room decides what starts a run (a call, an upload, a schedule, a webhook); across processes the database
 * decides. `runs/` contains what a run does. Pipelines know catalogs, but not how products are stored.
 */
import { createDefinitions, openStored, type SentChange, type Shown } from '../definitions/definitions.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { makeToken, type Projects } from '../projects/projects.ts';
import type { Base } from '../storage/storage.ts';
import { AccountPlaces } from './account-places.ts';
import { createTextChecks } from './mapping/expressions/expressions.ts';
import {
  checkTried,
  fillSource,
  PIPELINE_SECRETS,
  PIPELINES,
  type Pipeline,
  pipelineKind,
  RUNS,
  type SentPreview,
  sealPlainSources,
} from './pipeline-definitions/pipeline-definitions.ts';
import {
  createPipelineSchedule,
  createPipelineTriggers,
  type PipelineRunParts,
  PipelineRuns,
} from './runs/runs.ts';
import { listMaskedMembers } from './sources/sources.ts';

export { AccountPlaces } from './account-places.ts';

export interface PipelineParts extends Base, PipelineRunParts {
  readonly projects: Pick<Projects, 'getLocale' | 'recordChange' | 'removeWithProject'>;
}

/** Each preview has its own thread for up to a minute. */
const PREVIEWS = { inProcess: 4, inAccount: 2, waiting: 0 } as const;

export type Pipelines = ReturnType<typeof createPipelines>;

export function createPipelines(parts: PipelineParts) {
  const { database, secrets, clock, threads, projects } = parts;
  const runs = new PipelineRuns(parts);
  const textChecks = createTextChecks();
  const defined = createDefinitions(parts, pipelineKind(clock, textChecks));
  const previews = new AccountPlaces(PREVIEWS);
  projects.removeWithProject(PIPELINES.name, RUNS.name);

  return {
    ...defined,
    /** Gives the webhook a new URL, after which the old URL answers 404. @throws not_found */
    renewTriggerId(change: SentChange<Shown<Pipeline>>, { id }: { readonly id: number }) {
      const renewal = { id, what: 'trigger-id' };
      return defined.renew(change, renewal, (state) => ({ ...state, triggerId: makeToken() }));
    },
    ...createPipelineTriggers(parts, runs),
    /** Runs in the processes that run tasks. */
    schedule: createPipelineSchedule(parts, runs),
    close: () => threads.close(),

    /**
     * Maps the first rows of the real source, and stores nothing.
     * @throws request_invalid, not_found for the stored pipeline, rate_limited, not_ready, and any refusal of the
     * source or its format
     */
    async preview(project: ChosenProject, sent: SentPreview, signal?: AbortSignal) {
      const { id: projectId, accountId } = project;
      const { pipelineId, file, catalog: isCounted = false } = sent;
      const requester = { accountId, signal };
      return previews.use(requester, async () => {
        const stored = pipelineId === undefined ? undefined : await defined.get(project, pipelineId);
        const checked = await checkTried(sent, textChecks(requester));
        const isNeeded = listMaskedMembers(checked.source).length > 0;
        const opened = stored && openStored(PIPELINE_SECRETS, stored, { secrets, isNeeded });
        const tried = fillSource(checked, opened?.source);
        const catalog = isCounted ? { locale: await projects.getLocale(projectId) } : undefined;
        return threads.preview({ projectId, ...tried, file: file && readFile(file), catalog }, signal);
      });
    },

    /**
     * Seals secrets that an earlier version stored unsealed. @returns the number of pipelines that could not be sealed
     * because no key exists
     */
    sealPlain: () => sealPlainSources(database, secrets),
  };
}

const PREVIEWED_MIB = 8;

function readFile({ name, base64, isBeginning = false }: NonNullable<SentPreview['file']>) {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64))
    throw new ServiceError('request_invalid', '/file/base64 must be base64');
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length <= PREVIEWED_MIB * 1024 * 1024) return { name, bytes, isBeginning };
  const detail = `/file/base64 must not contain more than ${PREVIEWED_MIB} MiB; send only the beginning of the file`;
  throw new ServiceError('request_invalid', detail);
}
